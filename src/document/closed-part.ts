// The part of an update that can be stored: per client the longest run of structs that continues what is known and whose
// references are known, by then, too. Works like Yjs's own integration, with a stack of clients that wait for each other,
// but reads structs where they lie; each is read once, and once more for each reference that it had to wait for.
import * as decoding from "lib0/decoding";
import type { StructBlock } from "./normal-form.js";
import type { ScannedUpdate, Section } from "./scanned-update.js";
import { sliceStruct } from "./slice-struct.js";
import type { ReadonlyStateVector } from "./state-vector.js";
import { createStruct, readStruct, StructKind, type StructView } from "./struct-reader.js";
import { storedUpdateLimits } from "./update-limits.js";

/** What of an update follows from a state vector. */
export interface ClosedPart {
  /** The structs that are new and follow, per client, in the order of the update. */
  readonly groups: StructBlock[][];
  /** For each client in the update the clock that is known with these structs. */
  readonly reached: ReadonlyMap<number, number>;
  /** Whether `groups` are all structs of the update. */
  readonly isWhole: boolean;
  /** Whether all structs that are not in `groups` were known before. */
  readonly isComplete: boolean;
}

/** Finds the closed part of `update` over `vector`. */
export function closedPart(update: ScannedUpdate, vector: ReadonlyStateVector): ClosedPart {
  const search = new ClosedPartSearch(update, vector);
  search.run();
  const groups: StructBlock[][] = [];
  const reached = new Map<number, number>();
  let isWhole = true;
  let isComplete = true;
  for (const cursor of search.cursors.values()) {
    const group = keptBlocks(update.bytes, cursor);
    if (group.length > 0) groups.push(group);
    reached.set(cursor.section.client, cursor.reached);
    if (cursor.left > 0) isComplete = false;
    if (cursor.kept < cursor.section.structs || cursor.head !== null) isWhole = false;
  }
  return { groups, reached, isWhole, isComplete };
}

/** How far a section was read. */
interface Cursor {
  readonly section: Section;
  /** Where the next struct begins, in bytes and in clocks. */
  pos: number;
  clock: number;
  /** How many structs are left. */
  left: number;
  /** Up to which clock the client is known. */
  reached: number;
  /** What was cut off a struct that was known in part. */
  head: StructBlock | null;
  /** The whole structs that are kept: how many, and where they begin. */
  kept: number;
  keptFrom: number;
  keptClock: number;
  /** The clock that a client below on the stack waits for. */
  goal: number;
  isOnStack: boolean;
  isStuck: boolean;
}

function createCursor(section: Section, known: number): Cursor {
  return {
    section,
    pos: section.from,
    clock: section.clock,
    left: section.structs,
    reached: known,
    head: null,
    kept: 0,
    keptFrom: 0,
    keptClock: 0,
    goal: Infinity,
    isOnStack: false,
    isStuck: false,
  };
}

function keptBlocks(bytes: Uint8Array, cursor: Cursor): StructBlock[] {
  const blocks: StructBlock[] = [];
  if (cursor.head !== null) blocks.push(cursor.head);
  if (cursor.kept > 0) {
    blocks.push({
      client: cursor.section.client,
      clock: cursor.keptClock,
      end: cursor.clock,
      structs: cursor.kept,
      bytes,
      from: cursor.keptFrom,
      to: cursor.pos,
    });
  }
  return blocks;
}

class ClosedPartSearch {
  readonly cursors = new Map<number, Cursor>();
  readonly #decoder: decoding.Decoder;
  readonly #vector: ReadonlyStateVector;
  readonly #struct = createStruct();
  /** What the last struct that could not be kept waits for. */
  #missing = { client: -1, clock: 0 };

  constructor(update: ScannedUpdate, vector: ReadonlyStateVector) {
    this.#decoder = decoding.createDecoder(update.bytes);
    this.#vector = vector;
    for (const section of update.sections) {
      this.cursors.set(section.client, createCursor(section, vector.get(section.client) ?? 0));
    }
  }

  run(): void {
    for (const cursor of this.cursors.values()) {
      if (!cursor.isStuck) this.#runWithWhatItNeeds(cursor);
    }
  }

  #runWithWhatItNeeds(root: Cursor): void {
    const stack: Cursor[] = [];
    for (let top: Cursor | undefined = push(stack, root, Infinity); top !== undefined; top = stack.at(-1)) {
      if (this.#advance(top)) {
        top.isOnStack = false;
        stack.pop();
        continue;
      }
      const needed = this.cursors.get(this.#missing.client);
      if (needed === undefined || needed.isStuck || needed.isOnStack) {
        // not in the update, or waiting in a circle: nobody on the stack will ever go on
        for (const cursor of stack) cursor.isStuck = true;
        return;
      }
      push(stack, needed, this.#missing.clock + 1);
    }
  }

  /** Keeps structs up to the goal, or to the end if there is none. False when it is stopped before by `#missing`. */
  #advance(cursor: Cursor): boolean {
    const known = this.#vector.get(cursor.section.client) ?? 0;
    while (cursor.left > 0 && cursor.reached < cursor.goal) {
      this.#decoder.pos = cursor.pos;
      readStruct(this.#decoder, this.#struct, cursor.section.client, cursor.clock, storedUpdateLimits);
      const isNew = cursor.clock + this.#struct.length > known;
      if (isNew && !this.#follows(cursor, this.#struct)) return false;
      if (isNew) this.#keep(cursor, this.#struct);
      cursor.pos = this.#struct.to;
      cursor.clock += this.#struct.length;
      cursor.left--;
    }
    if (cursor.reached >= cursor.goal || cursor.goal === Infinity) return true;
    this.#missing.client = -1;
    return false;
  }

  #follows(cursor: Cursor, struct: StructView): boolean {
    this.#missing.client = -1;
    if (struct.kind === StructKind.skip || struct.clock > cursor.reached) return false;
    return (
      this.#isKnown(struct.originClient, struct.originClock) &&
      this.#isKnown(struct.rightClient, struct.rightClock) &&
      this.#isKnown(struct.parentClient, struct.parentClock)
    );
  }

  #isKnown(client: number, clock: number): boolean {
    if (client < 0) return true;
    const cursor = this.cursors.get(client);
    const known = cursor === undefined ? (this.#vector.get(client) ?? 0) : cursor.reached;
    if (clock < known) return true;
    this.#missing.client = client;
    this.#missing.clock = clock;
    return false;
  }

  #keep(cursor: Cursor, struct: StructView): void {
    const end = struct.clock + struct.length;
    if (struct.clock < cursor.reached) {
      cursor.head = sliceStruct(this.#decoder.arr, struct, cursor.reached);
    } else {
      if (cursor.kept === 0) {
        cursor.keptFrom = struct.from;
        cursor.keptClock = struct.clock;
      }
      cursor.kept++;
    }
    cursor.reached = end;
  }
}

function push(stack: Cursor[], cursor: Cursor, goal: number): Cursor {
  cursor.goal = goal;
  cursor.isOnStack = true;
  stack.push(cursor);
  return cursor;
}
