// What comes in while a room starts, in the order in which it came. A frame and the close behind it may arrive together and
// wake the room; handled as they come, the close would overtake the frame, which waits for the start.

/** Why a room could not start; null when it has. */
export type StartFailure = { readonly error: unknown } | null;

/** Runs work once the room has started, first come, first served; at once when it has. */
export class StartQueue {
  readonly #start: () => Promise<void>;
  #waiting: ((failure: StartFailure) => void)[] = [];
  #hasStarted = false;

  /** `start` resolves when the room has started, and rejects when it cannot; it is called again for what comes later. */
  constructor(start: () => Promise<void>) {
    this.#start = start;
  }

  /** Runs `work` and resolves to what it returns. What it goes on doing by itself holds up nobody. */
  run<T>(work: (failure: StartFailure) => T | Promise<T>): Promise<T> {
    // Runs at once and in order; a throw rejects what its own caller got.
    const guarded = async (failure: StartFailure): Promise<T> => work(failure);
    return new Promise((resolve) => {
      this.#waiting.push((failure) => resolve(guarded(failure)));
      if (this.#hasStarted) this.#release(null);
      else if (this.#waiting.length === 1) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    try {
      await this.#start();
      this.#hasStarted = true;
      this.#release(null);
    } catch (error) {
      this.#release({ error });
    }
  }

  #release(failure: StartFailure): void {
    for (const work of this.#waiting.splice(0)) work(failure);
  }
}
