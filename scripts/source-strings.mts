// Finds the string literals of a TypeScript source and what stands before each. Owned by the check scripts,
// which look at imports and at test titles; a scanner, not a parser: it knows comments, strings, templates
// and regular expressions, and nothing of grammar.

/** A string literal, or a template literal with its `${…}` parts blanked. */
export interface SourceString {
  readonly text: string;
  /** 1-based. */
  readonly line: number;
  /** The last code before it, without comments and with the contents of strings left out. */
  readonly before: string;
}

const contextLength = 80;
/** A slash after one of these, or at the start, opens a regular expression; after anything else it divides. */
const beforeRegExp = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|await|yield))$/;

/** Every string literal of `source`, in order. */
export function readSourceStrings(source: string): SourceString[] {
  const found: SourceString[] = [];
  let code = "";
  let at = 0;
  while (at < source.length) {
    const end = endOfTrivia(source, at, code);
    if (end > at) {
      code += " ";
      at = end;
      continue;
    }
    const char = source.charAt(at);
    if (char === '"' || char === "'" || char === "`") {
      const { text, next } = readString(source, at);
      const before = code.trimEnd().slice(-contextLength);
      found.push({ text, line: lineOf(source, at), before });
      code += char + char;
      at = next;
    } else {
      code += char;
      at += 1;
    }
  }
  return found;
}

/** Where the comment or regular expression at `at` ends; `at` itself if there is none. */
function endOfTrivia(source: string, at: number, code: string): number {
  if (source.startsWith("//", at)) return indexOrEnd(source, "\n", at);
  if (source.startsWith("/*", at)) return indexOrEnd(source, "*/", at + 2) + 2;
  if (source.charAt(at) !== "/" || !beforeRegExp.test(code.trimEnd())) return at;
  const pattern = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
  pattern.lastIndex = at;
  return pattern.test(source) ? pattern.lastIndex : at;
}

function readString(source: string, start: number): { text: string; next: number } {
  const quote = source.charAt(start);
  let text = "";
  let at = start + 1;
  while (at < source.length && source.charAt(at) !== quote) {
    if (source.charAt(at) === "\\") {
      text += source.charAt(at + 1);
      at += 2;
    } else if (quote === "`" && source.startsWith("${", at)) {
      at = endOfSubstitution(source, at + 2);
      text += "${}";
    } else {
      text += source.charAt(at);
      at += 1;
    }
  }
  return { text, next: at + 1 };
}

function endOfSubstitution(source: string, start: number): number {
  let depth = 1;
  let at = start;
  while (at < source.length && depth > 0) {
    const char = source.charAt(at);
    if (char === '"' || char === "'" || char === "`") {
      at = readString(source, at).next;
      continue;
    }
    if (char === "{") depth += 1;
    if (char === "}") depth -= 1;
    at += 1;
  }
  return at;
}

function indexOrEnd(source: string, text: string, from: number): number {
  const index = source.indexOf(text, from);
  return index < 0 ? source.length : index;
}

function lineOf(source: string, at: number): number {
  return source.slice(0, at).split("\n").length;
}
