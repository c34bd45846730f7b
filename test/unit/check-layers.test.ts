import { describe, expect, test } from "vitest";
import { findViolations } from "../../scripts/check-layers.mts";

const allowed: readonly (readonly [file: string, specifier: string])[] = [
  ["src/protocol/message.ts", "lib0/decoding"],
  ["src/protocol/message.ts", "./close-code.js"],
  ["src/storage/update-log.ts", "../protocol/reader.js"],
  ["src/document/scan.ts", "yjs"],
  ["src/document/scan.ts", "../storage/update-log.js"],
  ["src/room/room.ts", "../document/scan.js"],
  ["src/room/room.ts", "../topics/topics.js"],
  ["src/room/room.ts", "../capability.js"],
  ["src/room/presence/join.ts", "../../protocol/awareness.js"],
  ["src/room/room.ts", "partyserver"],
  ["src/topics/topics.ts", "../capability.js"],
  ["src/router.ts", "./room/room.js"],
  ["src/worker.ts", "./router.js"],
  ["src/index.ts", "./room/room.js"],
  ["client/provider.ts", "../src/protocol/message.js"],
  ["client/provider.ts", "yjs"],
  ["client/react/use-document.ts", "../provider.js"],
];

const forbidden: readonly (readonly [file: string, specifier: string])[] = [
  ["src/protocol/message.ts", "yjs"],
  ["src/protocol/message.ts", "y-protocols/sync"],
  ["src/protocol/message.ts", "cloudflare:workers"],
  ["src/protocol/message.ts", "../storage/update-log.js"],
  ["src/storage/update-log.ts", "yjs"],
  ["src/storage/update-log.ts", "yjs/src/internals.js"],
  ["src/storage/update-log.ts", "../document/scan.js"],
  ["src/document/scan.ts", "../room/room.js"],
  ["src/topics/topics.ts", "../asks/asks.js"],
  ["src/topics/topics.ts", "../room/room.js"],
  ["src/capability.ts", "./topics/topics.js"],
  ["src/room/room.ts", "../router.js"],
  ["src/room/room.ts", "../index.js"],
  ["src/router.ts", "./worker.js"],
  ["src/room/room.ts", "../../client/provider.js"],
  ["src/room/room.ts", "../../test/workerd/worker.js"],
  ["client/provider.ts", "../src/document/scan.js"],
  ["client/provider.ts", "../src/index.js"],
  ["client/provider.ts", "./react/use-document.js"],
  ["client/provider.ts", "partyserver"],
  ["client/react/use-document.ts", "../../src/protocol/message.js"],
];

test.each(allowed)("%s may import %s", (file, specifier) => {
  expect(findViolations(file, `import { x } from "${specifier}";`)).toEqual([]);
});

test.each(forbidden)("%s must not import %s", (file, specifier) => {
  expect(findViolations(file, `import { x } from "${specifier}";`)).toHaveLength(1);
});

describe("every way to import counts", () => {
  test.each([
    `import * as Y from "yjs";`,
    `import type { Doc } from "yjs";`,
    `import {\n  type Doc,\n  Map,\n} from 'yjs';`,
    `import "yjs";`,
    `export * from "yjs";`,
    `export type { Doc } from "yjs";`,
    `const Y = await import("yjs");`,
    `type Doc = import("yjs").Doc;`,
    `import { Doc } from /* a comment */ "yjs";`,
  ])("%s", (source) => {
    expect(findViolations("src/storage/update-log.ts", `\n${source}`)).toHaveLength(1);
  });

  test("comments and other strings do not", () => {
    const source = `// import "yjs"\n/* from "yjs" */\nconst from = "yjs";\nthrow new Error('import "yjs"');`;
    expect(findViolations("src/storage/update-log.ts", source)).toEqual([]);
  });
});

test("a file that belongs to no layer is a violation", () => {
  expect(findViolations("src/unheard-of/thing.ts", "")).toHaveLength(1);
});

test("a violation tells its line", () => {
  const [violation] = findViolations(
    "src/storage/a.ts",
    `import { x } from "./b.js";\nimport * as Y from "yjs";`,
  );
  expect(violation).toMatchObject({ file: "src/storage/a.ts", line: 2 });
});
