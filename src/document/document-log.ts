// A document as a closed log: accepts updates, keeps what is not flushed yet, flushes it as one row, answers state
// vectors. No Y.Doc is built here. The byte work is in its neighbours, the rows are src/storage's; when to flush and
// whom to send to is decided by the room.
import { StorageError, type Database } from "../storage/database.js";
import { migrate, readMeta, type Meta } from "../storage/schema.js";
import { LogKind, UpdateLog, flushesIn, maxRowFlushes, type LogRow } from "../storage/update-log.js";
import { acceptUpdate } from "./accept.js";
import { addDeletes, countDeletes, type DeleteSet } from "./delete-set.js";
import { diffUpdate } from "./diff.js";
import { encodeUpdate, replaceDeletes } from "./normal-form.js";
import { scanUpdate, type ScannedUpdate } from "./scan.js";
import { emptyUpdate, spliceUpdates } from "./splice.js";
import {
  decodeClockRanges,
  encodeClockRanges,
  encodeStateVector,
  foldClocks,
  type ClockRange,
  type StateVector,
} from "./state-vector.js";
import { storedUpdateLimits, type UpdateLimits } from "./update-limits.js";

/** How an update reached the room. */
export interface UpdateSource {
  /** `step2` answers sync step 1 and brings the whole delete set of the sender: what is known is taken out first. */
  readonly kind: "update" | "step2";
  /** Who sent it; null when nobody is known. */
  readonly subject: string | null;
  readonly limits: UpdateLimits;
}

/** What became of an update. */
export interface AcceptedBytes {
  /** What was new, a V1 update that is closed over everything before it: to be relayed. Null when nothing was. */
  readonly update: Uint8Array | null;
  /** False when something was left out because what it builds on is not here: ask with sync step 1. */
  readonly complete: boolean;
}

/** A piece of the answer to sync step 1. The last one is of type `step2`. */
export interface AnswerPart {
  readonly type: "update" | "step2";
  /** A V1 update. */
  readonly update: Uint8Array;
}

/** The largest frame of deletes in an answer, in ranges; some 1 MiB. */
const maxDeletesPerFrame = 100_000;

/** The stored document of one room and what waits to be stored. */
export class DocumentLog {
  readonly #database: Database;
  readonly #log: UpdateLog;
  readonly #room: string;
  #meta: Meta | null;
  #vector: StateVector | null = null;
  /** Every known deletion; null until it is needed. */
  #deletes: DeleteSet | null = null;
  #pending: ScannedUpdate[] = [];
  #pendingBytes = 0;
  #pendingAuthors = new Map<number, string>();

  /**
   * Opens the log of `room`. Reads the `meta` row only, writes nothing.
   * @throws StorageError when what is stored cannot be understood
   */
  constructor(database: Database, room: string) {
    this.#database = database;
    this.#room = room;
    this.#meta = readMeta(database);
    this.#log = new UpdateLog(database);
  }

  /** Whether nothing was ever stored. */
  get isNew(): boolean {
    return this.#meta === null;
  }

  /** The `meta` row; null for a room in which nothing was ever stored. */
  get meta(): Meta | null {
    return this.#meta;
  }

  /** The sequence number of the last flush, 0 before the first. */
  get head(): number {
    return this.isNew ? 0 : this.#log.head;
  }

