// One project per world. Projects of one group share the workers; groups run one after another, so that the
// ones that measure time (compat, browser) have the machine to themselves.
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import type { TestProjectInlineConfiguration } from "vitest/config";

// Tests use no network: neither Cloudflare's request metadata nor usage metrics.
process.env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false";
process.env["WRANGLER_SEND_METRICS"] = "false";

function project(
  name: string,
  options: NonNullable<TestProjectInlineConfiguration["test"]>,
): TestProjectInlineConfiguration {
  return { test: { name, include: [`test/${name}/**/*.test.{ts,tsx}`], ...options } };
}

export default defineConfig({
  test: {
    silent: "passed-only",
    projects: [
      project("unit", { sequence: { groupOrder: 0 } }),
      project("property", { sequence: { groupOrder: 0 }, testTimeout: 60_000 }),
      {
        ...project("workerd", { sequence: { groupOrder: 1 }, testTimeout: 20_000 }),
        plugins: [
          cloudflareTest({
            main: "test/workerd/worker.ts",
            // Else the runtime tells of every abort and exception, also of those that a test is about.
            verbose: false,
            miniflare: {
              compatibilityDate: "2026-10-01",
              durableObjects: {
                PLAIN: { className: "PlainRoom", useSQLite: true },
                HOOKED: { className: "HookedRoom", useSQLite: true },
                GUARDED: { className: "GuardedRoom", useSQLite: true },
                LIMITED: { className: "LimitedRoom", useSQLite: true },
                FIELDS: { className: "FieldsRoom", useSQLite: true },
                BASED: { className: "BasedRoom", useSQLite: true },
                IMPORT: { className: "ImportRoom", useSQLite: true },
                SEEDED: { className: "SeededRoom", useSQLite: true },
                CHAT: { className: "ChatRoom", useSQLite: true },
                MIGRATED: { className: "MigratedRoom", useSQLite: true },
                PROBE: { className: "Probe", useSQLite: true },
              },
            },
          }),
        ],
      },
      project("compat", {
        sequence: { groupOrder: 2 },
        fileParallelism: false,
        testTimeout: 120_000,
        hookTimeout: 60_000,
      }),
      project("browser", {
        sequence: { groupOrder: 3 },
        fileParallelism: false,
        testTimeout: 60_000,
        hookTimeout: 60_000,
      }),
    ],
  },
});
