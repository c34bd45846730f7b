// `npm test`: runs every Vitest project, or what the arguments select, and ends with one line that counts
// what ran. Stricter than Vitest about what counts as success: a test that was skipped, a file that did not
// load, an error outside of any test and a test file that no project picked up are failures, and so is an
// empty run.
import { globSync } from "node:fs";
import { relative } from "node:path";
import { parseCLI, startVitest } from "vitest/node";
import type { TestModule, Vitest } from "vitest/node";

interface Count {
  passed: number;
  /** One line for each failure. */
  failures: string[];
}

/** Counts the tests of one file; a narrowed run (`-t`) leaves out what it did not select. */
function countModule(module: TestModule, narrowed: boolean): Count {
  const name = `${module.project.name} ${module.relativeModuleId}`;
  const count: Count = { passed: 0, failures: module.errors().map(() => `${name} did not load`) };
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    if (state === "passed") count.passed += 1;
    else if (state === "failed" || !narrowed) count.failures.push(`${name} > ${test.fullName}: ${state}`);
  }
  for (const suite of module.children.allSuites()) {
    count.failures.push(
      ...suite.errors().map(() => `${name} > ${suite.fullName}: failed outside of its tests`),
    );
  }
  const empty = count.passed + count.failures.length === 0 && !narrowed;
  return empty ? { passed: 0, failures: [`${name}: no tests`] } : count;
}

/** Test files on disk that the run did not know: a file in the wrong folder would never run. */
function findForgotten(vitest: Vitest, modules: readonly TestModule[]): string[] {
  const ran = new Set(modules.map((module) => relative(vitest.config.root, module.moduleId)));
  const onDisk = globSync("test/**/*.test.*", { cwd: vitest.config.root, exclude: ["test/bench/**"] });
  return onDisk.filter((file) => !ran.has(file)).map((file) => `${file}: in no project`);
}

async function main(args: readonly string[]): Promise<void> {
  const { filter, options } = parseCLI(["vitest", "run", ...args]);
  const vitest = await startVitest("test", filter, { watch: false, ...options });
  const modules = vitest.state.getTestModules();
  const counts = modules.map((module) => countModule(module, options.testNamePattern !== undefined));
  const passed = counts.reduce((sum, count) => sum + count.passed, 0);
  const failures = [
    ...counts.flatMap((count) => count.failures),
    ...vitest.state.getUnhandledErrors().map(() => "an error outside of any test"),
    ...(args.length === 0 ? findForgotten(vitest, modules) : []),
  ];
  await vitest.close();
  for (const failure of failures) console.log(`failed: ${failure}`);
  console.log(`${passed} passed, ${failures.length} failed`);
  // Exits even if a runtime that a test started has not ended.
  process.exit(passed > 0 && failures.length === 0 ? 0 : 1);
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error);
  console.log("0 passed, 1 failed");
  process.exit(1);
});
