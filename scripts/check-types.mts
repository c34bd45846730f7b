// Type-checks every project in tsconfig/, each with the globals of its own world.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

const projects = globSync("tsconfig/*.json")
  .filter((file) => !/\/(?:base|build|build-client)\.json$/.test(file))
  .toSorted();

const failed = projects.filter((project) => {
  const { status } = spawnSync("tsc", ["-p", project, "--pretty", "false"], { stdio: "inherit" });
  return status !== 0;
});

console.log(`types: ${projects.length} projects, ${failed.length} with errors`);
if (failed.length > 0 || projects.length === 0) process.exitCode = 1;
