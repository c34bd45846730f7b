// The log of a room as the byte work means it, without storage: rows of updates, a vector and the known deletes. An oracle
// for whatever keeps the same in a database.
import * as prng from "lib0/prng";
import { acceptUpdate } from "../../src/document/accept.js";
import {
  addDeletes,
  decodeDeletes,
  encodeDeletes,
  mergeDeletes,
  type DeleteSet,
} from "../../src/document/delete-set.js";
import { diffUpdate } from "../../src/document/diff.js";
import { encodeUpdate } from "../../src/document/normal-form.js";
import { scanUpdate, type ScannedUpdate } from "../../src/document/scan.js";
import { spliceUpdates } from "../../src/document/splice.js";
import {
  decodeClockRanges,
  decodeStateVector,
  encodeClockRanges,
  encodeStateVector,
  foldClocks,
  type ClockRange,
  type StateVector,
} from "../../src/document/state-vector.js";
import { defaultUpdateLimits, storedUpdateLimits } from "../../src/document/update-limits.js";
import type { LogUnderTest } from "./random-history.js";

interface Row {
  readonly bytes: Uint8Array;
  readonly clocks: Uint8Array;
}

/** A closed log in memory. */
export class ModelLog implements LogUnderTest {
  readonly rows: Row[] = [];
  readonly #foldAt: number;
  #batch: ScannedUpdate[] = [];
  #vector: StateVector = new Map();
  /** Null until a step 2 needs them, as after a wake. */
  #deletes: DeleteSet | null = new Map();

  /** `foldAt` rows at the end are spliced into one. */
  constructor(foldAt = 64) {
    this.#foldAt = foldAt;
  }

  /** Everything, as updates in order. */
  get updates(): Uint8Array[] {
    return [...this.rows, ...this.#batch].map(({ bytes }) => bytes);
  }

  receive(update: Uint8Array, kind: "update" | "step2"): { relay: Uint8Array | null; complete: boolean } {
    const scanned = scanUpdate(update, { limits: defaultUpdateLimits });
    if (kind === "step2") this.#deletes ??= this.#readDeletes();
    const { fresh, complete } = acceptUpdate(scanned, this.#vector, this.#deletes);
    if (fresh === null) return { relay: null, complete };
    for (const { client, end } of fresh.sections) this.#vector.set(client, end);
    if (this.#deletes !== null) addDeletes(this.#deletes, fresh.deletes);
    this.#batch.push(fresh);
    return { relay: fresh.bytes, complete };
  }

  stateVector(): Uint8Array {
    return encodeStateVector(this.#vector);
  }

  answer(vector: Uint8Array): Uint8Array[] {
    const known = decodeStateVector(vector);
    if (known.size === 0) return this.updates;
    const answer: Uint8Array[] = [];
    for (const update of this.updates) {
      const diff = diffUpdate(scanStored(update), known);
      if (diff !== null) answer.push(diff);
    }
    answer.push(encodeUpdate([], this.#readDeletes()));
    return answer;
  }

  rest(random: prng.PRNG): void {
    this.flush();
    if (prng.bool(random)) this.#sleep();
  }

  flush(): void {
    if (this.#batch.length === 0) return;
    this.rows.push(createRow(spliceUpdates(this.#batch)));
    this.#batch = [];
    if (this.rows.length < this.#foldAt) return;
    const tail = this.rows.splice(-this.#foldAt).map(({ bytes }) => scanStored(bytes));
    this.rows.push(createRow(spliceUpdates(tail)));
  }

  /** Forgets everything but the rows. */
  #sleep(): void {
    this.#vector = new Map();
    for (const { clocks } of this.rows) {
      if (!foldClocks(this.#vector, decodeClockRanges(clocks)))
        throw new Error("a row does not continue the log");
    }
    this.#deletes = null;
  }

  #readDeletes(): DeleteSet {
    const deletes = mergeDeletes(this.updates.map((update) => scanStored(update).deletes));
    return decodeDeletes(encodeDeletes(deletes));
  }
}

function createRow(bytes: Uint8Array): Row {
  const scanned = scanStored(bytes);
  if (scanned.bytes !== bytes) throw new Error("a row is not in normal form");
  if (scanned.hasSkip) throw new Error("a row has a gap");
  const clocks = scanned.sections.map(({ client, clock, end }): ClockRange => [client, clock, end]);
  return { bytes, clocks: encodeClockRanges(clocks) };
}

function scanStored(bytes: Uint8Array): ScannedUpdate {
  return scanUpdate(bytes, { limits: storedUpdateLimits });
}
