// What a test of the demo needs, as fixtures: a running demo and a browser for the file, and for each test a
// room of its own, with a look at the end at what pages and server complained about.
import { randomUUID } from "node:crypto";
import { expect, test as base } from "vitest";
import { launchChromium } from "./chromium.ts";
import type { Chromium } from "./chromium.ts";
import { DemoPage } from "./demo-page.ts";
import type { DemoPageOptions } from "./demo-page.ts";
import { DemoServer } from "./demo-server.ts";

/** For `expect.poll`: what should happen at once, on a machine that may be busy. */
export const soon = { timeout: 10_000, interval: 50 };

/** A demo and a browser, for all tests of a file. */
export interface Stage {
  readonly server: DemoServer;
  readonly chromium: Chromium;
}

/** A room of one test, and the people who have it open. */
export class Room {
  readonly name = `test-${randomUUID()}`;
  readonly address: string;
  readonly #stage: Stage;
  readonly #pages: DemoPage[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
    this.address = `${stage.server.url}/#${this.name}`;
  }

  /** Opens the room as somebody new, and waits until the page is connected. */
  async open(name: string, options: DemoPageOptions = {}): Promise<DemoPage> {
    return await this.add(
      await DemoPage.open(this.#stage.chromium.browser, this.address, { name, ...options }),
    );
  }

  /** Takes a page that was opened in another way, and waits until it is connected. */
  async add(page: DemoPage): Promise<DemoPage> {
    this.#pages.push(page);
    await waitForConnection(page);
    return page;
  }

  /** Closes the pages. What they complained about is returned and forgotten. */
  async close(): Promise<string[]> {
    await Promise.all(this.#pages.map((page) => page.close()));
    return this.#pages.flatMap((page) => page.complaints.take());
  }
}

/** Waits until a page has exchanged with the room what each had. */
export async function waitForConnection(page: DemoPage): Promise<void> {
  await page.page.locator('#connection[data-state="online"]').waitFor({ timeout: soon.timeout });
}

async function startStage(): Promise<Stage> {
  const chromium = await launchChromium();
  try {
    return { chromium, server: await DemoServer.start() };
  } catch (error) {
    await chromium.browser.close();
    throw error;
  }
}

/** `test` with a stage for the file and a room for each test. */
export const test = base
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads from the pattern what a fixture needs
  .extend("stage", { scope: "file" }, async ({}, { onCleanup }) => {
    const stage = await startStage();
    onCleanup(async () => {
      await stage.chromium.browser.close();
      await stage.server[Symbol.asyncDispose]();
    });
    return stage;
  })
  .extend("room", ({ stage }, { onCleanup }) => {
    const room = new Room(stage);
    onCleanup(async () => {
      const complaints = await room.close();
      expect([...complaints, ...stage.server.takeUnexpectedLines()], "complaints").toEqual([]);
    });
    return room;
  });
