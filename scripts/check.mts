// `npm run check`: everything short of running the tests. Each step is told in one line; what it printed is
// shown only when it failed. Later steps run even then, so that one run shows all there is to mend.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const packages = mkdtempSync(join(tmpdir(), "dormouse-package-"));

const steps: readonly (readonly [name: string, command: string])[] = [
  ["format", "oxfmt --check"],
  ["lint", "oxlint"],
  ["layers", "node scripts/check-layers.mts"],
  ["types", "node scripts/check-types.mts"],
  ["docs", "node scripts/check-docs.mts"],
  ["spec", "node scripts/check-spec.mts"],
  ["build", "npm run --silent build"],
  // One package for both, away from here: a package in this folder may be somebody's.
  ["pack", `npm pack --silent --ignore-scripts --pack-destination ${packages}`],
  ["publint", `publint --strict --pack false`],
  ["attw", `attw ${packages}/*.tgz --profile esm-only --format ascii`],
];

interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

async function run(command: string): Promise<Outcome> {
  const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "pipe"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { ok: code === 0, output: Buffer.concat(chunks).toString() };
}

async function main(): Promise<void> {
  const failed: string[] = [];
  for (const [name, command] of steps) {
    const startedAt = performance.now();
    const { ok, output } = await run(command);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${ok ? "ok    " : "FAILED"}  ${name} (${seconds} s)`);
    if (ok) continue;
    failed.push(name);
    console.log(`${output.trimEnd()}\n`);
  }
  if (failed.length > 0) {
    console.log(`check failed: ${failed.join(", ")}`);
    process.exitCode = 1;
  }
}

try {
  await main();
} finally {
  rmSync(packages, { recursive: true, force: true });
}
