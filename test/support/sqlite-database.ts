// The storage seam over Node's own SQLite, so that what needs thousands of rounds need not run in workerd. Same SQL, same
// assertions on blobs.
import { DatabaseSync } from "node:sqlite";
import {
  countBoundBytes,
  countBytes,
  type Database,
  type DatabaseUsage,
  type SqlRow,
} from "../../src/storage/database.js";

/** A database in memory. */
export function createMemoryDatabase(): Database {
  const sqlite = new DatabaseSync(":memory:");
  const usage: DatabaseUsage = { rowsRead: 0, rowsWritten: 0, bytesRead: 0, bytesBound: 0 };
  let depth = 0;
  return {
    usage,
    run(sql, ...bindings) {
      usage.bytesBound += countBoundBytes(bindings);
      const rows = sqlite.prepare(sql).all(...bindings) as SqlRow[];
      usage.rowsRead += rows.length;
      for (const row of rows) usage.bytesRead += countBytes(row);
      return rows;
    },
    transaction(work) {
      const savepoint = `level_${depth++}`;
      sqlite.exec(`SAVEPOINT ${savepoint}`);
      try {
        const result = work();
        sqlite.exec(`RELEASE ${savepoint}`);
        return result;
      } catch (error) {
        sqlite.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`);
        throw error;
      } finally {
        depth--;
      }
    },
  };
}
