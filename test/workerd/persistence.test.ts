import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import * as Y from "yjs";
import { createDurableDatabase } from "../../src/storage/database.js";
import { DocumentLog } from "../../src/document/document-log.js";
import { defaultUpdateLimits } from "../../src/document/update-limits.js";
import { getRoom } from "../../src/index.js";
import { RawClient, roomUrl, settle, slug, upgrade, waitOptions } from "./raw-client.js";
import { evict } from "./scenario.js";
import type { PlainRoom } from "./worker.js";

type PlainStub = DurableObjectStub<PlainRoom>;

function query(stub: DurableObjectStub, sql: string): Promise<Record<string, unknown>[]> {
  return runInDurableObject(stub, (_, { storage }) => storage.sql.exec(sql).toArray());
}

function databaseSize(stub: DurableObjectStub): Promise<number> {
  return runInDurableObject(stub, (_, { storage }) => storage.sql.databaseSize);
}

const source = { kind: "update", subject: null, limits: defaultUpdateLimits } as const;

describe("storing", () => {
  test("[D1] happens by itself after a quiet moment, and a crash loses nothing of it", async () => {
    const room = "by itself";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    a.type("kept");
    await settle(a);
    await vi.waitFor(async () => {
      expect(await query(stub, "SELECT name FROM sqlite_master WHERE name = 'dormouse_log'")).toHaveLength(1);
    }, waitOptions);
    await abortAllDurableObjects();
    const b = await RawClient.join(roomUrl("plain", room));
    expect(b.text).toBe("kept");
  });

  test("[D2] happens at once when the last connection leaves", async () => {
    const room = "last leaves";
    const a = await RawClient.join(roomUrl("plain", room));
    a.type("kept");
    await settle(a);
    a.close(1000);
    await a.waitForClose();
    await abortAllDurableObjects();
    const b = await RawClient.join(roomUrl("plain", room));
    expect(b.text).toBe("kept");
  });

  test("[D3] what a crash took, clients bring back when they reconnect", async () => {
    const room = "brought back";
    const a = await RawClient.join(roomUrl("plain", room));
    a.type("not flushed");
    await settle(a);
    await abortAllDurableObjects();
    const back = await RawClient.open(roomUrl("plain", room));
    Y.applyUpdate(back.doc, Y.encodeStateAsUpdate(a.doc));
    back.sendStep1();
    await back.waitFor("step1");
    back.sendStep2();
    await settle(back);
    const b = await RawClient.join(roomUrl("plain", room));
    expect(b.text).toBe("not flushed");
  });

  test("[D4] is one row written per flush, and per fold", async () => {
    const stub = env.PLAIN.getByName("rows-written");
    const costs = await runInDurableObject(stub, (_, { storage }) => {
      const database = createDurableDatabase(storage);
      const log = new DocumentLog(database, "rows");
      const doc = new Y.Doc();
      const written: number[] = [];
      doc.on("update", (update: Uint8Array) => {
        log.accept(update, source);
        const before = database.usage.rowsWritten;
        log.flush();
        written.push(database.usage.rowsWritten - before);
      });
      for (let i = 0; i < 200; i++) doc.getText("text").insert(i, "x");
      return { written, rows: storage.sql.exec("SELECT seq, last, frames FROM dormouse_log").toArray() };
    });
    // The first flush creates the tables as well.
    expect(costs.written.slice(1).every((rows) => rows === 1)).toBe(true);
    expect(costs.rows.map(({ seq, last }) => [seq, last])).toEqual([
      [1, 64],
      [65, 128],
      [129, 192],
      [193, 200],
    ]);
  });

  test("[D5] a write that fails is tried again, with everything still pending", async () => {
    const room = "failing write";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    await runInDurableObject(stub, (_, { storage }) => {
      const { transactionSync } = storage;
      let failures = 2;
      storage.transactionSync = (work) => {
        if (failures-- > 0) throw new Error("disk full");
        return transactionSync.call(storage, work) as never;
      };
    });
    a.type("kept in the end");
    await settle(a);
    await vi.waitFor(async () => {
      expect(await query(stub, "SELECT name FROM sqlite_master WHERE name = 'dormouse_log'")).toHaveLength(1);
    }, waitOptions);
    await abortAllDurableObjects();
    expect((await RawClient.join(roomUrl("plain", room))).text).toBe("kept in the end");
  });
});

