// What broke rooms once, each in the smallest form that shows it.
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { Awareness, applyAwarenessUpdate, encodeAwarenessUpdate } from "y-protocols/awareness";
import * as Y from "yjs";
import { createDurableDatabase } from "../../src/storage/database.js";
import { DocumentLog } from "../../src/document/document-log.js";
import { defaultUpdateLimits } from "../../src/document/update-limits.js";
import { ConnectionFlag, readAttachment } from "../../src/room/attachment.js";
import { RawClient, encodeAwareness, roomUrl, settle, slug, upgrade, waitOptions } from "./raw-client.js";
import { evict, scenario } from "./scenario.js";
import type { PlainRoom } from "./worker.js";

const alice = { user: { name: "Alice" } };

/** Lets a client do what stock providers do: follow presence, and send back whatever it hears of. */
function echo(client: RawClient): Awareness {
  const awareness = new Awareness(client.doc);
  clearInterval(awareness._checkInterval);
  client.socket.addEventListener("message", ({ data }) => {
    const frame = data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array();
    if (frame[0] !== 1) return;
    const body = client.of("awareness").at(-1);
    if (body === undefined) return;
    applyAwarenessUpdate(awareness, encodeAwareness(body.entries).subarray(lengthOfHeader(frame)), "room");
  });
  awareness.on("update", (changes: { added: number[]; updated: number[]; removed: number[] }) => {
    if (client.closed !== null) return;
    const changed = [...changes.added, ...changes.updated, ...changes.removed];
    const update = encodeAwarenessUpdate(awareness, changed);
    client.send(withHeader(update));
  });
  return awareness;
}

/** The message number and the length of the body, which is as long as the frame says. */
function lengthOfHeader(frame: Uint8Array): number {
  let at = 1;
  while ((frame[at] ?? 0) >= 128) at++;
  return at + 1;
}

function withHeader(update: Uint8Array): Uint8Array {
  const length: number[] = [];
  let left = update.byteLength;
  for (; left > 127; left = Math.floor(left / 128)) length.push(128 | (left % 128));
  return Uint8Array.of(1, ...length, left, ...update);
}

/** Lets `flush()` fail so many times in one moment; writing works again after that. */
function failFlushes(stub: DurableObjectStub<PlainRoom>, times: number): Promise<void> {
  return runInDurableObject(stub, (instance: PlainRoom, { storage }) => {
    const { transactionSync } = storage;
    storage.transactionSync = () => {
      throw new Error("disk full");
    };
    for (let i = 0; i < times; i++) expect(() => instance.flush()).toThrow("disk full");
    storage.transactionSync = transactionSync;
  });
}

describe("a room that wakes", () => {
  test("[S1, D2] by an update with a close right behind it keeps both in order", async () => {
    const room = "last words";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room));
    a.type("1");
    a.announce(alice);
    await vi.waitFor(() => expect([b.text, b.people().size]).toEqual(["1", 1]), waitOptions);
    await runInDurableObject(stub, (instance) => instance.flush());
    await evict(stub);
    a.type("2");
    a.type("3");
    a.close(1000);
    await a.waitForClose();
    await vi.waitFor(() => expect([b.text, b.people().size]).toEqual(["123", 0]), waitOptions);
    b.close(1000);
    await b.waitForClose();
    await abortAllDurableObjects();
    expect((await RawClient.join(roomUrl("plain", room))).text).toBe("123");
  });
});

