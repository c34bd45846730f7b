// The demo as `npm start` runs it, in a process of its own, on a free port and with rooms of its own.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { isRunning, killProcesses, readProcessTree } from "./process-tree.ts";

const root = join(import.meta.dirname, "../..");
const startTimeoutMs = 60_000;
const stopTimeoutMs = 10_000;

/** What the demo says when all is well. */
const expectedLines = [
  /^Dormouse is ready at http:\/\/localhost:\d+\/#welcome$/,
  /^Open it in two windows to write together\. Ctrl\+C stops it\.$/,
];

/** One demo: a port and a store, which outlive the process that serves them. */
export class DemoServer {
  readonly port: number;
  readonly #persistTo: string;
  readonly #lines: string[] = [];
  #child: ChildProcess | undefined;

  private constructor(port: number, persistTo: string) {
    this.port = port;
    this.#persistTo = persistTo;
  }

  /** Starts a demo with empty rooms. */
  static async start(): Promise<DemoServer> {
    const server = new DemoServer(await findFreePort(), await mkdtemp(join(tmpdir(), "dormouse-")));
    await server.restart();
    return server;
  }

  get url(): string {
    return `http://localhost:${this.port}`;
  }

  /** What it printed since the last call. */
  takeLines(): string[] {
    return this.#lines.splice(0);
  }

  /** What it printed since the last call, over all its starts, that it does not print when all is well. */
  takeUnexpectedLines(): string[] {
    return this.takeLines().filter((line) => !expectedLines.some((expected) => expected.test(line)));
  }

  /** Whether a text, written in one piece, is in the files of the rooms, where no crash can take it. */
  async hasStored(text: string): Promise<boolean> {
    const files = await readdir(this.#persistTo, { recursive: true, withFileTypes: true });
    const contents = await Promise.all(
      files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name))),
    );
    return contents.some((content) => content.includes(text));
  }

  /** Starts it again, on the same port and with the same rooms, after `stop` or `kill`. */
  async restart(): Promise<void> {
    const child = spawn(
      process.execPath,
      ["scripts/start.mts", "--port", String(this.port), "--persist-to", this.#persistTo],
      { cwd: root, stdio: ["ignore", "pipe", "pipe"] },
    );
    this.#child = child;
    const ready = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        createInterface(stream).on("line", (line) => {
          this.#lines.push(line);
          if (line.startsWith("Dormouse is ready")) resolve();
        });
      }
    });
    const ended = once(child, "close").then(([code]) => {
      throw new Error(`The demo ended with code ${code}:\n${this.#lines.join("\n")}`);
    });
    ended.catch(() => {
      // after it was ready, `stop` and `kill` say how it ended
    });
    const timeout = AbortSignal.timeout(startTimeoutMs);
    const late = once(timeout, "abort").then(() => {
      throw new Error(`The demo was not ready in time:\n${this.#lines.join("\n")}`);
    });
    await Promise.race([ready, ended, late]);
  }

  /**
   * Asks it to stop.
   * @throws when it does not, or leaves a process behind
   */
  async stop(signal: "SIGINT" | "SIGTERM" = "SIGTERM"): Promise<void> {
    const child = this.#takeChild();
    const tree = readProcessTree(child.pid ?? -1);
    const exited = once(child, "exit", { signal: AbortSignal.timeout(stopTimeoutMs) });
    child.kill(signal);
    await exited.finally(() => killProcesses([child.pid ?? -1]));
    const left = await waitForEnd(tree);
    killProcesses(left);
    if (left.length > 0) throw new Error(`The demo left ${left.length} processes behind.`);
    if (child.exitCode !== 0) throw new Error(`The demo stopped with code ${child.exitCode}.`);
  }

  /** Ends it and all it started as a power cut does. */
  async kill(): Promise<void> {
    const child = this.#takeChild();
    const exited = once(child, "exit");
    killProcesses(readProcessTree(child.pid ?? -1));
    await exited;
  }

  /** Stops it and removes its rooms. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== undefined) await this.stop();
    await rm(this.#persistTo, { recursive: true, force: true });
  }

  #takeChild(): ChildProcess {
    const child = this.#child;
    if (child === undefined) throw new Error("The demo does not run.");
    this.#child = undefined;
    return child;
  }
}

/** Waits for processes to end; those that are told to, but by their parent's end, take a moment. */
async function waitForEnd(pids: readonly number[]): Promise<number[]> {
  const deadline = performance.now() + stopTimeoutMs;
  while (pids.some(isRunning) && performance.now() < deadline) await setTimeout(20);
  return pids.filter(isRunning);
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
