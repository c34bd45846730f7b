import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import * as Y from "yjs";
import { cutFrame, encodeClientControl } from "../../src/protocol/control.js";
import { RawClient, encodeSync, roomUrl, settle, slug, upgrade, waitOptions } from "./raw-client.js";
import { evict, scenario } from "./scenario.js";

const nothing = Uint8Array.of(0, 0);

/** Joins as our own client does. */
async function join(
  url: string,
  hello: { epoch?: string; cursor?: number; secret?: string } = {},
): Promise<RawClient> {
  const client = await RawClient.open(url);
  client.sendHello(hello);
  client.sendStep1();
  await client.waitFor("step2");
  client.sendStep2(nothing);
  client.applyFrames();
  return client;
}

function numbered(
  number: number,
  update: Uint8Array,
  isWhole = false,
  awareness: Uint8Array | null = null,
): Uint8Array {
  return encodeClientControl({ type: "update", number, isWhole, update, awareness });
}

/** Makes a change and returns its update, which is not sent. */
function change(client: RawClient, text: string): Uint8Array {
  let update = nothing;
  client.doc.once("update", (bytes: Uint8Array) => {
    update = new Uint8Array(bytes);
  });
  const target = client.doc.getText("text");
  target.insert(target.length, text);
  return update;
}

async function waitForSaved(client: RawClient, number: number): Promise<void> {
  await vi.waitFor(() => expect(client.control("ack").at(-1)?.saved).toBe(number), waitOptions);
}

describe("hello", () => {
  test("[O1] is answered before any sync step 2, with who the room is", async () => {
    const client = await join(roomUrl("plain", "hello"));
    const order = client.frames.map(({ type }) => type).filter((type) => type !== "step1");
    expect(order).toEqual(["control", "step2"]);
    expect(client.control("hello")).toEqual([
      { type: "hello", version: 1, epoch: "", head: 0, access: "write", maxFrameBytes: 16_777_216 },
    ]);
  });

  test("[O2] control frames are sent to nobody who has not said it, and taken from nobody", async () => {
    const plain = await RawClient.join(roomUrl("plain", "no hello"));
    const own = await join(roomUrl("plain", "no hello"));
    own.send(numbered(1, change(own, "hi")));
    await waitForSaved(own, 1);
    await settle(plain);
    expect(plain.of("control")).toEqual([]);
    expect(plain.text).toBe("hi");
    plain.send(numbered(1, nothing));
    expect((await plain.waitForClose()).code).toBe(4400);
  });

  test("[O3] is said again by the room when the epoch of a new document is settled", async () => {
    const own = await join(roomUrl("plain", "new epoch"));
    own.send(numbered(1, change(own, "hi")));
    await waitForSaved(own, 1);
    const hellos = own.control("hello");
    expect(hellos.map(({ head }) => head)).toEqual([0, 1]);
    expect(hellos[1]?.epoch).toMatch(/^[0-9a-f]{32}$/);
    const later = await join(roomUrl("plain", "new epoch"));
    expect(later.control("hello")).toEqual([{ ...hellos[1], head: 1 }]);
  });

  scenario("[O3] also when the room slept in between", async (step, room) => {
    const own = await join(roomUrl("plain", room));
    await step(env.PLAIN.getByName(slug(room)));
    own.send(numbered(1, change(own, "hi")));
    await waitForSaved(own, 1);
    expect(own.control("hello").at(-1)?.epoch).toMatch(/^[0-9a-f]{32}$/);
  });

  scenario("[O4] with the epoch of another life is refused as stale", async (step, room) => {
    const first = await join(roomUrl("plain", room));
    first.send(numbered(1, change(first, "hi")));
    await waitForSaved(first, 1);
    await step(env.PLAIN.getByName(slug(room)));
    const stale = await RawClient.open(roomUrl("plain", room));
    stale.sendHello({ epoch: "0".repeat(32), cursor: 1 });
    expect((await stale.waitForClose()).code).toBe(4409);
    expect(stale.control("closing")).toMatchObject([{ code: 4409 }]);
  });

  scenario(
    "[O5, P5] carries the secret by which the next connection takes its presence over",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const watcher = await RawClient.join(roomUrl("plain", room));
      const old = await join(roomUrl("plain", room), { secret: "s3cret" });
      old.announce({ n: 1 }, 7);
      await vi.waitFor(() => expect(watcher.people().has(7)).toBe(true), waitOptions);
      await step(stub);
      const thief = await join(roomUrl("plain", room), { secret: "guess" });
      thief.announce({ n: 666 }, 7);
      const fresh = await join(roomUrl("plain", room), { secret: "s3cret" });
      await step(stub);
      fresh.announce({ n: 2 }, 7);
      await vi.waitFor(() => expect(watcher.people().get(7)).toEqual({ n: 2 }), waitOptions);
      old.close(1000);
      await old.waitForClose();
      await settle(watcher);
      expect(watcher.people().get(7)).toEqual({ n: 2 });
    },
  );
});