  /** How many bytes of accepted updates are not stored yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** The encoded state vector of everything accepted, stored or not. @throws StorageError */
  encodeStateVector(): Uint8Array {
    return encodeStateVector(this.#loadVector());
  }

  /**
   * Takes in an untrusted V1 update: keeps what is new and follows from what is here.
   * @throws ProtocolError when it breaks a rule (4400) or a limit (4413); nothing was changed then
   * @throws StorageError
   */
  accept(bytes: Uint8Array, source: UpdateSource): AcceptedBytes {
    const scanned = scanUpdate(bytes, { limits: source.limits });
    const vector = this.#loadVector();
    const known = source.kind === "step2" ? this.#loadDeletes() : this.#deletes;
    const { fresh, complete } = acceptUpdate(scanned, vector, known);
    if (fresh === null) return { update: null, complete };
    for (const { client, end } of fresh.sections) {
      vector.set(client, Math.max(end, vector.get(client) ?? 0));
      if (source.subject === null || this.#pendingAuthors.has(client)) continue;
      this.#pendingAuthors.set(client, source.subject);
    }
    if (this.#deletes !== null) addDeletes(this.#deletes, fresh.deletes);
    this.#pending.push(fresh);
    this.#pendingBytes += fresh.bytes.byteLength;
    return { update: fresh.bytes, complete };
  }

  /**
   * Whether an update would change anything or is incomplete; changes nothing.
   * @throws ProtocolError as {@link accept} does
   */
  isNews(bytes: Uint8Array, limits: UpdateLimits): boolean {
    const scanned = scanUpdate(bytes, { limits });
    const { fresh, complete } = acceptUpdate(scanned, this.#loadVector(), this.#loadDeletes());
    return fresh !== null || !complete;
  }

  /**
   * Stores what is pending as one flush, in one transaction. Returns whether there was anything. When it throws,
   * nothing was stored and everything is still pending.
   */
  flush(): boolean {
    if (this.#pending.length === 0) return false;
    const batch = joinUpdates(this.#pending);
    let meta = this.#meta;
    try {
      this.#database.transaction(() => {
        meta = migrate(this.#database, this.#room, meta);
        const seq = this.#appendBatch(batch);
        this.#storeAuthors(seq);
      });
    } catch (error) {
      this.#log.reset();
      throw error;
    }
    this.#meta = meta;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#pendingAuthors.clear();
    return true;
  }

  /** Forgets what is pending. */
  discardPending(): void {
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#pendingAuthors.clear();
    this.#vector = null;
    this.#deletes = null;
  }

  /** The whole document as V1 updates, in an order in which each follows from those before it. @throws StorageError */
  *updates(): Generator<Uint8Array, void> {
    for (const row of this.#rows()) yield* this.#log.readFrames(row);
    if (this.#pending.length > 0) yield spliceUpdates(this.#pending);
  }

  /**
   * Everything that somebody with state vector `vector` lacks. An empty vector gets the rows as they are stored;
   * any other gets what it does not cover and all known deletions. Whoever has everything up to the sequence number
   * `cursor` (0 for none) gets what came after it.
   * @throws StorageError
   */
  *answer(vector: ReadonlyMap<number, number>, cursor = 0): Generator<AnswerPart, void> {
    if (cursor > 0 && cursor <= this.head) {
      yield* this.#answerAfter(cursor, vector);
      return;
    }
    if (vector.size === 0) {
      for (const update of this.updates()) yield { type: "update", update };
      yield { type: "step2", update: emptyUpdate };
      return;
    }
    for (const row of this.#rows()) {
      if (covers(vector, decodeRanges(row.clocks))) continue;
      for (const frame of this.#log.readFrames(row)) yield* difference(scanStored(frame), vector);
    }
    for (const update of this.#pending) yield* difference(update, vector);
    const pieces = [...encodeDeletePieces(this.#loadDeletes())];
    for (const update of pieces.slice(0, -1)) yield { type: "update", update };
    yield { type: "step2", update: pieces.at(-1) ?? emptyUpdate };
  }

  *#answerAfter(cursor: number, vector: ReadonlyMap<number, number>): Generator<AnswerPart, void> {
    const missed = [...this.#framesAfter(cursor)].map(scanStored);
    for (const update of [...missed, ...this.#pending]) {
      const structs = diffUpdate(update, vector) ?? emptyUpdate;
      const rest = replaceDeletes(scanStored(structs), update.deletes);
      if (rest.sections.length > 0 || rest.deletes.size > 0) yield { type: "update", update: rest.bytes };
    }
    yield { type: "step2", update: emptyUpdate };
  }

  /** The frames of all flushes after a sequence number, and of those that were folded with them. */
  *#framesAfter(cursor: number): Generator<Uint8Array, void> {
    for (const row of this.#rows()) {
      if (row.last <= cursor) continue;
      const frames = this.#log.readFrames(row);
      const known = frames.length === flushesIn(row) ? Math.max(0, cursor - row.seq + 1) : 0;
      yield* frames.slice(known);
    }
  }

  #rows(): readonly LogRow[] {
    return this.isNew ? [] : this.#log.rows;
  }

  #loadVector(): StateVector {
    if (this.#vector !== null) return this.#vector;
    const vector: StateVector = new Map();
    for (const row of this.#rows()) foldClocks(vector, decodeRanges(row.clocks));
    return (this.#vector = vector);
  }

  #loadDeletes(): DeleteSet {
    if (this.#deletes !== null) return this.#deletes;
    const deletes: DeleteSet = new Map();
    for (const row of this.#rows()) {
      if (row.deletes === 0) continue;
      for (const frame of this.#log.readFrames(row)) addDeletes(deletes, scanStored(frame).deletes);
    }
    for (const update of this.#pending) addDeletes(deletes, update.deletes);
    return (this.#deletes = deletes);
  }

  #appendBatch(batch: ScannedUpdate): number {
    const kind = LogKind.update;
    const row = this.#log.openRow(kind, batch.bytes.byteLength);
    if (row === null) {
      this.#closeNewest();
      const entry = toEntry(batch, clockRanges(batch));
      return this.#log.append({ kind, ...entry });
    }
    const ranges = joinRanges(decodeRanges(row.clocks), clockRanges(batch));
    if (flushesIn(row) + 1 < maxRowFlushes) {
      return this.#log.appendTo(row, { kind, ...toEntry(batch, ranges) });
    }
    const last = row.last + 1;
    const folded = joinUpdates([...this.#log.readFrames(row).map(scanStored), batch]);
    this.#log.rewriteNewest({ kind, last, ...toEntry(folded, ranges) });
    return last;
  }

  /** A row that gets no more frames is folded, so that a join sends it as one. */
  #closeNewest(): void {
    const row = this.#log.rows.at(-1);
    if (row === undefined || row.frames === 1) return;
    const folded = joinUpdates(this.#log.readFrames(row).map(scanStored));
    const entry = toEntry(folded, decodeRanges(row.clocks));
    this.#log.rewriteNewest({ kind: row.kind, last: row.last, ...entry });
  }

  #storeAuthors(seq: number): void {
    for (const [client, subject] of this.#pendingAuthors) {
      this.#database.run(
        "INSERT OR IGNORE INTO dormouse_authors (client, subject, first_seq) VALUES (?, ?, ?)",
        client,
        subject,
        seq,
      );
    }
  }
}

function toEntry(
  update: ScannedUpdate,
  ranges: readonly ClockRange[],
): { frame: Uint8Array; deletes: number; clocks: Uint8Array } {
  return {
    frame: update.bytes,
    deletes: countDeletes(update.deletes),
    clocks: encodeClockRanges(ranges),
  };
}

/** Scans bytes that passed the scan before they were stored. @throws StorageError when they are damaged */
function scanStored(bytes: Uint8Array): ScannedUpdate {
  try {
    return scanUpdate(bytes, { limits: storedUpdateLimits });
  } catch (error) {
    throw new StorageError("A stored update is damaged.", { cause: error });
  }
}

/** @throws StorageError when they are damaged */
function decodeRanges(clocks: Uint8Array): ClockRange[] {
  try {
    return decodeClockRanges(clocks);
  } catch (error) {
    throw new StorageError("The clocks of a row are damaged.", { cause: error });
  }
}

function joinUpdates(updates: readonly ScannedUpdate[]): ScannedUpdate {
  const [first] = updates;
  return first !== undefined && updates.length === 1 ? first : scanStored(spliceUpdates(updates));
}

function* difference(
  update: ScannedUpdate,
  vector: ReadonlyMap<number, number>,
): Generator<AnswerPart, void> {
  const missing = diffUpdate(update, vector);
  if (missing !== null) yield { type: "update", update: missing };
}

/** All deletions as updates without structs, in pieces of at most {@link maxDeletesPerFrame} ranges. */
function* encodeDeletePieces(deletes: DeleteSet): Generator<Uint8Array, void> {
  let piece: DeleteSet = new Map();
  let size = 0;
  for (const [client, ranges] of deletes) {
    for (let from = 0; from < ranges.length;) {
      const take = Math.min(ranges.length - from, 2 * (maxDeletesPerFrame - size));
      piece.set(client, ranges.slice(from, from + take));
      from += take;
      size += take / 2;
      if (size < maxDeletesPerFrame) continue;
      yield encodeUpdate([], piece);
      piece = new Map();
      size = 0;
    }
  }
  if (size > 0) yield encodeUpdate([], piece);
}

function covers(vector: ReadonlyMap<number, number>, ranges: readonly ClockRange[]): boolean {
  return ranges.every(([client, , to]) => (vector.get(client) ?? 0) >= to);
}

function clockRanges(update: ScannedUpdate): ClockRange[] {
  return update.sections.map(({ client, clock, end }) => [client, clock, end]);
}

/** In a closed log the ranges of one client follow each other. */
function joinRanges(first: readonly ClockRange[], then: readonly ClockRange[]): ClockRange[] {
  const joined = new Map(first.map((range) => [range[0], range]));
  for (const [client, from, to] of then) {
    joined.set(client, [client, joined.get(client)?.[1] ?? from, to]);
  }
  return [...joined.values()];
}
