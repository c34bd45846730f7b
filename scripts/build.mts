// `npm run build`: compiles the package to dist/. What an earlier build left is removed first, so that nothing
// is published that has no source any more; dist/demo is another's.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

rmSync("dist/src", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig/build.json", "--pretty", "false"], { stdio: "inherit" });
process.exitCode = status ?? 1;
