// What is known of an update once it was scanned. Only src/document/scan.ts makes these from bytes of a peer; the others
// derive new ones from them.
import type { ReadonlyDeleteSet } from "./delete-set.js";

/** The structs of one client in an update. */
export interface Section {
  readonly client: number;
  /** Where its first struct begins. */
  readonly clock: number;
  /** Where its last struct ends, exclusive. */
  readonly end: number;
  /** How many structs it has, Skips included. */
  readonly structs: number;
  /** Byte offset of its header. */
  readonly pos: number;
  /** Byte offset of its first struct. */
  readonly from: number;
  /** Byte offset behind its last struct. */
  readonly to: number;
  /** The clocks it has, `[start, end, …]`, when Skips leave gaps in them; else null. */
  readonly ranges: readonly number[] | null;
}

/**
 * What a scan found. `bytes` is a V1 update in normal form: each client once, descending; no empty section, no Skip first
 * or last in one; deletes sorted, disjoint and joined, clients descending.
 */
export interface ScannedUpdate {
  readonly bytes: Uint8Array;
  readonly sections: readonly Section[];
  readonly deletes: ReadonlyDeleteSet;
  /** The clocks of structs whose content is gone (GC and ContentDeleted). */
  readonly dead: ReadonlyDeleteSet;
  /** Per client the highest clock plus one that structs of *other* clients refer to. */
  readonly references: ReadonlyMap<number, number>;
  /** Byte offset of the delete set. */
  readonly deletesFrom: number;
  /** How many structs all sections have together. */
  readonly structs: number;
  /** The names of the root types that structs are put into directly. */
  readonly roots: ReadonlySet<string>;
  readonly subdocuments: number;
  /** Whether a section has gaps. */
  readonly hasSkip: boolean;
}
