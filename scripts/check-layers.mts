// Holds the layers: which folder may import which, type imports counted. The table is the rule; how the
// layers came to be is told in docs/. Cycles inside a layer are the linter's (import/no-cycle).
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { readSourceStrings } from "./source-strings.mts";

/** What the files of a layer may import besides each other. */
interface Layer {
  /** Entries of the table. */
  readonly layers: readonly string[];
  /** Packages; `undefined` is any. */
  readonly packages?: readonly string[];
}

const belowCapabilities = ["src/capability.ts", "src/document", "src/storage", "src/protocol"];
const capabilities = ["src/topics", "src/asks", "src/jobs", "src/history", "src/feed"];

/** A file belongs to the longest entry that it is in or is. What stands in no entry is a violation itself. */
const layers: Readonly<Record<string, Layer>> = {
  "src/protocol": { layers: [], packages: ["lib0"] },
  // Storage sees bytes and SQL. Yjs stays out, so that waking a room cannot depend on a document.
  "src/storage": { layers: ["src/protocol"], packages: ["lib0"] },
  "src/document": { layers: ["src/storage", "src/protocol"], packages: ["lib0", "yjs", "y-protocols"] },
  "src/capability.ts": { layers: ["src/document", "src/storage", "src/protocol"] },
  ...Object.fromEntries(capabilities.map((name) => [name, { layers: belowCapabilities }])),
  "src/room": {
    layers: [...capabilities, "src/capability.ts", "src/document", "src/storage", "src/protocol"],
  },
  "src/router.ts": { layers: ["src/room", "src/protocol"] },
  "src/worker.ts": { layers: ["src/router.ts", "src/room", "src/index.ts"] },
  "src/index.ts": { layers: ["src/router.ts", "src/room", ...capabilities, ...belowCapabilities] },
  // The client shares the protocol with the server, and nothing else.
  client: { layers: ["src/protocol"], packages: ["lib0", "yjs", "y-protocols"] },
  "client/react": { layers: ["client"], packages: ["react", "lib0", "yjs", "y-protocols"] },
};

/** An import that the layers forbid. */
export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/**
 * The forbidden imports of one file.
 *
 * @param file - Path from the root of the repository, with slashes.
 */
export function findViolations(file: string, source: string): Violation[] {
  const home = layerOf(file);
  if (home === undefined)
    return [{ file, line: 1, message: "belongs to no layer (see scripts/check-layers.mts)" }];
  const violations: Violation[] = [];
  for (const { text, line, before } of readSourceStrings(source)) {
    if (!/\b(?:from|import|import\s*\(|require\s*\(|declare module)$/.test(before)) continue;
    if (!mayImport(home, file, text))
      violations.push({ file, line, message: `${home} must not import ${text}` });
  }
  return violations;
}

function mayImport(home: string, file: string, specifier: string): boolean {
  const layer = layers[home];
  if (layer === undefined) return false;
  if (!specifier.startsWith(".")) return layer.packages?.includes(packageOf(specifier)) ?? true;
  const target = normalize(join(dirname(file), specifier)).replace(/\.js$/, ".ts");
  const targetHome = layerOf(target);
  return targetHome !== undefined && (targetHome === home || layer.layers.includes(targetHome));
}

function layerOf(path: string): string | undefined {
  const homes = Object.keys(layers).filter((name) => isIn(path, name));
  return homes.toSorted((a, b) => b.length - a.length)[0];
}

function isIn(path: string, layer: string): boolean {
  return path === layer || path.startsWith(`${layer}/`);
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

function main(): void {
  const files = globSync("{src,client}/**/*.{ts,tsx}").toSorted();
  const violations = files.flatMap((file) => findViolations(file, readFileSync(file, "utf8")));
  for (const { file, line, message } of violations) console.log(`${file}:${line}  ${message}`);
  console.log(`layers: ${files.length} files, ${violations.length} forbidden imports`);
  if (violations.length > 0 || files.length === 0) process.exitCode = 1;
}

if (import.meta.main) main();
