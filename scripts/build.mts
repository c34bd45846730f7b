// `npm run build`: compiles the package to dist/, server and client into one tree, where they share what both need. What an
// earlier build left is removed first, so that nothing is published that has no source any more; dist/demo is another's.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

for (const folder of ["dist/src", "dist/client"]) rmSync(folder, { recursive: true, force: true });
for (const project of ["tsconfig/build.json", "tsconfig/build-client.json"]) {
  const { status } = spawnSync("tsc", ["-p", project, "--pretty", "false"], { stdio: "inherit" });
  if (status !== 0) process.exitCode = status ?? 1;
}
