// Clients in Node and clients in a browser, behind one interface.
import { join } from "node:path";
import { build } from "esbuild";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { vi } from "vitest";
import { Complaints } from "../support/complaints.ts";
import { Client } from "./client.ts";
import type { ClientOptions } from "./client.ts";

/** What can be seen of a client. */
export interface ClientState {
  readonly text: string;
  readonly people: readonly string[];
  readonly isSynced: boolean;
  readonly connectCount: number;
  readonly missedCount: number;
}

/** One client in a room, wherever it runs. */
export interface Participant {
  readonly name: string;
  read(): Promise<ClientState>;
  write(text: string): Promise<void>;
  /** Loads the page again, or starts the program again: the same client without what it had in memory. */
  reload(): Promise<void>;
  /** Goes without a word to the others; the connection is closed. */
  leave(): Promise<void>;
  /** Warnings and errors since the last call; not those about a server that a test took away. */
  takeComplaints(): string[];
}

// Each provider in Node listens for the end of the process, and there are many in this one.
process.setMaxListeners(0);

/** What clients in this process complained about; they share its console. */
const consoleErrors: string[] = [];
for (const method of ["error", "warn"] as const) {
  vi.spyOn(console, method).mockImplementation((...values) => void consoleErrors.push(values.join(" ")));
}

function readState({ text, people, isSynced, connectCount, missedCount }: Client): ClientState {
  return { text, people, isSynced, connectCount, missedCount };
}

/** A client in this process. */
export class NodeParticipant implements Participant {
  readonly name: string;
  readonly #options: ClientOptions;
  #client: Client;

  constructor(options: Omit<ClientOptions, "disableBc">) {
    this.name = options.name;
    this.#options = { ...options, disableBc: true };
    this.#client = new Client(this.#options);
  }

  async read(): Promise<ClientState> {
    return readState(this.#client);
  }

  async write(text: string): Promise<void> {
    this.#client.write(text);
  }

  async reload(): Promise<void> {
    this.#client.destroy();
    this.#client = new Client(this.#options);
  }

  async leave(): Promise<void> {
    this.#client.destroy();
  }

  takeComplaints(): string[] {
    return consoleErrors.splice(0);
  }
}

/** A client in a page of its own, in a profile of its own. */
export class BrowserParticipant implements Participant {
  readonly name: string;
  readonly #options: ClientOptions;
  readonly #context: BrowserContext;
  readonly #page: Page;
  readonly #complaints: Complaints;

  private constructor(options: ClientOptions, context: BrowserContext, page: Page) {
    this.name = options.name;
    this.#options = options;
    this.#context = context;
    this.#page = page;
    this.#complaints = new Complaints(page);
  }

  static async open(browser: Browser, options: Omit<ClientOptions, "disableBc">): Promise<Participant> {
    // The page does not come over the network, so the browser would ask before it lets it reach this machine.
    const context = await browser.newContext({ permissions: ["local-network-access"] });
    const html = await pageSource();
    await context.route("**/compat.html", (route) => route.fulfill({ contentType: "text/html", body: html }));
    const page = await context.newPage();
    const participant = new BrowserParticipant({ ...options, disableBc: false }, context, page);
    await page.goto(`http://127.0.0.1:${options.port}/compat.html`);
    await participant.#start();
    return participant;
  }

  async read(): Promise<ClientState> {
    return await this.#page.evaluate(() => {
      const { text, people, isSynced, connectCount, missedCount } = globalThis.client;
      return { text, people, isSynced, connectCount, missedCount };
    });
  }

  async write(text: string): Promise<void> {
    await this.#page.evaluate((written) => globalThis.client.write(written), text);
  }

  async reload(): Promise<void> {
    await this.#page.reload();
    await this.#start();
  }

  async leave(): Promise<void> {
    await this.#context.close();
  }

  takeComplaints(): string[] {
    this.#complaints.forgetUnreachable();
    return this.#complaints.take();
  }

  async #start(): Promise<void> {
    await this.#page.evaluate((options) => {
      globalThis.client = new globalThis.Client(options);
    }, this.#options);
  }
}

let built: Promise<string> | undefined;

/** The page, with its code in it; built once. */
function pageSource(): Promise<string> {
  built ??= (async () => {
    const { outputFiles } = await build({
      entryPoints: [join(import.meta.dirname, "page.ts")],
      bundle: true,
      write: false,
      format: "iife",
      charset: "utf8",
    });
    const code = outputFiles[0]?.text.replaceAll("</script", "<\\/script") ?? "";
    return `<!doctype html><link rel="icon" href="data:," /><script>${code}</script>`;
  })();
  return built;
}