describe("acknowledgement", () => {
  scenario(
    "[O6] says saved only for what is stored: a crash right after it loses nothing",
    async (step, room) => {
      const own = await join(roomUrl("plain", room));
      own.send(numbered(1, change(own, "one ")));
      own.send(numbered(2, change(own, "two")));
      expect(own.control("ack")).toEqual([]);
      await waitForSaved(own, 2);
      await step(env.PLAIN.getByName(slug(room)));
      await abortAllDurableObjects();
      expect((await RawClient.join(roomUrl("plain", room))).text).toBe("one two");
    },
  );

  test("[O6] is not sent while storing fails", async () => {
    const room = "ack of a failing write";
    const stub = env.PLAIN.getByName(slug(room));
    const own = await join(roomUrl("plain", room));
    const restore = await runInDurableObject(stub, (_, { storage }) => {
      const { transactionSync } = storage;
      storage.transactionSync = () => {
        throw new Error("disk full");
      };
      return () => {
        storage.transactionSync = transactionSync;
      };
    });
    own.send(numbered(1, change(own, "hi")));
    await settle(own);
    await runInDurableObject(stub, (instance) => {
      expect(() => instance.flush()).toThrow("disk full");
    });
    expect(own.control("ack")).toEqual([]);
    await runInDurableObject(stub, restore);
    await waitForSaved(own, 1);
  });

  test("[O7] comes at once for an update that brings nothing new", async () => {
    const own = await join(roomUrl("plain", "nothing new"));
    const update = change(own, "hi");
    own.send(numbered(1, update));
    await waitForSaved(own, 1);
    own.send(numbered(2, update));
    await waitForSaved(own, 2);
  });

  scenario(
    "[O8, S7] is withheld from an update that does not follow, until the whole has come",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const other = await RawClient.join(roomUrl("plain", room));
      const own = await join(roomUrl("plain", room));
      change(own, "lost ");
      own.send(numbered(1, change(own, "found")));
      await own.waitFor("step1", 2);
      // Follows by itself, but the one before it is still missing.
      const aside = new Y.Doc();
      aside.getMap("m").set("k", 1);
      own.send(numbered(2, Y.encodeStateAsUpdate(aside)));
      await settle(own);
      await runInDurableObject(stub, (instance) => instance.flush());
      await settle(own);
      expect(own.control("ack").at(-1)?.saved ?? 0).toBe(0);
      own.send(numbered(3, Y.encodeStateAsUpdate(own.doc), true));
      own.sendStep2(nothing);
      await waitForSaved(own, 3);
      await step(stub);
      await vi.waitFor(() => expect(other.text).toBe("lost found"), waitOptions);
    },
  );

  test("[O9] of a reader's update is a denial with its number", async () => {
    const own = await join(roomUrl("guarded", "denied", "?token=bob:read"));
    expect(own.control("hello")[0]?.access).toBe("read");
    own.send(numbered(1, change(own, "scribble")));
    await vi.waitFor(() => expect(own.control("denied")).toMatchObject([{ number: 1 }]), waitOptions);
    expect(own.of("denied")).toEqual([]);
  });
});