describe("a room that nobody wrote to", () => {
  test("[D6] stores nothing: neither a GET nor a refused upgrade nor an idle visitor creates anything", async () => {
    const guarded = env.GUARDED.getByName("unused");
    const size = await databaseSize(guarded);
    expect((await upgrade(roomUrl("guarded", "unused"))).status).toBe(401);
    const { exports } = await import("cloudflare:workers");
    const get = await exports.default.fetch(roomUrl("guarded", "unused", "?token=alice"));
    expect(get.status).toBe(404);
    await get.text();
    expect(await databaseSize(guarded)).toBe(size);
    const hooked = await exports.default.fetch(roomUrl("hooked", "unused"));
    expect(await hooked.json()).toEqual(["onStart"]);
    expect(await databaseSize(env.HOOKED.getByName("unused"))).toBe(size);
  });

  test("[D6] with people in it is at most 12 KB on disk", async () => {
    const a = await RawClient.join(roomUrl("plain", "empty"));
    a.announce({ user: "Alice" });
    await settle(a);
    expect(await databaseSize(env.PLAIN.getByName("empty"))).toBeLessThanOrEqual(12_288);
  });
});

describe("what cannot be read", () => {
  async function spoil(stub: PlainStub, room: string, sql: string): Promise<void> {
    const a = await RawClient.join(roomUrl("plain", room));
    a.type("precious");
    await settle(a);
    a.close(1000);
    await a.waitForClose();
    await runInDurableObject(stub, (_, { storage }) => storage.sql.exec(sql).toArray());
    await abortAllDurableObjects();
  }

  test.each([
    ["a newer schema", "UPDATE dormouse_meta SET schema = 1000"],
    ["a damaged epoch", "UPDATE dormouse_meta SET epoch = 'x'"],
    ["an unknown state", "UPDATE dormouse_meta SET state = 'x'"],
    ["no meta row", "DELETE FROM dormouse_meta"],
  ])("[D7] %s: refused for now over HTTP, and nothing is overwritten", async (name, sql) => {
    const room = `unreadable ${name}`;
    const stub = env.PLAIN.getByName(slug(room));
    await spoil(stub, room, sql);
    const again = env.PLAIN.getByName(slug(room));
    const before = await query(again, "SELECT seq, last, hex(body) FROM dormouse_log");
    const response = await upgrade(roomUrl("plain", room));
    expect(response.status).toBe(503);
    expect(response.headers.get("Retry-After")).not.toBeNull();
    expect(await response.text()).not.toMatch(/Error|schema|epoch/);
    await expect(
      runInDurableObject(again, ({ document }) => document.getText("text").toJSON()),
    ).rejects.toThrow();
    expect(await query(again, "SELECT seq, last, hex(body) FROM dormouse_log")).toEqual(before);
  });

  test("[D7] a damaged row: no part of the document is served as the whole", async () => {
    const room = "damaged row";
    const stub = env.PLAIN.getByName(slug(room));
    await spoil(stub, room, "UPDATE dormouse_log SET body = x'ff00'");
    const client = await RawClient.open(roomUrl("plain", room));
    client.sendStep1();
    expect((await client.waitForClose()).code).toBe(4503);
    expect(client.of("step2")).toEqual([]);
  });
});

