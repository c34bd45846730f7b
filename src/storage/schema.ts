// The tables of a room and how they came to be: an append-only list of migrations, applied on the first write, so
// that a room that nobody wrote to has no table. The version is a column because the platform refuses
// `PRAGMA user_version`. The names have a prefix because an application has its own tables in the same database.
import { getRandomValues } from "lib0/webcrypto";
import { StorageError, integerColumn, textColumn } from "./database.js";
import type { Database, SqlRow } from "./database.js";

/**
 * Append only: a migration that has been released is never changed. Columns stand in the order in which they are
 * read: a blob that overflows its page is not touched when only the columns before it are asked for.
 */
const migrations: readonly (readonly string[])[] = [
  [
    // Who this room is. One row, rarely written.
    `CREATE TABLE dormouse_meta (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      schema INTEGER NOT NULL,
      room TEXT NOT NULL,
      state TEXT NOT NULL,
      generation INTEGER NOT NULL,
      epoch TEXT NOT NULL,
      created_at INTEGER NOT NULL
    )`,
    // The tail. A row holds the flushes `seq` to `last` as frames; update-log.ts says how.
    `CREATE TABLE dormouse_log (
      seq INTEGER NOT NULL,
      part INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      last INTEGER NOT NULL,
      frames INTEGER NOT NULL,
      deletes INTEGER NOT NULL,
      clocks BLOB,
      body BLOB NOT NULL,
      PRIMARY KEY (seq, part)
    ) WITHOUT ROWID`,
    // The base: valid updates of about 1 MiB in causal order, in one of two slots.
    `CREATE TABLE dormouse_segment (
      slot INTEGER NOT NULL,
      no INTEGER NOT NULL,
      part INTEGER NOT NULL,
      deletes INTEGER NOT NULL,
      clocks BLOB,
      body BLOB NOT NULL,
      PRIMARY KEY (slot, no, part)
    ) WITHOUT ROWID`,
    `CREATE TABLE dormouse_base (
      slot INTEGER PRIMARY KEY,
      seq INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      state_vector BLOB NOT NULL,
      delete_set BLOB NOT NULL
    )`,
    // Who wrote under which clientID.
    `CREATE TABLE dormouse_authors (
      client INTEGER PRIMARY KEY,
      subject TEXT NOT NULL,
      first_seq INTEGER NOT NULL
    )`,
    // Everything that shares the one alarm.
    `CREATE TABLE dormouse_timers (
      kind TEXT NOT NULL,
      key TEXT NOT NULL,
      due INTEGER NOT NULL,
      token TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      PRIMARY KEY (kind, key)
    ) WITHOUT ROWID`,
  ],
];

/** What the `meta` row says. */
export interface Meta {
  readonly room: string;
  readonly state: "live" | "destroying" | "deleted";
  /** Counts the lives of the document, from 1. */
  readonly generation: number;
  /** 32 hexadecimal digits, random: the name of this life for machines. */
  readonly epoch: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/**
 * Reads the `meta` row; null for a room in which nothing was ever stored. Writes nothing.
 * @throws StorageError when the row is damaged, or was written by a newer version of this code
 */
export function readMeta(database: Database): Meta | null {
  const tables = database.run(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'dormouse_meta'",
  );
  if (tables.length === 0) return null;
  const rows = database.run("SELECT schema, room, state, generation, epoch, created_at FROM dormouse_meta");
  const row = rows[0];
  if (row === undefined) throw new StorageError("The meta row is missing.");
  const schema = integerColumn(row, "schema");
  if (schema > migrations.length) {
    throw new StorageError(`The database has schema ${schema}, newer than ${migrations.length}.`);
  }
  if (schema < 1) throw new StorageError("The meta row has no valid schema version.");
  return parseMeta(row);
}

/**
 * Brings the tables to the newest schema and writes the `meta` row if there is none. To be called in the transaction
 * of the first write. Returns the row.
 */
export function migrate(database: Database, room: string, meta: Meta | null): Meta {
  const from = meta === null ? 0 : integerColumn(readSchema(database), "schema");
  for (const statements of migrations.slice(from)) {
    for (const statement of statements) database.run(statement);
  }
  if (meta !== null) {
    if (from < migrations.length) database.run("UPDATE dormouse_meta SET schema = ?", migrations.length);
    return meta;
  }
  const created: Meta = {
    room,
    state: "live",
    generation: 1,
    epoch: createEpoch(),
    createdAt: Date.now(),
  };
  database.run(
    "INSERT INTO dormouse_meta (id, schema, room, state, generation, epoch, created_at) VALUES (1, ?, ?, ?, ?, ?, ?)",
    migrations.length,
    created.room,
    created.state,
    created.generation,
    created.epoch,
    created.createdAt,
  );
  return created;
}

function readSchema(database: Database): SqlRow {
  const row = database.run("SELECT schema FROM dormouse_meta")[0];
  if (row === undefined) throw new StorageError("The meta row is missing.");
  return row;
}

function parseMeta(row: SqlRow): Meta {
  const state = textColumn(row, "state");
  if (state !== "live" && state !== "destroying" && state !== "deleted") {
    throw new StorageError("The meta row has an unknown state.");
  }
  const epoch = textColumn(row, "epoch");
  if (!/^[0-9a-f]{32}$/.test(epoch)) throw new StorageError("The meta row has no valid epoch.");
  return {
    room: textColumn(row, "room"),
    state,
    generation: integerColumn(row, "generation"),
    epoch,
    createdAt: integerColumn(row, "created_at"),
  };
}

function createEpoch(): string {
  const bytes = getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
