// What the tail of a document must do on any SQLite: run against Node's and against the platform's.
import { describe, expect, test } from "vitest";
import { maxBlobBytes, type Database } from "../../src/storage/database.js";
import { migrate, readMeta } from "../../src/storage/schema.js";
import { LogKind, UpdateLog, maxOpenRowBytes, type LogEntry } from "../../src/storage/update-log.js";

/** Gives `work` a fresh database. */
export type WithDatabase = (name: string, work: (database: Database) => void) => Promise<void>;

function entry(frame: Uint8Array, clocks = Uint8Array.of(0)): LogEntry {
  return { kind: LogKind.update, frame, deletes: 1, clocks };
}

/** Defines the tests. */
export function describeUpdateLog(withDatabase: WithDatabase): void {
  const onLog = (name: string, work: (log: UpdateLog, database: Database) => void): Promise<void> =>
    withDatabase(name, (database) => {
      migrate(database, "room", readMeta(database));
      work(new UpdateLog(database), database);
    });

  describe("the tail of a document", () => {
    test("[D4] appends frames to its newest row and gives them back in order", () =>
      onLog("append", (log, database) => {
        const frames = [Uint8Array.of(1, 0, 255), Uint8Array.of(), Uint8Array.of(7)];
        for (const frame of frames) {
          const row = log.openRow(LogKind.update, frame.byteLength);
          if (row === null) log.append(entry(frame));
          else log.appendTo(row, entry(frame, Uint8Array.of(0, 9)));
        }
        const [row] = new UpdateLog(database).rows;
        expect(row).toMatchObject({ seq: 1, last: 3, frames: 3, deletes: 3, clocks: Uint8Array.of(0, 9) });
        if (row === undefined) return;
        expect(new UpdateLog(database).readFrames(row)).toEqual(frames);
      }));

    test("[D4] closes a row that would grow above its size", () =>
      onLog("open row", (log) => {
        log.append(entry(new Uint8Array(maxOpenRowBytes - 100)));
        expect(log.openRow(LogKind.update, 50)).not.toBeNull();
        expect(log.openRow(LogKind.update, 200)).toBeNull();
      }));

    test.each([maxBlobBytes - 4, maxBlobBytes - 3, maxBlobBytes, 3 * maxBlobBytes + 1])(
      "[S8] keeps a frame of %i bytes in parts of at most 1 MiB",
      (size) =>
        onLog(`parts of ${size}`, (log, database) => {
          const frame = Uint8Array.from({ length: size }, (_, i) => i % 251);
          log.append(entry(frame));
          const reopened = new UpdateLog(database);
          const [row] = reopened.rows;
          if (row === undefined) throw new Error("There is no row.");
          const [back] = reopened.readFrames(row);
          expect(back?.byteLength).toBe(size);
          expect(equalBytes(back, frame)).toBe(true);
          expect(reopened.openRow(LogKind.update, 1)).toBeNull();
        }),
    );

    test("[S8] never binds a blob above 1 MiB", () =>
      onLog("assertion", (_, database) => {
        expect(() => database.run("SELECT ?", new Uint8Array(maxBlobBytes + 1))).toThrow(RangeError);
      }));

    test("[D7] says that a damaged row is damaged", () =>
      onLog("damage", (log, database) => {
        log.append(entry(Uint8Array.of(1, 2, 3)));
        for (const body of [
          Uint8Array.of(),
          Uint8Array.of(200),
          Uint8Array.of(3, 1, 2),
          Uint8Array.of(1, 1, 1),
        ]) {
          database.run("UPDATE dormouse_log SET body = ?", body);
          const reopened = new UpdateLog(database);
          const [row] = reopened.rows;
          if (row === undefined) throw new Error("There is no row.");
          expect(() => reopened.readFrames(row)).toThrow(/damaged/);
        }
      }));

    test("[D5] forgets what an undone transaction wrote", () =>
      onLog("undo", (log, database) => {
        log.append(entry(Uint8Array.of(1)));
        expect(() =>
          database.transaction(() => {
            log.append(entry(Uint8Array.of(2)));
            throw new Error("undone");
          }),
        ).toThrow("undone");
        log.reset();
        expect(log.head).toBe(1);
      }));
  });

  describe("the meta row", () => {
    test("[D6] is not there before the first write, and reading it writes nothing", () =>
      withDatabase("no meta", (database) => {
        expect(readMeta(database)).toBeNull();
        expect(database.run("SELECT name FROM sqlite_master WHERE name LIKE 'dormouse%'")).toEqual([]);
      }));

    test("[D7] is read back as it was written", () =>
      withDatabase("meta", (database) => {
        const meta = migrate(database, "room", null);
        expect(meta.epoch).toMatch(/^[0-9a-f]{32}$/);
        expect(readMeta(database)).toEqual(meta);
        expect(migrate(database, "room", meta)).toEqual(meta);
      }));
  });
}

function equalBytes(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && a.byteLength === b.byteLength && a.every((byte, i) => byte === b[i]);
}