describe("presence among clients that repeat what they hear", () => {
  test("[P3] an absurd clock closes who sent it, and nobody else", async () => {
    const room = "absurd clock";
    const honest = await Promise.all([1, 2].map(() => RawClient.join(roomUrl("plain", room))));
    honest.forEach((client) => echo(client).setLocalState(alice));
    const evil = await RawClient.join(roomUrl("plain", room, "?_pk=evil"));
    evil.announce({ u: "evil" }, 78, Number.MAX_SAFE_INTEGER);
    expect((await evil.waitForClose()).code).toBe(4400);
    const other = await RawClient.join(roomUrl("plain", room, "?_pk=other"));
    other.announce({ u: "evil" }, 79, 2 ** 32);
    expect((await other.waitForClose()).code).toBe(4400);
    const edge = await RawClient.join(roomUrl("plain", room, "?_pk=edge"));
    edge.announce({ u: "edge" }, 80, 2 ** 31);
    await vi.waitFor(() => expect(honest[0]?.people().has(80)).toBe(true), waitOptions);
    edge.announce({ u: "moved" }, 80, 1);
    for (const client of honest) await settle(client);
    expect(honest.map(({ closed }) => closed)).toEqual([null, null]);
  });

  test.each(["", "?_pk=a"])("[P12] who left stays gone, whoever repeats it (%j)", async (query) => {
    const room = `gone ${query}`;
    const a = await RawClient.join(roomUrl("plain", room, query));
    const others = await Promise.all([1, 2].map(() => RawClient.join(roomUrl("plain", room))));
    const [b, c] = others;
    if (b === undefined || c === undefined) throw new Error("nobody");
    for (const other of others) echo(other).setLocalState({ user: other.doc.clientID });
    a.announce(alice, 77);
    await vi.waitFor(
      () => expect([b.people().has(77), c.people().has(77)]).toEqual([true, true]),
      waitOptions,
    );
    const last = b
      .of("awareness")
      .flatMap(({ entries }) => entries)
      .findLast(({ clientID }) => clientID === 77);
    a.close(1000);
    await vi.waitFor(
      () => expect([b.people().has(77), c.people().has(77)]).toEqual([false, false]),
      waitOptions,
    );
    if (last === undefined) throw new Error("nobody");
    b.send(encodeAwareness([last]));
    const viewer = await RawClient.open(roomUrl("plain", room));
    await settle(b);
    await settle(c);
    await settle(viewer);
    expect([b.people().has(77), c.people().has(77), viewer.people().has(77)]).toEqual([false, false, false]);
    const frames = b.frames.length;
    await settle(b);
    expect(b.of("awareness").length).toBeLessThan(frames);
    // The one who left may come back, with the clock that he knew.
    const back = await RawClient.join(roomUrl("plain", room, query));
    back.announce({ ...alice, back: true }, 77, 1);
    await vi.waitFor(() => expect(b.people().get(77)).toEqual({ ...alice, back: true }), waitOptions);
  });

  scenario(
    "[P6] whose clock was raised while his line was dead is seen when he is back",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const watcher = await RawClient.join(roomUrl("plain", room));
      const a = await RawClient.join(roomUrl("plain", room, "?_pk=a"));
      a.announce(alice, 77);
      await vi.waitFor(() => expect(watcher.people().has(77)).toBe(true), waitOptions);
      a.announce({ n: 1 }, 77, 40);
      a.close(1000);
      await vi.waitFor(() => expect(watcher.people().has(77)).toBe(false), waitOptions);
      await step(stub);
      const back = await RawClient.join(roomUrl("plain", room, "?_pk=a"));
      back.announce({ back: true }, 77, 41);
      await vi.waitFor(() => expect(watcher.people().get(77)).toEqual({ back: true }), waitOptions);
    },
  );

  test("[P5] a tab takes over itself from another tab of its browser that announced it first", async () => {
    const room = "two tabs";
    const watcher = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room, "?_pk=b"));
    b.announce({ tab: "b" });
    b.announce({ tab: "a, heard by b" }, 77);
    await vi.waitFor(() => expect(watcher.people().size).toBe(2), waitOptions);
    const a = await RawClient.join(roomUrl("plain", room, "?_pk=a"));
    a.announce({ tab: "a" }, 77);
    await vi.waitFor(() => expect(watcher.people().get(77)).toEqual({ tab: "a" }), waitOptions);
    a.close(1000);
    await vi.waitFor(() => expect([...watcher.people().values()]).toEqual([{ tab: "b" }]), waitOptions);
  });

  test("[P5] a contest that is won by somebody who has left meanwhile ends with nobody there", async () => {
    const room = "won and gone";
    const watcher = await RawClient.join(roomUrl("plain", room));
    const old = await RawClient.join(roomUrl("plain", room));
    old.announce(alice, 7);
    await vi.waitFor(() => expect(watcher.people().has(7)).toBe(true), waitOptions);
    const fresh = await RawClient.join(roomUrl("plain", room));
    fresh.announce({ fresh: true }, 7, 10);
    await old.waitFor("query");
    fresh.announce(null, 7, 11);
    await vi.waitFor(() => expect(watcher.people().has(7)).toBe(false), waitOptions);
    const late = await RawClient.open(roomUrl("plain", room));
    await settle(late);
    expect(late.people().has(7)).toBe(false);
  });

  test("[P13] two changes within one round trip of connecting end with the last one, after two frames", async () => {
    const room = "two quick states";
    const watcher = await RawClient.join(roomUrl("plain", room));
    const client = await RawClient.join(roomUrl("plain", room));
    const awareness = echo(client);
    const name = { name: "Ada" };
    awareness.setLocalStateField("user", name);
    awareness.setLocalStateField("cursor", 1);
    awareness.setLocalStateField("selection", 2);
    const last = { user: name, cursor: 1, selection: 2 };
    await vi.waitFor(() => expect(watcher.people().get(client.doc.clientID)).toEqual(last), waitOptions);
    for (let i = 0; i < 3; i++) {
      await settle(client);
      await settle(watcher);
    }
    // The empty state with which an Awareness begins, and three changes.
    expect(watcher.of("awareness").length).toBeLessThanOrEqual(4);
    expect(awareness.getLocalState()).toEqual(last);
    expect(watcher.people().get(client.doc.clientID)).toEqual(last);
  });

  test("[P12] a new provider over the same document is somebody again", async () => {
    const room = "new provider";
    const watcher = await RawClient.join(roomUrl("plain", room));
    const first = await RawClient.join(roomUrl("plain", room, "?_pk=one"));
    for (let i = 0; i < 30; i++) first.announce({ n: i }, 77);
    first.announce(null, 77);
    first.close(1000);
    const second = await RawClient.join(roomUrl("plain", room, "?_pk=two"));
    second.announce({ back: true }, 77, 1);
    await vi.waitFor(() => expect(watcher.people().get(77)).toEqual({ back: true }), waitOptions);
  });

  test("[P3] a stranger cannot take or remove the second person of a connection", async () => {
    const room = "gateway";
    const from = (address: string): Record<string, string> => ({ "CF-Connecting-IP": address });
    const watcher = await RawClient.join(roomUrl("plain", room));
    const gateway = await RawClient.open(roomUrl("plain", room, "?_pk=g"), from("192.0.2.1"));
    gateway.announce({ n: 1 }, 71);
    gateway.announce({ n: 2 }, 72);
    await vi.waitFor(() => expect(watcher.people().size).toBe(2), waitOptions);
    for (const state of [{ n: 666 }, null]) {
      const stranger = await RawClient.open(roomUrl("plain", room, "?_pk=m"), from("192.0.2.2"));
      stranger.announce(state, 72);
      await settle(stranger);
      stranger.close(1000);
    }
    gateway.announce({ n: 22 }, 72);
    await vi.waitFor(() => expect(watcher.people().get(72)).toEqual({ n: 22 }), waitOptions);
  });

  test("[P4] a viewer without presence who repeats everything takes nobody over and costs one frame a move", async () => {
    const room = "viewer";
    const owner = await RawClient.join(roomUrl("plain", room));
    owner.answers = true;
    const viewer = await RawClient.join(roomUrl("plain", room));
    echo(viewer).setLocalState(null);
    owner.announce({ at: 0 }, 7);
    await vi.waitFor(() => expect(viewer.people().get(7)).toEqual({ at: 0 }), waitOptions);
    await settle(viewer);
    const before = owner.frames.length;
    for (let at = 1; at <= 10; at++) {
      owner.announce({ at }, 7);
      await vi.waitFor(() => expect(viewer.people().get(7)).toEqual({ at }), waitOptions);
    }
    await settle(viewer);
    await settle(owner);
    // Its own moves, back to it, and the answer to its step 1.
    expect(owner.frames.length - before).toBe(11);
    viewer.close(1000);
    const late = await RawClient.open(roomUrl("plain", room));
    await vi.waitFor(() => expect(late.people().get(7)).toEqual({ at: 10 }), waitOptions);
  });

  test("[P12] a person of the server's who came and went is not brought back", async () => {
    const room = "short robot";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    await runInDurableObject(stub, ({ document }) => document.awareness.setLocalState({ robot: true }));
    await vi.waitFor(() => expect(a.people().size).toBe(1), waitOptions);
    const told = a.of("awareness").at(-1)?.entries ?? [];
    await runInDurableObject(stub, ({ document }) => document.awareness.setLocalState(null));
    a.send(encodeAwareness(told));
    await settle(a);
    const late = await RawClient.open(roomUrl("plain", room));
    await settle(late);
    expect([a.people().size, late.people().size]).toEqual([0, 0]);
  });

  test("[P7] a take-over is no renewal: who does not renew himself is still told again", async () => {
    const room = "not renewing";
    const old = await RawClient.join(roomUrl("plain", room, "?_pk=a"));
    old.announce(alice, 7, 1);
    await settle(old);
    const fresh = await RawClient.join(roomUrl("plain", room, "?_pk=a"));
    fresh.announce(alice, 7, 2);
    await settle(fresh);
    const flags = await runInDurableObject(env.PLAIN.getByName(slug(room)), (_, state) =>
      state.getWebSockets().map((socket) => (readAttachment(socket)?.flags ?? 0) & ConnectionFlag.renews),
    );
    expect(flags).toEqual([0, 0]);
  });

  test("[P5] a claim with an absurd clock is refused, and its owner leaves in peace", async () => {
    const room = "absurd contest";
    const watcher = await RawClient.join(roomUrl("plain", room, "?_pk=w"));
    const owner = await RawClient.join(roomUrl("plain", room));
    owner.announce(alice, 7);
    await vi.waitFor(() => expect(watcher.people().has(7)).toBe(true), waitOptions);
    const mallory = await RawClient.join(roomUrl("plain", room));
    mallory.announce({ u: "m" }, 7, 2 ** 46);
    expect((await mallory.waitForClose()).code).toBe(4400);
    owner.close(1000);
    await owner.waitForClose();
    await vi.waitFor(() => expect(watcher.people().size).toBe(0), waitOptions);
  });

  test("[M1] a state of megabytes is refused", async () => {
    const room = "huge presence";
    const honest = await RawClient.join(roomUrl("plain", room));
    const bad = await RawClient.join(roomUrl("plain", room));
    bad.announce({ text: "x".repeat(100_000) });
    expect((await bad.waitForClose()).code).toBe(4413);
    await settle(honest);
    expect(honest.people().size).toBe(0);
  });
});

