// `npm start`, as somebody meets it in a terminal.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { DemoServer } from "../support/demo-server.ts";

const root = join(import.meta.dirname, "../..");

const usage = "Usage: npm start -- [--port 8787] [--persist-to .wrangler/state]\n";

/** How it ended. */
interface Ending {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs it where it is expected to end by itself. */
function run(...options: string[]): Promise<Ending> {
  return runCommand(process.execPath, ["scripts/start.mts", ...options]);
}

async function runCommand(command: string, args: string[]): Promise<Ending> {
  const child = spawn(command, args, { cwd: root });
  onTestFinished(() => void child.kill());
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, output, errors };
}

async function start(): Promise<DemoServer> {
  const server = await DemoServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

test("[B50] says where the demo is and how to stop it, and nothing else", async () => {
  const server = await start();
  const response = await fetch(server.url);
  expect(await response.text()).toContain("<title>Dormouse</title>");
  expect((await fetch(`http://127.0.0.1:${server.port}/icon.svg`)).status).toBe(200);
  await server.stop("SIGINT");
  expect(server.takeLines()).toEqual([
    `Dormouse is ready at ${server.url}/#welcome`,
    "Open it in two windows to write together. Ctrl+C stops it.",
  ]);
});

test("[B51] a port that is taken is told in a sentence", async () => {
  const { port } = await start();
  expect(await run("--port", String(port))).toEqual({
    code: 1,
    output: "",
    errors: `Port ${port} is in use. Stop what runs there, or take another: npm start -- --port ${port + 1}\n`,
  });
});

test("[B52] an option that it does not have is told, with those that it has", async () => {
  const { code, errors } = await run("--prot", "1234");
  expect(code).toBe(1);
  expect(errors).toBe(`Unknown option '--prot'\n${usage}`);
});

test("[B53] its options are told when asked for", async () => {
  expect(await run("--help")).toEqual({ code: 0, output: usage, errors: "" });
});

test("[B54] a place where rooms cannot be stored is told in a sentence", async () => {
  const place = join(root, "package.json/rooms");
  const { code, output, errors } = await run("--persist-to", place);
  expect({ code, output }).toEqual({ code: 1, output: "" });
  expect(errors).toMatch(/^The rooms cannot be stored in .*package\.json.rooms: ENOTDIR: .*\n$/);
});

test("[B55] options that npm took for its own are told", async () => {
  const { code, errors } = await runCommand("npm", ["start", "--silent", "--port", "9000"]);
  expect(code).toBe(1);
  expect(errors).toBe(`npm took the options for its own. Did you forget the "--"?\n${usage}`);
});
