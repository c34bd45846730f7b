// One person who has the demo open: a browser profile of their own, a page, and what can be seen on it.
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { Complaints } from "./complaints.ts";

/** The text without what is drawn into it. */
const readTextScript = `[...document.querySelectorAll(".cm-line")].map((line) => {
  const copy = line.cloneNode(true);
  for (const drawn of copy.querySelectorAll(".cm-placeholder")) drawn.remove();
  return copy.textContent;
}).join("\\n")`;

/** `name` and `color`: who this browser remembers its owner to be; without them it meets a stranger. */
export type DemoPageOptions = BrowserContextOptions & { readonly name?: string; readonly color?: string };

/** What the page of one person shows. */
export class DemoPage {
  readonly page: Page;
  readonly complaints: Complaints;
  readonly #context: BrowserContext;

  private constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    this.complaints = new Complaints(page);
  }

  static async open(
    browser: Browser,
    address: string,
    { name, color, ...options }: DemoPageOptions = {},
  ): Promise<DemoPage> {
    const context = await browser.newContext({ viewport: { width: 1100, height: 700 }, ...options });
    const remembered = Object.entries({ name, color }).filter(([, value]) => value !== undefined);
    if (remembered.length > 0) {
      await context.addInitScript({
        content: remembered
          .map(([key, value]) => [`dormouse:${key}`, value].map((part) => JSON.stringify(part)))
          .map(([key, value]) => `localStorage.getItem(${key}) ?? localStorage.setItem(${key}, ${value});`)
          .join("\n"),
      });
    }
    const opened = new DemoPage(context, await context.newPage());
    await opened.page.goto(address);
    return opened;
  }

  /** Opens the same address once more in the same profile: a second tab. */
  async openTab(): Promise<DemoPage> {
    const tab = new DemoPage(this.#context, await this.#context.newPage());
    await tab.page.goto(this.page.url());
    return tab;
  }

  /** The state of the connection, as the page styles it. */
  connection(): Promise<string | null> {
    return this.page.locator("#connection").getAttribute("data-state");
  }

  text(): Promise<string> {
    return this.page.evaluate<string>(readTextScript);
  }

  /** Writes at the end of the text. */
  async type(text: string): Promise<void> {
    await this.page.locator(".cm-content").click();
    await this.page.keyboard.press("Control+End");
    await this.page.keyboard.type(text);
  }

  /** Writes at the end of the text, all at once. */
  async paste(text: string): Promise<void> {
    await this.type("");
    await this.page.keyboard.insertText(text);
  }

  async rename(name: string): Promise<void> {
    await this.page.locator("#my-name").fill(name);
    await this.page.keyboard.press("Enter");
  }

  /** The names of the others, in alphabetical order. */
  async others(): Promise<string[]> {
    return (await this.page.locator("#others li").allInnerTexts()).map((name) => name.trim()).toSorted();
  }

  /** Who the browser remembers its owner to be. */
  remembered(): Promise<{ name: string | null; color: string | null }> {
    return this.page.evaluate(() => ({
      name: localStorage.getItem("dormouse:name"),
      color: localStorage.getItem("dormouse:color"),
    }));
  }

  /** The colour at somebody's name. */
  async color(name: string): Promise<string | null> {
    return await this.page.locator("#others li", { hasText: name }).getAttribute("style");
  }

  /** The names at the cursors in the text, in alphabetical order. */
  async cursors(): Promise<string[]> {
    return (await this.page.locator(".cursor-name").allInnerTexts()).toSorted();
  }

  /** Closes the tab; others of the same profile stay. */
  closeTab(): Promise<void> {
    return this.page.close();
  }

  /** Leaves, as somebody does who closes the window: the page is told, and may say its last. */
  async close(): Promise<void> {
    if (!this.page.isClosed()) {
      const isClosed = this.page.waitForEvent("close");
      await this.page.close({ runBeforeUnload: true });
      await isClosed;
    }
    await this.#context.close();
  }
}