describe("applications that misbehave", () => {
  test("[A5] after the application closed a connection nothing counts that still comes from it", async () => {
    const room = "kicked";
    const stub = env.HOOKED.getByName(slug(room));
    const honest = await RawClient.join(roomUrl("hooked", room));
    const response = await upgrade(roomUrl("hooked", room));
    // A client that does not answer a close, as a dead or a hostile one.
    const stubborn = await RawClient.over(response, { allowHalfOpen: true });
    stubborn.sendStep2();
    stubborn.announce(alice);
    await vi.waitFor(() => expect(honest.people().size).toBe(1), waitOptions);
    stubborn.send("kick me");
    await vi.waitFor(() => expect(honest.people().size).toBe(0), waitOptions);
    stubborn.type("from the grave");
    stubborn.announce(alice);
    await evict(stub);
    stubborn.type("again");
    await settle(honest);
    expect([honest.text, honest.people().size]).toEqual(["", 0]);
  });

  test.each([1005, 5000, "a reason that is longer than a close frame can carry: ".repeat(4)])(
    "[A5] a close that cannot be sent (%j) throws and ends nothing",
    async (argument) => {
      const room = `bad close ${String(argument).slice(0, 20)}`;
      const stub = env.HOOKED.getByName(slug(room));
      const a = await RawClient.join(roomUrl("hooked", room));
      await runInDurableObject(stub, (instance) => {
        const [connection] = instance.getConnections();
        expect(() =>
          typeof argument === "number" ? connection?.close(argument) : connection?.close(4403, argument),
        ).toThrow();
      });
      a.type("still heard");
      await settle(a);
      expect((await RawClient.join(roomUrl("hooked", room))).text).toBe("still heard");
    },
  );

  test("[D10] an onLoad that fails late leaves nothing of its beginning", async () => {
    const room = "late failure";
    const stub = env.IMPORT.getByName(slug(room));
    for (const mode of ["slow", "large"]) {
      await runInDurableObject(stub, (_, { storage }) => storage.put("mode", mode));
      const response = await upgrade(roomUrl("import", room));
      expect(response.status).toBe(503);
      await response.text();
    }
    await runInDurableObject(stub, (_, { storage }) => storage.put("mode", "whole"));
    expect((await RawClient.join(roomUrl("import", room))).text).toBe("the whole");
  });

  test("[D5] many calls of flush() in one moment do not use up the attempts", async () => {
    const room = "flush in a row";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    a.type("kept");
    await settle(a);
    await failFlushes(stub, 20);
    a.type("!");
    await settle(a);
    await evict(stub);
    expect(a.closed).toBeNull();
    expect((await RawClient.join(roomUrl("plain", room))).text).toBe("kept!");
  });

  test("[K9] onSave does not overlap itself", async () => {
    const room = "slow save";
    const stub = env.IMPORT.getByName(slug(room));
    const a = await RawClient.join(roomUrl("import", room));
    a.edit((text) => text.insert(0, "1"));
    await settle(a);
    await runInDurableObject(stub, (instance) => instance.flush());
    await vi.waitFor(async () => {
      expect(await runInDurableObject(stub, ({ saves }) => saves.length)).toBe(1);
    }, waitOptions);
    a.edit((text) => text.insert(0, "2"));
    await settle(a);
    await runInDurableObject(stub, (instance) => instance.flush());
    await vi.waitFor(async () => {
      const saves = await runInDurableObject(stub, (instance) => [...instance.saves]);
      expect(saves).toEqual(["start", "end", "start", "end"]);
    }, waitOptions);
  });

  test("[A5] an isReadOnly that closes the connection does not bring it back", async () => {
    const room = "kick on write";
    const stub = env.IMPORT.getByName(slug(room));
    const watcher = await RawClient.join(roomUrl("import", room));
    const kicked = await RawClient.open(roomUrl("import", room, "?tag=kick"));
    kicked.announce(alice);
    await vi.waitFor(() => expect(watcher.people().size).toBe(1), waitOptions);
    kicked.type("x");
    await vi.waitFor(() => expect(watcher.people().size).toBe(0), waitOptions);
    await evict(stub);
    const late = await RawClient.open(roomUrl("import", room));
    await settle(late);
    expect(late.people().size).toBe(0);
  });

  test("[K8] a hook may be assigned when the room has started, and a field may use the document", async () => {
    const client = await RawClient.join(roomUrl("import", "assigned"));
    client.send("hello");
    expect((await client.waitFor("text")).text).toBe("assigned: hello");
  });

  test("[S12] an observer that breaks a transaction before it begins costs no later edit", async () => {
    const room = "broken transaction";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    await runInDurableObject(stub, ({ document }) => {
      document.once("beforeTransaction", () => {
        throw new Error("told to fail");
      });
    });
    a.type("one ");
    await settle(a);
    await stub.appendText("two");
    await vi.waitFor(() => expect(a.text).toBe("one two"), waitOptions);
  });

  test("[K7] an observer of document.awareness that throws costs nobody anything", async () => {
    const room = "throwing observer";
    const a = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room));
    await runInDurableObject(env.PLAIN.getByName(slug(room)), ({ document }) => {
      document.awareness.on("change", () => {
        throw new Error("an observer was told to fail");
      });
    });
    a.announce(alice);
    a.type("still here");
    await vi.waitFor(() => expect([b.text, b.people().size]).toEqual(["still here", 1]), waitOptions);
    a.close(1000);
    await vi.waitFor(() => expect(b.people().size).toBe(0), waitOptions);
  });

  test("[H4] a state that grows when it is written again is refused, or harms nobody", async () => {
    const room = "growing state";
    const stub = env.HOOKED.getByName(slug(room));
    const client = await RawClient.join(roomUrl("hooked", room));
    await runInDurableObject(stub, (instance) => {
      const [connection] = instance.getConnections();
      if (connection === undefined) throw new Error("Nobody is connected.");
      for (let size = 100; size < 2_500; size += 100) {
        try {
          connection.setState(Array<number>(size).fill(0.5));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }
    });
    await evict(stub);
    for (let i = 0; i < 70; i++) client.announce({ at: i, text: "x".repeat(3_000) }, 1_000 + i);
    client.type("alive");
    await settle(client);
    expect(client.closed).toBeNull();
  });

  test("[S12] a server-side edit that clients could not read throws, and the next one is not lost", async () => {
    const room = "refused edit";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    await runInDurableObject(stub, (instance) => {
      const old = instance.document;
      expect(() => old.getMap("m").set("k".repeat(5_000), 1)).toThrow(/4400/);
      expect(() => old.getText("text").insert(0, "lost?")).toThrow(/given up/);
      instance.appendText("important");
    });
    await vi.waitFor(() => expect(a.text).toBe("important"), waitOptions);
    await evict(stub);
    expect((await RawClient.join(roomUrl("plain", room))).text).toBe("important");
  });

  test("[D5] a flush() that throws is tried again all the same", async () => {
    const room = "flush throws";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    a.type("kept");
    await settle(a);
    await failFlushes(stub, 1);
    await vi.waitFor(async () => {
      const rows = await runInDurableObject(stub, (_, { storage }) =>
        storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'dormouse_log'").toArray(),
      );
      expect(rows).toHaveLength(1);
    }, waitOptions);
  });

  test("[K8] hooks may be fields", async () => {
    const room = "fields";
    const client = await RawClient.join(roomUrl("fields", room));
    expect(client.text).toBe("seed from a field");
    await vi.waitFor(
      () => expect(client.of("text").map(({ text }) => text)).toEqual(["__YPS:welcome"]),
      waitOptions,
    );
  });

  test("[K5] a base class may ask for its name in its constructor, answer requests and have hooks of the room's", async () => {
    const response = await exports.default.fetch(roomUrl("based", "health", "?health"));
    expect([response.status, await response.text()]).toEqual([200, "health is well"]);
    const client = await RawClient.join(roomUrl("based", "health"));
    client.type("scribble");
    await client.waitFor("denied");
  });

  test("[R4] props reach onStart", async () => {
    const response = await exports.default.fetch("http://rooms.test/props/based/props");
    expect(await response.json()).toEqual({ tenant: "Zoë" });
  });
});

