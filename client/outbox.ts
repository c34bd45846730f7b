// What the room has not said is saved. Numbers what is sent, and keeps all of it until it is acknowledged: nothing else
// lets go of it, since a state vector of the room also covers what a crash can still take.
import { UpdateBatch } from "./update-batch.js";

/** The unsaved work of one document, over all connections. */
export class Outbox {
  /**
   * Whether the document may hold more that is unsaved than what is in here: it was not compared with the room's yet, or
   * the room misses something.
   */
  needsWhole = true;
  readonly #unsent = new UpdateBatch();
  /** By number, in order; null for what would be sent again anyway. */
  readonly #sent = new Map<number, Uint8Array | null>();
  #number = 0;
  /** The latest number under which all of the document was sent; 0 for none on this line. */
  #wholeNumber = 0;

  /** Whether nothing is known to be unsaved. */
  get isEmpty(): boolean {
    return this.#unsent.isEmpty && this.#sent.size === 0;
  }

  /** Adds a V1 update that was made here, or in another tab. */
  add(update: Uint8Array): void {
    this.#unsent.add(update);
  }

  /** A new line: it counts from 1, and what was sent on the old one is to be sent again. */
  restart(): void {
    const updates = [...this.#sent.values(), this.take()];
    this.#sent.clear();
    this.#number = this.#wholeNumber = 0;
    for (const update of updates) if (update !== null) this.add(update);
  }

  /** What is to be sent next, merged; null for nothing. It is to be given a number. */
  take(): Uint8Array | null {
    return this.#unsent.take();
  }

  /** The number for an update that is sent now. */
  number(update: Uint8Array | null): number {
    this.#sent.set(++this.#number, update);
    return this.#number;
  }

  /** The number for all that the document holds and the room lacks, which includes `unsent`. */
  numberWhole(unsent: Uint8Array | null): number {
    this.needsWhole = true;
    return (this.#wholeNumber = this.number(unsent));
  }

  /** All up to `number` is stored. @throws RangeError when no such number was given out */
  acknowledge(number: number): void {
    if (number > this.#number) throw new RangeError("saved what was not sent");
    for (const sent of this.#sent.keys()) if (sent <= number) this.#settle(sent);
  }

  /** The update `number` was refused: it stays unsaved, and goes with what is sent next. */
  refuse(number: number): void {
    const update = this.#sent.get(number);
    this.#sent.delete(number);
    if (update) this.add(update);
  }

  /** Everything was sent to a server that does not say what it saves. */
  forget(): void {
    this.take();
    this.#sent.clear();
    this.needsWhole = true;
  }

  #settle(sent: number): void {
    this.#sent.delete(sent);
    if (sent === this.#wholeNumber) this.needsWhole = false;
  }
}
