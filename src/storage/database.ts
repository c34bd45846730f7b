// The one seam to SQL. Everything that a room stores goes through `Database`, so that limits are asserted and
// costs are counted in one place. Which tables exist is schema.ts' business; what the bytes mean is not ours.

/** What can be bound to a statement. */
export type SqlBinding = Uint8Array | string | number | null;
/** What a column can hold. */
export type SqlValue = Uint8Array | string | number | null;
/** One row of a result, by column name. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/**
 * The largest blob that is written in one row, in bytes. The platform's cap is 2 MB for a row, blob or string
 * (https://developers.cloudflare.com/durable-objects/platform/limits/); local runtimes accept more and hide the
 * fault, so it is asserted here. Larger bodies are cut into parts (update-log.ts).
 */
export const maxBlobBytes = 1_048_576;

/** What the statements of this instance cost so far. Rows are counted as the platform bills them. */
export interface DatabaseUsage {
  rowsRead: number;
  rowsWritten: number;
  /** Bytes of blobs that came out of statements. */
  bytesRead: number;
  /** Bytes of blobs that were bound to statements. */
  bytesBound: number;
}

/** A SQLite database with synchronous statements. */
export interface Database {
  /**
   * Runs one statement and returns its rows.
   * @throws RangeError when a blob is larger than {@link maxBlobBytes}
   * @throws whatever SQLite throws
   */
  run(sql: string, ...bindings: SqlBinding[]): SqlRow[];
  /** Runs `work` as one unit: a throw undoes all of it. Nests. */
  transaction<T>(work: () => T): T;
  readonly usage: Readonly<DatabaseUsage>;
}

/** The part of the platform's `SqlStorageCursor` that is used here. */
interface Cursor {
  toArray(): Record<string, ArrayBuffer | string | number | null>[];
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** The part of the platform's `DurableObjectStorage` that is used here. */
export interface DurableStorage {
  readonly sql: {
    exec(query: string, ...bindings: (ArrayBufferView | string | number | null)[]): Cursor;
  };
  transactionSync<T>(work: () => T): T;
}

/** The database of a Durable Object. Opening it writes nothing. */
export function createDurableDatabase(storage: DurableStorage): Database {
  const usage: DatabaseUsage = { rowsRead: 0, rowsWritten: 0, bytesRead: 0, bytesBound: 0 };
  return {
    usage,
    run(sql, ...bindings) {
      usage.bytesBound += countBoundBytes(bindings);
      const cursor = storage.sql.exec(sql, ...bindings);
      const rows = cursor.toArray().map(fromPlatformRow);
      usage.rowsRead += cursor.rowsRead;
      usage.rowsWritten += cursor.rowsWritten;
      for (const row of rows) usage.bytesRead += countBytes(row);
      return rows;
    },
    transaction: (work) => storage.transactionSync(work),
  };
}

/**
 * The bytes of all blobs in a list of bindings.
 * @throws RangeError when one of them is larger than {@link maxBlobBytes}
 */
export function countBoundBytes(bindings: readonly SqlBinding[]): number {
  let bytes = 0;
  for (const binding of bindings) {
    if (!(binding instanceof Uint8Array)) continue;
    if (binding.byteLength > maxBlobBytes) {
      throw new RangeError(`A blob of ${binding.byteLength} bytes is larger than a row may be.`);
    }
    bytes += binding.byteLength;
  }
  return bytes;
}

/** The bytes of all blobs in a row. */
export function countBytes(row: SqlRow): number {
  let bytes = 0;
  for (const value of Object.values(row)) if (value instanceof Uint8Array) bytes += value.byteLength;
  return bytes;
}

function fromPlatformRow(row: Record<string, ArrayBuffer | string | number | null>): SqlRow {
  const result: Record<string, SqlValue> = {};
  for (const [name, value] of Object.entries(row)) {
    result[name] = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
  }
  return result;
}

/** Reads a column that must hold an integer. @throws StorageError when it does not */
export function integerColumn(row: SqlRow, name: string): number {
  const value = row[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw badColumn(name);
  return value;
}

/** Reads a column that must hold text. @throws StorageError when it does not */
export function textColumn(row: SqlRow, name: string): string {
  const value = row[name];
  if (typeof value !== "string") throw badColumn(name);
  return value;
}

/** Reads a column that must hold a blob. @throws StorageError when it does not */
export function blobColumn(row: SqlRow, name: string): Uint8Array {
  const value = row[name];
  if (!(value instanceof Uint8Array)) throw badColumn(name);
  return value;
}

/**
 * What is stored cannot be read or understood. The room refuses with a retryable code and writes nothing over it:
 * an empty document in place of a stored one would be worse than no answer.
 */
export class StorageError extends Error {
  override readonly name = "StorageError";
}

function badColumn(name: string): StorageError {
  return new StorageError(`Column ${name} holds a value of the wrong type.`);
}