describe("coming back", () => {
  scenario(
    "[O10] with a cursor gets what came after it, and no list of all deletions",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const writer = await join(roomUrl("plain", room));
      for (let i = 1; i <= 200; i++) {
        writer.send(numbered(i, change(writer, `${i} `)));
        if (i === 100) {
          const before = Y.encodeStateVector(writer.doc);
          // Many deletions, which a client without a cursor is sent in full.
          for (let at = 0; at < 100; at += 2) writer.doc.getText("text").delete(at, 1);
          writer.send(encodeSync(2, Y.encodeStateAsUpdate(writer.doc, before)));
        }
      }
      await waitForSaved(writer, 200);
      const reader = await join(roomUrl("plain", room));
      const { epoch = "", head: cursor = 0 } = reader.control("hello")[0] ?? {};
      const known = Y.encodeStateAsUpdate(reader.doc);
      await step(stub);
      writer.send(numbered(201, change(writer, "news")));
      await waitForSaved(writer, 201);
      await step(stub);
      const sizeOf = (client: RawClient): number =>
        [...client.of("update"), ...client.of("step2")].reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
      const rejoin = async (hello: { epoch?: string; cursor?: number }): Promise<RawClient> => {
        const client = await RawClient.open(roomUrl("plain", room));
        Y.applyUpdate(client.doc, known);
        client.sendHello(hello);
        client.sendStep1();
        await client.waitFor("step2");
        expect(client.text).toBe(writer.doc.getText("text").toJSON());
        return client;
      };
      const resumed = await rejoin({ epoch, cursor });
      const full = await rejoin({});
      expect(sizeOf(resumed)).toBeLessThan(60);
      expect(sizeOf(full)).toBeGreaterThan(sizeOf(resumed) + 50);
      const ahead = await rejoin({ epoch, cursor: 1_000_000 });
      expect(sizeOf(ahead)).toBe(sizeOf(full));
    },
  );

  test("[O10] ten edits behind in a document of 10 MB costs at most 2 KB", async () => {
    const room = "ten edits behind";
    const writer = await join(roomUrl("plain", room));
    writer.send(numbered(1, change(writer, "x".repeat(10_000_000))));
    await waitForSaved(writer, 1);
    const reader = await join(roomUrl("plain", room));
    const { epoch = "", head: cursor = 0 } = reader.control("hello")[0] ?? {};
    reader.close(1000);
    for (let i = 2; i <= 11; i++) writer.send(numbered(i, change(writer, `edit ${i}`)));
    await waitForSaved(writer, 11);
    const back = await RawClient.open(roomUrl("plain", room));
    back.sendHello({ epoch, cursor });
    back.sendStep1(Y.encodeStateVector(reader.doc));
    await back.waitFor("step2");
    const bytes = [...back.of("update"), ...back.of("step2")].reduce(
      (sum, frame) => sum + frame.bytes.byteLength,
      0,
    );
    expect(bytes).toBeLessThan(2_048);
  });

  test("[O11] after a restart fifty clients that hold everything write no row and tell nobody anything", async () => {
    const room = "fifty come back";
    const stub = env.PLAIN.getByName(slug(room));
    const writer = await join(roomUrl("plain", room));
    writer.send(numbered(1, change(writer, "some text")));
    await waitForSaved(writer, 1);
    const { epoch = "" } = writer.control("hello").at(-1) ?? {};
    const known = Y.encodeStateAsUpdate(writer.doc);
    await abortAllDurableObjects();
    const rows = (): Promise<unknown> =>
      runInDurableObject(env.PLAIN.getByName(slug(room)), (instance, { storage }) => {
        instance.flush();
        return storage.sql.exec("SELECT seq, last, hex(body) FROM dormouse_log").toArray();
      });
    const before = await rows();
    const back = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const client = await RawClient.open(roomUrl("plain", room));
        Y.applyUpdate(client.doc, known);
        client.sendHello({ epoch, cursor: 1 });
        client.sendStep1();
        await client.waitFor("step2");
        client.sendStep2(nothing);
        return client;
      }),
    );
    for (const client of back) await settle(client);
    expect(await rows()).toEqual(before);
    expect(back.flatMap((client) => client.of("update"))).toEqual([]);
    expect(stub.id.toString()).not.toBe("");
  });
});

