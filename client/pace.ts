// When to send: at the end of the task when it was quiet, then once per interval while it is busy. Owns the timer. It is a
// timer and no animation frame, since those stop in hidden tabs.

/** What comes within this many milliseconds goes in one frame. */
const intervalMs = 50;

/** Calls `flush` as often as needed and no more. */
export class Pace {
  readonly #flush: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When it is to be called, by the clock that is never set. */
  #due = Infinity;
  #lastAt = -Infinity;

  constructor(flush: () => void) {
    this.#flush = flush;
  }

  /** Asks for a flush, at the latest after `withinMs` or the rest of the interval, whichever is longer. */
  request(withinMs = 0): void {
    const now = performance.now();
    const due = Math.max(now + withinMs, this.#lastAt + intervalMs);
    if (due >= this.#due) return;
    this.#due = due;
    clearTimeout(this.#timer);
    if (due > now) this.#timer = setTimeout(() => this.flush(), due - now);
    // It may have been flushed since, and asked for again.
    else queueMicrotask(() => this.#due === due && this.flush());
  }

  /** Flushes now. */
  flush(): void {
    this.stop();
    this.#lastAt = performance.now();
    this.#flush();
  }

  /** Forgets what was asked for. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#due = Infinity;
  }
}
