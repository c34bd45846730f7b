// Chromium for tests, out of npm packages alone. The binary, the few libraries that a bare system lacks and a
// font come compressed in @sparticuz/chromium; they are unpacked once, into node_modules/.cache.
import { execFile } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createBrotliDecompress } from "node:zlib";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

const root = join(import.meta.dirname, "../..");
const cacheDirectory = join(root, "node_modules/.cache/dormouse");
const packageDirectory = join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "..");

const flags = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The packaged font and no other, so that pages look the same on every machine. */
const fontConfiguration = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
</fontconfig>
`;

/** A browser and the process it runs in, for tests that end it without a goodbye. */
export interface Chromium {
  readonly browser: Browser;
  /** Ends the browser as a crash does: its pages say nothing to anybody. */
  kill(): Promise<void>;
}

/**
 * Launches Chromium with a profile of its own. `CHROMIUM_PATH` names another binary to use, for systems that
 * the packaged one (Linux on x86-64) does not run on.
 */
export async function launchChromium(): Promise<Chromium> {
  const path = process.env["CHROMIUM_PATH"];
  const { executablePath, env } =
    path === undefined ? await unpackedChromium() : { executablePath: path, env: {} };
  const server = await chromium.launchServer({
    executablePath,
    headless: true,
    chromiumSandbox: false, // tests may run as root, and open nothing but pages of their own
    args: flags,
    env: { ...process.env, ...env },
    host: "127.0.0.1",
  });
  const browser = await chromium.connect(server.wsEndpoint());
  browser.once("disconnected", () => void server.close());
  return { browser, kill: () => server.kill() };
}

async function unpackedChromium(): Promise<{ executablePath: string; env: Record<string, string> }> {
  const directory = await unpack();
  return {
    executablePath: join(directory, "chromium"),
    env: {
      LD_LIBRARY_PATH: join(directory, "al2023/lib"),
      FONTCONFIG_FILE: join(directory, "fonts.conf"),
    },
  };
}

async function unpack(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(packageDirectory, "package.json"), "utf8"));
  const { version } = manifest as { version: string };
  const target = join(cacheDirectory, `chromium-${version}`);
  if (await exists(target)) return target;
  await mkdir(cacheDirectory, { recursive: true });
  // Under another name until it is whole: a run beside this one must not find half of it.
  const partial = await mkdtemp(join(cacheDirectory, "unpacking-"));
  try {
    await Promise.all([
      decompress("chromium.br", join(partial, "chromium"), 0o755),
      unpackArchive("al2023.tar.br", join(partial, "al2023")),
      unpackArchive("fonts.tar.br", join(partial, "fonts")),
      writeFile(join(partial, "fonts.conf"), fontConfiguration),
    ]);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    if (!(await exists(target))) throw error; // otherwise the run beside this one was first
  }
  return target;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function decompress(file: string, to: string, mode = 0o644): Promise<void> {
  const source = createReadStream(join(packageDirectory, "bin", file));
  await pipeline(source, createBrotliDecompress(), createWriteStream(to, { mode }));
}

async function unpackArchive(file: string, directory: string): Promise<void> {
  const archive = `${directory}.tar`;
  await Promise.all([mkdir(directory), decompress(file, archive)]);
  await promisify(execFile)("tar", ["-x", "-f", archive, "-C", directory]);
  await rm(archive);
}