describe("frames", () => {
  test("[O12] a bundle carries an update and the presence that came with it", async () => {
    const own = await join(roomUrl("plain", "bundle"));
    const other = await RawClient.join(roomUrl("plain", "bundle"));
    const state = new TextEncoder().encode('{"at":1}');
    own.send(numbered(1, change(own, "x"), false, Uint8Array.of(1, 7, 1, state.length, ...state)));
    await vi.waitFor(() => {
      expect([other.text, other.people().get(7)]).toEqual(["x", { at: 1 }]);
    }, waitOptions);
  });

  test("[O13] a frame in parts is put together, in order and within the limit", async () => {
    const room = "parts";
    const own = await join(roomUrl("plain", room));
    const frame = numbered(1, change(own, "y".repeat(5_000)));
    for (const part of cutFrame(frame, 1_000)) own.send(part);
    await waitForSaved(own, 1);
    const other = await RawClient.join(roomUrl("plain", room));
    expect(other.text.length).toBe(5_000);
    const [first, , third] = cutFrame(numbered(2, change(own, "z".repeat(5_000))), 1_000);
    if (first === undefined || third === undefined) throw new Error("too few parts");
    own.send(first);
    own.send(third);
    expect((await own.waitForClose()).code).toBe(4500);
    const again = await join(roomUrl("plain", room));
    again.send(first);
    again.announce({ in: "between" });
    expect((await again.waitForClose()).code).toBe(4400);
    const large = await join(roomUrl("limited", room));
    for (const part of cutFrame(numbered(1, new Uint8Array(200_000)), 20_000)) large.send(part);
    expect((await large.waitForClose()).code).toBe(4413);
  });

  test("[O14] a frame of the room above the limit comes in parts, to our own only", async () => {
    const room = "large frames of the room";
    const own = await join(roomUrl("plain", room));
    const plain = await RawClient.join(roomUrl("plain", room));
    const writer = await RawClient.join(roomUrl("plain", room));
    writer.type("w".repeat(17_000_000));
    await vi.waitFor(() => expect(own.control("part").length).toBe(2), { timeout: 15_000, interval: 20 });
    await vi.waitFor(() => expect(plain.text.length).toBe(17_000_000), { timeout: 15_000, interval: 20 });
    expect(own.of("update")).toEqual([]);
  });
});

describe("refusals of our own clients", () => {
  test.each([
    [roomUrl("guarded", "refused", "?_dm=1"), 4401],
    [roomUrl("guarded", "refused", "?_dm=1&token=alice:none"), 4403],
    [roomUrl("guarded", "refused", "?_dm=1&token=throw"), 4503],
    [roomUrl("guarded", "refused", "?_dm=1&token=teapot"), 4403],
    [roomUrl("nowhere", "refused", "?_dm=1"), 4404],
    ["http://rooms.test/parties/plain/?_dm=1", 4400],
  ])("[O15] %s is told by %i why it is not let in", async (url, code) => {
    const response = await upgrade(url);
    const client = await RawClient.over(response);
    const closed = await client.waitForClose();
    expect(closed.code).toBe(code);
    expect(closed.reason).not.toBe("");
    expect(client.control("closing")).toEqual([{ type: "closing", ...closed }]);
  });

  scenario(
    "[O15] a frame that breaks the protocol is answered by closing and its code",
    async (step, room) => {
      const own = await join(roomUrl("plain", room));
      await step(env.PLAIN.getByName(slug(room)));
      own.send(Uint8Array.of(64, 99));
      const closed = await own.waitForClose();
      expect(closed.code).toBe(4400);
      expect(own.control("closing")).toEqual([{ type: "closing", ...closed }]);
      await evict(env.PLAIN.getByName(slug(room))).catch(() => undefined);
    },
  );
});
