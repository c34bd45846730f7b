// Type-checks the examples in the documentation: every TypeScript fence is a file of its own, compiled against the source
// as a user's would be against the package.
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = "node_modules/.cache/doc-examples";

/** The TypeScript fences of a Markdown text. */
export function readFences(text: string): string[] {
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ""]) => code);
}

function main(): number {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let count = 0;
  for (const file of ["README.md", ...globSync("docs/*.md")]) {
    for (const code of readFences(readFileSync(file, "utf8"))) {
      count++;
      writeFileSync(join(folder, `${file.replaceAll(/\W+/g, "-")}-${count}.ts`), code);
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
      paths: { dormouse: ["../../../src/index.ts"] },
    },
    include: ["*.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { status, stdout } = spawnSync("tsc", ["-p", folder], { encoding: "utf8" });
  process.stdout.write(stdout);
  console.log(`docs: ${count} examples checked`);
  return status ?? 1;
}

if (import.meta.main) process.exitCode = main();
