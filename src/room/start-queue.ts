// What comes in while a room starts, in the order in which it came. A frame and the close behind it may arrive together and
// wake the room; handled as they come, the close would overtake the frame, which waits for the start.

/** Runs work once the room has started, first come, first served; at once when it has. */
export class StartQueue {
  readonly #start: () => Promise<void>;
  #waiting: ((failure: { readonly error: unknown } | null) => void)[] = [];
  #hasStarted = false;

  /** `start` resolves when the room has started, and rejects when it cannot; it is called again for what comes later. */
  constructor(start: () => Promise<void>) {
    this.#start = start;
  }

  /** Runs `work`, which must not throw. It is told why the room could not start, if so. */
  run(work: (failure: { readonly error: unknown } | null) => void): Promise<void> {
    if (this.#hasStarted) {
      work(null);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#waiting.push((failure) => {
        work(failure);
        resolve();
      });
      if (this.#waiting.length === 1) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    let failure: { readonly error: unknown } | null = null;
    try {
      await this.#start();
      this.#hasStarted = true;
    } catch (error) {
      failure = { error };
    }
    for (const work of this.#waiting.splice(0)) work(failure);
  }
}
