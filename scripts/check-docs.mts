// Type-checks the examples in the documentation: every TypeScript fence is a file of its own, compiled against the source
// as a user's would be against the package.
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = "node_modules/.cache/doc-examples";

/** An example: the code of a fence and its language. */
export interface Fence {
  readonly language: "ts" | "tsx";
  readonly code: string;
}

/** The TypeScript fences of a Markdown text. */
export function readFences(text: string): Fence[] {
  const fences = text.matchAll(/^```(tsx?)\n(.*?)^```/gms);
  return [...fences].map(([, language, code = ""]) => ({ language: language as Fence["language"], code }));
}

function main(): number {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let count = 0;
  for (const file of ["README.md", ...globSync("docs/*.md")]) {
    for (const { language, code } of readFences(readFileSync(file, "utf8"))) {
      count++;
      writeFileSync(join(folder, `${file.replaceAll(/\W+/g, "-")}-${count}.${language}`), code);
    }
  }
  if (count === 0) throw new Error("There is no example to check.");
  const config = {
    extends: "../../../tsconfig/base.json",
    compilerOptions: {
      lib: ["ES2024", "DOM"],
      types: ["@cloudflare/workers-types"],
      module: "ESNext",
      moduleResolution: "Bundler",
      jsx: "react-jsx",
      paths: {
        dormouse: ["../../../src/index.ts"],
        "dormouse/client": ["../../../client/index.ts"],
        "dormouse/react": ["../../../client/react/index.ts"],
      },
    },
    include: ["*.ts", "*.tsx"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { status, stdout } = spawnSync("tsc", ["-p", folder], { encoding: "utf8" });
  process.stdout.write(stdout);
  console.log(`docs: ${count} examples checked`);
  return status ?? 1;
}

if (import.meta.main) process.exitCode = main();
