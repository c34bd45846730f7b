// `npm start`: builds the demo and runs the Worker on this machine, as `wrangler dev` does but without an
// account, without the internet, and without a word more than a reader needs. What the Worker logs is shown.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rmdir, writeFile } from "node:fs/promises";
import { enableCompileCache } from "node:module";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { getCACertificates } from "node:tls";
import { parseArgs } from "node:util";
import { buildDemo } from "./build-demo.mts";

const usage = `npm start -- [--port 8787] [--persist-to .wrangler/state]`;

interface Options {
  readonly port: number;
  /** Where the rooms are stored; relative to the working directory. */
  readonly persistTo: string;
}

/** One line of the Worker's log. */
interface LogLine {
  readonly level: string;
  readonly message: string;
}

/** What went wrong is told in the message, and a stack would add nothing. */
class StartError extends Error {}

/** The options; undefined when the usage was asked for. */
function parseOptions(args: string[]): Options | undefined {
  const { values } = (() => {
    try {
      return parseArgs({
        args,
        options: {
          port: { type: "string", default: "8787" },
          "persist-to": { type: "string", default: join(import.meta.dirname, "../.wrangler/state") },
          help: { type: "boolean", default: false },
        },
      });
    } catch (error) {
      throw new StartError(`${error instanceof Error ? error.message : String(error)}\nUsage: ${usage}`);
    }
  })();
  if (values.help) return undefined;
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new StartError(`--port must be a number from 1 to 65535, not "${values.port}".\nUsage: ${usage}`);
  }
  return { port, persistTo: values["persist-to"] };
}

/** npm takes options that come before a `--` for its own, and leaves only traces of them. */
function assertNotTakenByNpm(): void {
  const taken = ["port", "persist_to"].some((name) => process.env[`npm_config_${name}`] !== undefined);
  if (taken)
    throw new StartError(`npm took the options for its own. Did you forget the "--"?\nUsage: ${usage}`);
}

/** As `mkdir` with `recursive`, which runs forever where nothing can be created and nothing forbids it, as in /proc. */
async function createDirectory(directory: string): Promise<void> {
  if (existsSync(directory)) return;
  await createDirectory(dirname(directory));
  await mkdir(directory);
}

/** Where workerd cannot write, it does not say so but tries forever. */
async function assertWritable(directory: string): Promise<void> {
  try {
    await createDirectory(directory);
    await rmdir(await mkdtemp(join(directory, "probe-")));
  } catch (error) {
    throw new StartError(`The rooms cannot be stored in ${directory}: ${describe(error)}`);
  }
}

/** Whether something listens. Asked of ::1 too, where browsers look for `localhost` before they try 127.0.0.1. */
function isTaken(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1000 });
    const done = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
    socket.once("timeout", () => done(false));
  });
}

async function assertFree(port: number): Promise<void> {
  const taken = await Promise.all([isTaken("127.0.0.1", port), isTaken("::1", port)]);
  if (!taken.includes(true)) return;
  throw new StartError(
    `Port ${port} is in use. Stop what runs there, or take another: npm start -- --port ${port + 1}`,
  );
}

function printLog({ level, message }: LogLine): void {
  if (level === "error" || level === "warn") console.error(message);
  else console.log(message);
}

/** What lies at the bottom of an error, or of an event that wraps one. */
function describe(error: unknown): string {
  if (typeof error === "object" && error !== null && "cause" in error && error.cause !== undefined) {
    return describe(error.cause);
  }
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/\nRuntime stderr:[^]*/, ""); // that was logged already
}

/** For errors of the builders: their stacks show the builder. */
function rethrow(error: unknown): never {
  throw new StartError(describe(error));
}

/** workerd does not start without certificate authorities, and slim systems have none: then it gets Node's. */
async function provideAuthorities(): Promise<void> {
  if (process.platform !== "linux" || process.env["SSL_CERT_FILE"] !== undefined) return;
  if (existsSync("/etc/ssl/certs") && getCACertificates("system").length > 0) return;
  const directory = join(import.meta.dirname, "../node_modules/.cache/dormouse");
  const file = join(directory, "authorities.pem");
  await mkdir(directory, { recursive: true });
  await writeFile(file, getCACertificates("bundled").join("\n"));
  process.env["SSL_CERT_FILE"] = file;
}

/** Runs the Worker. Wrangler reads these variables when it is loaded, hence the late import. */
async function runWorker({ port, persistTo }: Options) {
  process.env["CLOUDFLARE_CF_FETCH_ENABLED"] ??= "false";
  process.env["WRANGLER_SEND_METRICS"] ??= "false";
  process.env["WRANGLER_LOG"] ??= "error";
  process.env["WRANGLER_WRITE_LOGS"] ??= "false";
  // Two services of wrangler dev that would keep stores of their own beside the rooms.
  process.env["X_LOCAL_EXPLORER"] ??= "false";
  process.env["X_LOCAL_OBSERVABILITY"] ??= "false";
  const { unstable_DevEnv: DevEnv } = await import("wrangler");
  const devEnv = new DevEnv();
  const failed = new Promise<never>((_resolve, reject) => {
    devEnv.on("error", (error: unknown) => {
      console.error(describe(error));
      reject(new StartError("The Worker could not be started."));
    });
    devEnv.once("buildFailed", () => reject(new StartError("The Worker could not be built.")));
  });
  failed.catch(() => {
    // once it runs, an error is told and no more
  });
  const loaded = once(devEnv, "reloadComplete");
  const started = devEnv.startWorker({
    config: join(import.meta.dirname, "../wrangler.toml"),
    build: { custom: { command: "" } }, // the demo is built already
    dev: {
      server: { hostname: "127.0.0.1", port },
      persist: persistTo,
      inspector: false,
      watch: false,
      structuredLogsHandler: printLog,
    },
  });
  const worker = await Promise.race([failed, started.catch(rethrow)]);
  await Promise.race([failed, Promise.all([worker.ready, loaded])]);
  return worker;
}

/** Stops in order when asked to. Until then wrangler's own handlers do, which exit with the number of the signal. */
function stopOnSignal(stop: () => Promise<void>): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.removeAllListeners(signal);
    process.once(signal, () => {
      void stop().finally(() => process.exit(0));
    });
  }
}

async function main(): Promise<void> {
  enableCompileCache();
  assertNotTakenByNpm();
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) return console.log(`Usage: ${usage}`);
  await Promise.all([assertWritable(options.persistTo), assertFree(options.port)]);
  await Promise.all([buildDemo().catch(rethrow), provideAuthorities()]);
  const worker = await runWorker(options);
  stopOnSignal(() => worker.dispose());
  console.log(`Dormouse is ready at http://localhost:${options.port}/#welcome`);
  console.log("Open it in two windows to write together. Ctrl+C stops it.");
}

await main().catch((error: unknown) => {
  console.error(error instanceof StartError ? error.message : error);
  process.exit(1);
});
