// Builds the page of the demo into dist/demo, where the Worker serves it from.
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");
const outputDirectory = join(root, "dist/demo");
const staticFiles = ["index.html", "style.css", "icon.svg"];

/**
 * Builds the page.
 * @throws esbuild's BuildFailure, whose message names file and line
 */
export async function buildDemo(): Promise<void> {
  await mkdir(outputDirectory, { recursive: true });
  await Promise.all([
    build({
      absWorkingDir: root,
      entryPoints: ["demo/demo.ts"],
      outdir: outputDirectory,
      bundle: true,
      format: "esm",
      target: "es2022",
      minify: true,
      sourcemap: true,
      logLevel: "silent",
    }),
    ...staticFiles.map((file) => cp(join(root, "demo", file), join(outputDirectory, file))),
  ]);
}

if (import.meta.main) {
  await buildDemo().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