describe("what no client may do to a room", () => {
  test("[D4] an update of very many clients is stored like any other", async () => {
    const room = "many clients";
    const stub = env.PLAIN.getByName(slug(room));
    const bytes: number[] = [];
    const varUint = (value: number): void => {
      let left = value;
      for (; left > 127; left = Math.floor(left / 128)) bytes.push(128 | (left % 128));
      bytes.push(left);
    };
    const clients = 110_000;
    varUint(clients);
    for (let i = 0; i < clients; i++) {
      varUint(1);
      varUint(4_000_000_000 - i);
      varUint(0);
      bytes.push(0);
      varUint(2 ** 30);
    }
    varUint(0);
    const rows = await runInDurableObject(stub, (_, { storage }) => {
      const source = { kind: "step2", subject: null, limits: defaultUpdateLimits } as const;
      const log = new DocumentLog(createDurableDatabase(storage), room);
      log.accept(Uint8Array.from(bytes), source);
      log.flush();
      const vector = log.encodeStateVector();
      const reopened = new DocumentLog(createDurableDatabase(storage), room);
      expect(reopened.encodeStateVector().byteLength).toBe(vector.byteLength);
      return storage.sql
        .exec("SELECT part, length(clocks) AS clocks, length(body) AS body FROM dormouse_log")
        .toArray();
    });
    expect(rows.length).toBeGreaterThan(1);
    for (const { clocks, body } of rows) {
      expect(Math.max(Number(clocks ?? 0), Number(body))).toBeLessThanOrEqual(1_048_576);
    }
  });

  test("[A4] who continues another's clientID does not become its author", async () => {
    const authors = await runInDurableObject(env.PLAIN.getByName("author-window"), (_, { storage }) => {
      const log = new DocumentLog(createDurableDatabase(storage), "authors");
      const doc = new Y.Doc();
      doc.clientID = 5;
      let subject = "alice";
      doc.on("update", (update: Uint8Array) =>
        log.accept(update, { kind: "update", subject, limits: defaultUpdateLimits }),
      );
      doc.getText("text").insert(0, "a");
      subject = "mallory";
      doc.getText("text").insert(1, "b");
      log.flush();
      return storage.sql.exec("SELECT client, subject FROM dormouse_authors").toArray();
    });
    expect(authors).toEqual([{ client: 5, subject: "alice" }]);
  });

  test.each([
    ["a path that fits into no attachment", "p".repeat(17_000), ""],
    ["a tag that is too long in bytes only", "", `?tag=${"é".repeat(200)}`],
  ])("[H18, H19] %s leaves no open socket and shows no stack", async (name, path, query) => {
    const room = slug(name);
    for (let i = 0; i < 3; i++) {
      const url = `${roomUrl("hooked", room)}${path === "" ? "" : `/${path}`}${query}`;
      const response = await upgrade(url);
      if (path !== "") {
        const client = await RawClient.over(response);
        client.close(1000);
        await client.waitForClose();
      } else {
        expect(response.status).toBe(503);
        expect(await response.text()).not.toMatch(/at \w|Error/);
      }
    }
    await vi.waitFor(async () => {
      const open = await runInDurableObject(
        env.HOOKED.getByName(room),
        (_, state) => state.getWebSockets().length,
      );
      expect(open).toBe(0);
    }, waitOptions);
  });
});

describe("routes of an application with CORS", () => {
  test("[R6] refusals carry its headers, and a prefix may begin with a slash", async () => {
    const response = await exports.default.fetch("http://rooms.test/cors/nowhere/room");
    expect([response.status, response.headers.get("Access-Control-Allow-Origin")]).toEqual([404, "*"]);
    await response.text();
    const client = await RawClient.join("http://rooms.test/cors/plain/cors");
    client.type("x");
    await settle(client);
  });
});
