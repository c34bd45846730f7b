// The tail of a document as rows of bytes. Owns how flushes are laid out in the `log` table: frames in an open row,
// parts above the size of a row, sequence numbers. It does not know what an update means; src/document does.
//
// A flush is one row written: its frame is appended to the newest row (`body || frame`). SQLite bills each deleted row
// as a written one, so keeping a row per flush and folding 64 of them into one would cost twice as many.
import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import {
  StorageError,
  blobColumn,
  integerColumn,
  maxBlobBytes,
  type Database,
  type SqlRow,
} from "./database.js";

/** What an entry of the log is. */
export const LogKind = {
  /** A V1 update. */
  update: 0,
} as const;
export type LogKind = (typeof LogKind)[keyof typeof LogKind];

/** A row closes when it holds this many flushes, and is then folded: a join is some tens of frames, whatever the history. */
export const maxRowFlushes = 64;
/** A row that holds more than one frame stays below this size, in bytes: appending rewrites the whole row. */
export const maxOpenRowBytes = 65_536;

/** What is known of a row without reading its body. */
export interface LogRow {
  /** The sequence number of its first flush. */
  readonly seq: number;
  /** The sequence number of its last flush. */
  readonly last: number;
  readonly kind: LogKind;
  /** How many frames the body holds: one per flush, or one for all of them after a fold. */
  readonly frames: number;
  /** How many delete ranges its updates have together. */
  readonly deletes: number;
  /** The encoded clock ranges of its structs (src/document/state-vector.ts). */
  readonly clocks: Uint8Array;
}

/** One flush. */
export interface LogEntry {
  readonly kind: LogKind;
  readonly frame: Uint8Array;
  readonly deletes: number;
  /** The encoded clock ranges of the row after this flush. */
  readonly clocks: Uint8Array;
}

/** The rows of the tail, oldest first. To be used inside a transaction where it writes. */
export class UpdateLog {
  readonly #database: Database;
  #rows: LogRow[] | null = null;
  /** The size of the newest row's body, in bytes. */
  #openBytes = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The rows without their bodies, oldest first. Read once, then kept. @throws StorageError */
  get rows(): readonly LogRow[] {
    return this.#loadedRows();
  }

  /** The sequence number of the newest entry, 0 when there is none. */
  get head(): number {
    return this.rows.at(-1)?.last ?? 0;
  }

  /** The newest row, if another frame of `bytes` bytes fits into it. */
  openRow(kind: LogKind, bytes: number): LogRow | null {
    const row = this.rows.at(-1);
    if (row === undefined || row.kind !== kind) return null;
    // A batch has no more bytes of clocks than it has in all.
    const size = Math.max(this.#openBytes, row.clocks.byteLength) + bytes;
    return flushesIn(row) < maxRowFlushes && size <= maxOpenRowBytes ? row : null;
  }

  /** The frames of a row, oldest first. @throws StorageError when the body cannot be read */
  readFrames(row: LogRow): Uint8Array[] {
    const parts = this.#database.run("SELECT body FROM dormouse_log WHERE seq = ? ORDER BY part", row.seq);
    const body = concatenate(parts.map((part) => blobColumn(part, "body")));
    try {
      return readFrameList(body, row.frames);
    } catch (error) {
      throw new StorageError(`Row ${row.seq} of the log is damaged.`, { cause: error });
    }
  }

  /** Appends a flush as a row of its own. Returns its sequence number. */
  append(entry: LogEntry): number {
    const seq = this.head + 1;
    const row = { seq, last: seq, frames: 1, ...withoutFrame(entry) };
    this.#writeRow(row, encodeFrame(entry.frame));
    this.#loadedRows().push(row);
    return seq;
  }

  /** Appends a flush to `row`, which `openRow` returned. One row written. Returns its sequence number. */
  appendTo(row: LogRow, entry: LogEntry): number {
    const bytes = encodeFrame(entry.frame);
    const next: LogRow = {
      ...row,
      last: row.last + 1,
      frames: row.frames + 1,
      deletes: row.deletes + entry.deletes,
      clocks: entry.clocks,
    };
    // The result of || is text to SQLite, also for blobs: CAST makes it a blob again, byte for byte.
    this.#database.run(
      `UPDATE dormouse_log SET last = ?, frames = ?, deletes = ?, clocks = ?, body = CAST(body || ? AS BLOB)
       WHERE seq = ? AND part = 0`,
      next.last,
      next.frames,
      next.deletes,
      next.clocks,
      bytes,
      row.seq,
    );
    this.#replaceNewest(next);
    this.#openBytes += bytes.byteLength;
    return next.last;
  }

