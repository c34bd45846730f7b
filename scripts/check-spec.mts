// Holds SPEC.md and the tests together: every rule is cited by a test title, and every citation names a
// rule. A rule is a heading, list item or paragraph of SPEC.md that begins with its id in bold (**P1**,
// **LOG 1.3**); a citation is an id in brackets in a title (`[P1]`, `[H5, LOG 1.3]`).
import { existsSync, globSync, readFileSync } from "node:fs";
import { readSourceStrings } from "./source-strings.mts";

/** An id and where it stands. */
export interface Place {
  readonly id: string;
  readonly file: string;
  /** 1-based. */
  readonly line: number;
}

/** What is wrong between the specification and the tests; all empty when nothing is. */
export interface Mismatch {
  /** Rules that no test title cites. */
  readonly uncited: readonly Place[];
  /** Citations of ids that SPEC.md does not have. */
  readonly unknown: readonly Place[];
  /** Second definitions of a rule. */
  readonly repeated: readonly Place[];
}

const id = String.raw`[A-Z]+ ?\d+(?:\.\d+)*`;
const rulePattern = new RegExp(String.raw`^\s*(?:#+\s+|[-*+]\s+|\d+\.\s+)?\*\*(${id})[.:]?\*\*`);
const citationPattern = new RegExp(String.raw`\[(${id}(?:,\s*${id})*)\]`, "g");

/** The rules of a specification, in order. Fenced blocks are examples and hold none. */
export function readRules(file: string, text: string): Place[] {
  const rules: Place[] = [];
  let fenced = false;
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    const ruleId = fenced ? undefined : rulePattern.exec(line)?.[1];
    if (ruleId !== undefined) rules.push({ id: ruleId, file, line: index + 1 });
  }
  return rules;
}

/** The citations in the titles of a test file: in strings that are the first argument of a call. */
export function readCitations(file: string, source: string): Place[] {
  const citations: Place[] = [];
  let inTitle = false;
  for (const { text, line, before } of readSourceStrings(source)) {
    // A long title may be a sum of strings.
    inTitle = before.endsWith("(") || (inTitle && /["'`]\s*\+$/.test(before));
    if (!inTitle) continue;
    for (const [, ids = ""] of text.matchAll(citationPattern)) {
      citations.push(...ids.split(/,\s*/).map((cited) => ({ id: cited, file, line })));
    }
  }
  return citations;
}

/** Compares rules and citations, both ways. */
export function compareSpec(rules: readonly Place[], citations: readonly Place[]): Mismatch {
  const known = new Set(rules.map((rule) => rule.id));
  const cited = new Set(citations.map((citation) => citation.id));
  return {
    uncited: rules.filter((rule) => !cited.has(rule.id)),
    unknown: citations.filter((citation) => !known.has(citation.id)),
    repeated: rules.filter((rule, index) => rules.findIndex((other) => other.id === rule.id) !== index),
  };
}

function print(title: string, places: readonly Place[]): void {
  if (places.length === 0) return;
  console.log(title);
  for (const place of places) console.log(`  ${place.file}:${place.line}  ${place.id}`);
}

function main(): void {
  const spec = "SPEC.md";
  const rules = existsSync(spec) ? readRules(spec, readFileSync(spec, "utf8")) : [];
  const tests = globSync("test/**/*.{ts,tsx}").toSorted();
  const citations = tests.flatMap((file) => readCitations(file, readFileSync(file, "utf8")));
  const mismatch = compareSpec(rules, citations);
  print("Rules that no test cites:", mismatch.uncited);
  print("Citations of no rule:", mismatch.unknown);
  print("Rules with an id that is taken:", mismatch.repeated);
  const wrong = mismatch.uncited.length + mismatch.unknown.length + mismatch.repeated.length;
  console.log(`spec: ${rules.length} rules, ${citations.length} citations, ${wrong} mismatches`);
  if (wrong > 0 || rules.length === 0) process.exitCode = 1;
}

if (import.meta.main) main();
