// When a document is flushed: after a quiet moment, at the latest after maxWait, and at once when it must be. A write
// that fails is tried again with the batch still pending; a room that cannot write at all is given up, so that clients
// come back to a new instance and send again what was never acknowledged.
import debounce from "lodash.debounce";

/** When to flush and when to save. Times in milliseconds. */
export interface PersistenceOptions {
  /** Flush when nothing came for this long. */
  readonly flushWaitMs: number;
  /** Flush at the latest after this long. */
  readonly flushMaxWaitMs: number;
  /** Flush at once when this many bytes are pending. */
  readonly maxPendingBytes: number;
}

/** 500 ms after the last update, 2 s after the first, or at 1 MiB. */
export const defaultPersistence: PersistenceOptions = {
  flushWaitMs: 500,
  flushMaxWaitMs: 2_000,
  maxPendingBytes: 1_048_576,
};

/** Waits between attempts of a failing write, in milliseconds. After the last one the room gives up. */
const retryWaitsMs = [250, 500, 1_000, 2_000, 4_000, 8_000] as const;

/** What persistence needs of a room. */
export interface PersistenceHost {
  /** How many bytes are not stored yet. */
  pendingBytes(): number;
  /** Stores what is pending; false when nothing was. Throws when it fails. */
  flush(): boolean;
  /** Something was stored. */
  onFlushed(): void;
  onFlushFailed(error: unknown, attempt: number): void;
  /** Writing failed too often: the instance is to be given up. */
  onGiveUp(error: unknown): void;
}

/** The flush timer of a room. A pending timer keeps the object awake; none is left when nothing is pending. */
export class Persistence {
  readonly #host: PersistenceHost;
  readonly #options: PersistenceOptions;
  readonly #flushLater: ReturnType<typeof debounce<() => void>>;
  #attempts = 0;
  #isSuspended = false;
  #retry: ReturnType<typeof setTimeout> | null = null;

  constructor(host: PersistenceHost, options: PersistenceOptions) {
    this.#host = host;
    this.#options = options;
    this.#flushLater = debounce(() => this.flush(), options.flushWaitMs, {
      maxWait: options.flushMaxWaitMs,
    });
  }

  /** Nothing is stored until {@link resume}. */
  suspend(): void {
    this.#isSuspended = true;
    this.cancel();
  }

  resume(): void {
    this.#isSuspended = false;
  }

  /** Something became pending. */
  schedule(): void {
    if (this.#isSuspended) return;
    // A retry is on its way: it takes everything along.
    if (this.#retry !== null) return;
    if (this.#host.pendingBytes() >= this.#options.maxPendingBytes) this.flush();
    else this.#flushLater();
  }

  /** Flushes now. What fails is tried again. */
  flush(): void {
    try {
      this.flushOrThrow();
    } catch {
      // It was reported, and a retry is on its way.
    }
  }

  /** Flushes now. @throws what SQLite throws; it is tried again all the same */
  flushOrThrow(): void {
    if (this.#isSuspended) return;
    let stored: boolean;
    try {
      stored = this.#host.flush();
    } catch (error) {
      this.#handleFailure(error);
      throw error;
    }
    this.cancel();
    this.#attempts = 0;
    if (stored) this.#host.onFlushed();
  }

  /** Stops every timer. */
  cancel(): void {
    this.#flushLater.cancel();
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
  }

  #handleFailure(error: unknown): void {
    this.#flushLater.cancel();
    this.#host.onFlushFailed(error, this.#attempts + 1);
    // One that was asked for in between, perhaps many times in a moment, leaves the budget alone.
    if (this.#retry === null)
      this.#retry = setTimeout(() => this.#tryAgain(error), retryWaitsMs[this.#attempts]);
  }

  #tryAgain(cause: unknown): void {
    this.#retry = null;
    this.#attempts++;
    if (this.#attempts < retryWaitsMs.length) this.flush();
    else this.#host.onGiveUp(cause);
  }
}
