// What a page complains about: warnings and errors of its console, and errors that nobody caught.
import type { Page } from "playwright-core";

/** What Chromium itself writes to the console when a server cannot be reached: no fault of the page. */
const unreachable = /^WebSocket connection to '[^']*' failed: Error [a-zA-Z ]+: net::/;

/** Collects the complaints of one page. */
export class Complaints {
  #complaints: string[] = [];

  constructor(page: Page) {
    page.on("console", (message) => {
      if (message.type() === "warning" || message.type() === "error") this.#complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.#complaints.push(String(error)));
  }

  /** Forgets what it said about a server that could not be reached; for tests that take the server away. */
  forgetUnreachable(): void {
    this.#complaints = this.#complaints.filter((complaint) => !unreachable.test(complaint));
  }

  /** Those since the last call. */
  take(): string[] {
    return this.#complaints.splice(0);
  }
}