describe("a keystroke into a hibernated room", () => {
  test.each([10_000, 50_000_000])("[D8] reads no body of a document of %i bytes", async (size) => {
    const room = `document of ${size}`;
    const stub = env.PLAIN.getByName(slug(room));
    await runInDurableObject(stub, (_, { storage }) => {
      const log = new DocumentLog(createDurableDatabase(storage), room);
      const doc = new Y.Doc();
      doc.clientID = 1;
      doc.on("update", (update: Uint8Array) => log.accept(update, source));
      const text = doc.getText("text");
      const chunk = Math.min(size, 10_000_000);
      for (let at = 0; at < size; at += chunk) {
        text.insert(at, "x".repeat(chunk));
        log.flush();
      }
    });
    await abortAllDurableObjects();
    const fresh = env.PLAIN.getByName(slug(room));
    const usage = await runInDurableObject(fresh, (_, { storage }) => {
      const database = createDurableDatabase(storage);
      const log = new DocumentLog(database, room);
      const doc = new Y.Doc();
      doc.clientID = 2;
      let update = new Uint8Array();
      doc.on("update", (bytes: Uint8Array) => {
        update = new Uint8Array(bytes);
      });
      doc.getText("text").insert(0, "!");
      log.accept(update, source);
      log.flush();
      return { ...database.usage };
    });
    expect(usage.bytesRead).toBeLessThan(1_000);
    expect(usage.bytesBound).toBeLessThan(1_000);
    // The meta row, the row of the log before each part of it, and the size of the newest row.
    expect(usage.rowsRead).toBeLessThan(200);
    expect(usage.rowsWritten).toBe(1);
  });
});

describe("onLoad", () => {
  test("[D9] seeds a new document once, before anybody is let in", async () => {
    const room = "seed me";
    const [a, b] = await Promise.all([
      RawClient.join(roomUrl("seeded", room)),
      RawClient.join(roomUrl("seeded", room)),
    ]);
    expect([a.text, b.text]).toEqual([`seed of ${slug(room)}`, `seed of ${slug(room)}`]);
    a.edit((text) => text.delete(0, text.length));
    await settle(a);
    await evict(env.SEEDED.getByName(slug(room)));
    const c = await RawClient.join(roomUrl("seeded", room));
    expect(c.text).toBe("");
    await abortAllDurableObjects();
    const d = await RawClient.join(roomUrl("seeded", room));
    expect(d.text).toBe("");
    const loads = await runInDurableObject(env.SEEDED.getByName(slug(room)), (instance) => instance.loads);
    expect(loads).toBe(0);
  });

  test("[D10] that throws refuses everybody for now, and stores nothing", async () => {
    const room = "seed fails";
    const stub = env.SEEDED.getByName(slug(room));
    await runInDurableObject(stub, (_, { storage }) => storage.put("fail", true));
    const response = await upgrade(roomUrl("seeded", room));
    expect(response.status).toBe(503);
    expect(await response.text()).not.toMatch(/import|Error/);
    expect(await query(stub, "SELECT name FROM sqlite_master WHERE name LIKE 'dormouse%'")).toEqual([]);
    await runInDurableObject(stub, (_, { storage }) => storage.delete("fail"));
    const client = await RawClient.join(roomUrl("seeded", room));
    expect(client.text).toBe(`seed of ${slug(room)}`);
  });

  test("[D11] has run when code reaches the room through getRoom, and an unseeded document is never shown", async () => {
    const raw = env.SEEDED.getByName("rpc-first");
    await expect(runInDurableObject(raw, (instance) => instance.text())).rejects.toThrow(/getRoom/);
    const room = await getRoom(env.SEEDED, "rpc-first");
    expect(await room.text()).toBe("seed of rpc-first");
  });
});

test("[D12] a class of y-partyserver's with its own table goes on with its documents", async () => {
  const stub = env.MIGRATED.getByName("migrated");
  const old = new Y.Doc();
  old.getText("text").insert(0, "written years ago");
  await runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec("CREATE TABLE documents (id TEXT PRIMARY KEY, content BLOB)");
    storage.sql.exec("INSERT INTO documents VALUES ('document', ?)", Y.encodeStateAsUpdate(old));
  });
  const a = await RawClient.join(roomUrl("migrated", "migrated"));
  expect(a.text).toBe("written years ago");
  a.type(", and today");
  await settle(a);
  a.close(1000);
  await a.waitForClose();
  await vi.waitFor(async () => {
    const [row] = await query(stub, "SELECT content FROM documents");
    const copy = new Y.Doc();
    Y.applyUpdate(copy, new Uint8Array(row?.["content"] as ArrayBuffer));
    expect(copy.getText("text").toJSON()).toBe("written years ago, and today");
  }, waitOptions);
  await abortAllDurableObjects();
  expect((await RawClient.join(roomUrl("migrated", "migrated"))).text).toBe("written years ago, and today");
});
