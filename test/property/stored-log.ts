// The log of a room over a real SQLite, put behind the interface of random histories.
import * as prng from "lib0/prng";
import { expect } from "vitest";
import { DocumentLog } from "../../src/document/document-log.js";
import { decodeStateVector } from "../../src/document/state-vector.js";
import { defaultUpdateLimits } from "../../src/document/update-limits.js";
import type { Database, SqlRow } from "../../src/storage/database.js";
import { createMemoryDatabase } from "../support/sqlite-database.js";
import type { ReadableLog } from "./history-expectations.js";

/** A `DocumentLog` that rests, sleeps and has its writes fail. */
export class StoredLog implements ReadableLog {
  readonly #database = createMemoryDatabase();
  readonly #random: prng.PRNG;
  #failing = false;
  #log: DocumentLog = this.#open();

  constructor(random: prng.PRNG) {
    this.#random = random;
  }

  get updates(): Uint8Array[] {
    return [...this.#log.updates()];
  }

  receive(update: Uint8Array, kind: "update" | "step2"): { relay: Uint8Array | null; complete: boolean } {
    const accepted = this.#log.accept(update, { kind, subject: null, limits: defaultUpdateLimits });
    // Small flushes, so that rows fill up and are folded.
    if (accepted.update !== null && prng.int32(this.#random, 0, 3) > 0) this.store();
    return { relay: accepted.update, complete: accepted.complete };
  }

  stateVector(): Uint8Array {
    return this.#log.encodeStateVector();
  }

  answer(vector: Uint8Array): Uint8Array[] {
    return [...this.#log.answer(decodeStateVector(vector))].map(({ update }) => update);
  }

  rest(random: prng.PRNG): void {
    if (prng.int32(random, 0, 9) === 0) {
      this.#failing = true;
      if (this.#log.pendingBytes > 0) expect(() => this.#log.flush()).toThrow("disk full");
      this.#failing = false;
    }
    if (prng.bool(random)) this.store();
    if (this.#log.pendingBytes === 0 && prng.int32(random, 0, 3) === 0) this.wake();
  }

  store(): void {
    this.#log.flush();
  }

  /** Forgets everything but what is stored. */
  wake(): void {
    this.#log = this.#open();
  }

  rows(): SqlRow[] {
    return this.#database.run("SELECT seq, part, last, frames, hex(body) AS body FROM dormouse_log");
  }

  expectUnchangedSince(before: readonly SqlRow[]): void {
    expect(this.rows()).toEqual(before);
  }

  #open(): DocumentLog {
    return new DocumentLog(this.#faulty(this.#database), "room");
  }

  /** The database, whose transactions fail halfway when they are told to. */
  #faulty(database: Database): Database {
    return {
      usage: database.usage,
      run: (sql, ...bindings) => database.run(sql, ...bindings),
      transaction: (work) =>
        database.transaction(() => {
          const result = work();
          if (this.#failing) throw new Error("disk full");
          return result;
        }),
    };
  }
}