  /** Rewrites the newest row as one frame that says the same, `entry.last` included. One row written. */
  rewriteNewest(entry: LogEntry & { readonly last: number }): void {
    const newest = this.rows.at(-1);
    if (newest === undefined) throw new RangeError("The log has no row to rewrite.");
    const { kind, deletes, clocks, last } = entry;
    const bytes = encodeFrame(entry.frame);
    this.#database.run(
      "UPDATE dormouse_log SET last = ?, frames = 1, deletes = ?, clocks = ?, body = ? WHERE seq = ? AND part = 0",
      last,
      deletes,
      clocks,
      bytes,
      newest.seq,
    );
    this.#replaceNewest({ seq: newest.seq, last, kind, frames: 1, deletes, clocks });
    this.#openBytes = bytes.byteLength;
  }

  /** Forgets what was read: to be called when a transaction that wrote was undone. */
  reset(): void {
    this.#rows = null;
  }

  #loadedRows(): LogRow[] {
    return (this.#rows ??= this.#readRows());
  }

  #readRows(): LogRow[] {
    const rows: LogRow[] = [];
    for (const stored of this.#database.run(
      `SELECT seq, part, last, kind, frames, deletes, clocks FROM dormouse_log
       WHERE part = 0 OR clocks IS NOT NULL ORDER BY seq, part`,
    )) {
      const before = integerColumn(stored, "part") > 0 ? rows.pop() : undefined;
      const row = parseRow(stored);
      rows.push(before === undefined ? row : { ...row, clocks: concatenate([before.clocks, row.clocks]) });
    }
    const newest = rows.at(-1);
    if (newest === undefined) return rows;
    const size = this.#database.run(
      "SELECT SUM(LENGTH(body)) AS bytes FROM dormouse_log WHERE seq = ?",
      newest.seq,
    )[0];
    this.#openBytes = size === undefined ? 0 : integerColumn(size, "bytes");
    return rows;
  }

  #writeRow(row: LogRow, body: Uint8Array): void {
    const clocks = cut(row.clocks);
    const bodies = cut(body);
    for (let part = 0; part < Math.max(clocks.length, bodies.length); part++) {
      this.#database.run(
        "INSERT INTO dormouse_log (seq, part, kind, last, frames, deletes, clocks, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        row.seq,
        part,
        row.kind,
        row.last,
        row.frames,
        row.deletes,
        clocks[part] ?? null,
        bodies[part] ?? new Uint8Array(),
      );
    }
    this.#openBytes = body.byteLength;
  }

  #replaceNewest(row: LogRow): void {
    const rows = this.#loadedRows();
    rows[rows.length - 1] = row;
  }
}

/** How many flushes a row holds, folded or not. */
export function flushesIn(row: LogRow): number {
  return row.last - row.seq + 1;
}

function withoutFrame(entry: LogEntry): Omit<LogEntry, "frame"> {
  return { kind: entry.kind, deletes: entry.deletes, clocks: entry.clocks };
}

function parseRow(row: SqlRow): LogRow {
  const kind = integerColumn(row, "kind");
  if (kind !== LogKind.update) throw new StorageError(`The log has an entry of unknown kind ${kind}.`);
  return {
    seq: integerColumn(row, "seq"),
    last: integerColumn(row, "last"),
    kind,
    frames: integerColumn(row, "frames"),
    deletes: integerColumn(row, "deletes"),
    clocks: blobColumn(row, "clocks"),
  };
}

/** `varUint8Array`: the length as a varint, then the bytes. */
function encodeFrame(frame: Uint8Array): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint8Array(encoder, frame);
  return encoding.toUint8Array(encoder);
}

function readFrameList(body: Uint8Array, count: number): Uint8Array[] {
  const decoder = decoding.createDecoder(body);
  const frames: Uint8Array[] = [];
  for (let i = 0; i < count; i++) {
    const length = decoding.readVarUint(decoder);
    if (length > body.byteLength - decoder.pos) throw new Error("A frame is longer than its row.");
    frames.push(decoding.readUint8Array(decoder, length));
  }
  if (decoder.pos !== body.byteLength) throw new Error("A row is longer than its frames.");
  return frames;
}

/** Pieces that fit into a row; one at least. */
function cut(bytes: Uint8Array): Uint8Array[] {
  const pieces = [bytes.subarray(0, maxBlobBytes)];
  for (let at = maxBlobBytes; at < bytes.byteLength; at += maxBlobBytes) {
    pieces.push(bytes.subarray(at, at + maxBlobBytes));
  }
  return pieces;
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (first === undefined) throw new StorageError("A row of the log is missing.");
  if (parts.length === 1) return first;
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.byteLength;
  }
  return result;
}
