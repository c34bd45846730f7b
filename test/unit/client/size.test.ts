// How much of a page's budget the provider takes.
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

/**
 * Minified and gzipped, without what an application of Yjs has anyway: yjs, lib0, y-protocols. In bytes. The aim is 6 KiB;
 * a seventh of it is the codec in src/protocol.
 */
const maxBytes = 7 * 1_024;

test(`[Y30] the client takes at most ${maxBytes} bytes`, async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "../../../client/index.ts")],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    external: ["yjs", "lib0/*", "y-protocols/*"],
  });
  const bytes = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).byteLength;
  expect(bytes).toBeGreaterThan(1_000);
  expect(bytes).toBeLessThanOrEqual(maxBytes);
});
