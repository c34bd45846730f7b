// Servers of others for our own provider: y-websocket's, and a room of y-partyserver's in workerd. Each on a free port.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { mkdtemp, rm, writeFile } from "node:fs/promises";

const root = join(import.meta.dirname, "../..");

/** The server that comes with y-websocket 2, in a process of its own. It keeps documents in memory alone. */
export class WebsocketServer implements AsyncDisposable {
  readonly port: number;
  readonly #complaints: string[] = [];
  #child: ChildProcess | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<WebsocketServer> {
    const server = new WebsocketServer(await findFreePort());
    await server.restart();
    return server;
  }

  /** What it complained about since the last call. */
  takeComplaints(): string[] {
    return this.#complaints.splice(0);
  }

  async restart(): Promise<void> {
    const file = join(root, "node_modules/y-websocket-2/bin/server.cjs");
    const env = { ...process.env, HOST: "127.0.0.1", PORT: String(this.port) };
    const child = spawn(process.execPath, [file], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    createInterface(child.stderr).on("line", (line) => this.#complaints.push(line));
    await once(createInterface(child.stdout), "line");
  }

  /** Ends it as a power cut does, with all documents. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

const partyWorker = `
import { routePartykitRequest } from "partyserver";
import { YServer } from "y-partyserver";
export class Main extends YServer {
  static options = { hibernate: true };
  onCustomMessage(connection, message) {
    this.broadcastCustomMessage(message, connection);
  }
}
export default {
  async fetch(request, env) {
    return (await routePartykitRequest(request, env)) ?? new Response("not found", { status: 404 });
  },
};
`;

/** A room of y-partyserver's. */
export class PartyServer implements AsyncDisposable {
  readonly port: number;
  readonly complaints: string[];
  readonly #stop: () => Promise<void>;

  private constructor(port: number, complaints: string[], stop: () => Promise<void>) {
    this.port = port;
    this.complaints = complaints;
    this.#stop = stop;
  }

  static async start(): Promise<PartyServer> {
    // Inside the repository, so that it finds the packages.
    const directory = await mkdtemp(join(root, ".wrangler-peer-"));
    const entrypoint = join(directory, "worker.js");
    await writeFile(entrypoint, partyWorker);
    process.env["WRANGLER_LOG"] ??= "error";
    process.env["WRANGLER_WRITE_LOGS"] ??= "false";
    const { unstable_startWorker: startWorker } = await import("wrangler");
    const port = await findFreePort();
    const complaints: string[] = [];
    const worker = await startWorker({
      name: "peer",
      entrypoint,
      compatibilityDate: "2026-10-01",
      bindings: { MAIN: { type: "durable_object_namespace", class_name: "Main" } },
      migrations: [{ tag: "v1", new_sqlite_classes: ["Main"] }],
      dev: {
        server: { hostname: "127.0.0.1", port },
        persist: false,
        inspector: false,
        watch: false,
        structuredLogsHandler: ({ level, message }: { level: string; message: string }) => {
          if (level === "error" || level === "warn") complaints.push(message);
        },
      },
    });
    await worker.ready;
    return new PartyServer(port, complaints, async () => {
      await worker.dispose();
      await rm(directory, { recursive: true, force: true });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
