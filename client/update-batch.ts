// Updates that are kept to be sent together. Merging each new one into all before would cost more with each edit of a day
// offline; so they are merged in groups, and groups of groups.
import { mergeUpdates } from "yjs";

/** So many of a rank are merged into one of the next. */
const groupSize = 32;

/** Updates in the order in which they were made. */
export class UpdateBatch {
  #updates: Uint8Array[] = [];
  #ranks: number[] = [];

  get isEmpty(): boolean {
    return this.#updates.length === 0;
  }

  /** Adds a V1 update. */
  add(update: Uint8Array, rank = 0): void {
    this.#updates.push(update);
    this.#ranks.push(rank);
    if (this.#ranks.at(-groupSize) !== rank) return;
    this.#ranks.splice(-groupSize);
    this.add(mergeUpdates(this.#updates.splice(-groupSize)), rank + 1);
  }

  /** Everything as one V1 update; null when there is nothing. Nothing is left. */
  take(): Uint8Array | null {
    if (this.isEmpty) return null;
    this.#ranks = [];
    return mergeUpdates(this.#updates.splice(0));
  }
}
