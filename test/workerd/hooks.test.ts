import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import * as Y from "yjs";
import { getRoom } from "../../src/index.js";
import { encodeClientControl } from "../../src/protocol/control.js";
import { RawClient, encodeSync, roomUrl, settle, slug, upgrade, waitOptions } from "./raw-client.js";
import { scenario } from "./scenario.js";

function calls(room: string): Promise<string[]> {
  return runInDurableObject(env.HOOKED.getByName(slug(room)), (instance) => [...instance.calls]);
}

describe("hooks that call no super", () => {
  test("[K1] are called, and break nothing", async () => {
    const room = "all hooks";
    const a = await RawClient.join(roomUrl("hooked", room, "?name=Alice"));
    const b = await RawClient.join(roomUrl("hooked", room, "?name=Bob"));
    a.announce({ user: "Alice" });
    a.type("hello");
    await vi.waitFor(() => expect(b.text).toBe("hello"), waitOptions);
    expect(b.people().size).toBe(1);
    a.send("state?");
    await a.waitFor("text");
    b.close(4000, "bye");
    await b.waitForClose();
    a.close(1000);
    await vi.waitFor(async () => expect((await calls(room)).at(-1)).toBe("onSave hello"), waitOptions);
    const seen = await calls(room);
    expect(seen.filter((call) => !call.startsWith("onSave"))).toEqual([
      "onStart",
      "onConnect Alice",
      "onConnect Bob",
      "onMessage state?",
      "onClose 4000",
      "onClose 1000",
    ]);
  });

  test("[K2] an onMessage that throws costs nobody anything", async () => {
    const room = "throwing";
    const a = await RawClient.join(roomUrl("hooked", room));
    a.send("fail");
    a.send(Uint8Array.of(200, 1));
    a.type("still connected");
    await settle(a);
    expect(a.closed).toBeNull();
    expect(await calls(room)).toEqual(["onStart", "onConnect ", "onMessage fail", "onMessage binary"]);
  });

  scenario(
    "[K3] application messages go both ways, and only to those who understand text",
    async (step, room) => {
      const stub = env.HOOKED.getByName(room);
      const a = await RawClient.join(roomUrl("hooked", room));
      const b = await RawClient.join(roomUrl("hooked", room, "?_pk=b"));
      const plain = await RawClient.join(roomUrl("hooked", room));
      await step(stub);
      a.send("__YPS:ping");
      expect((await a.waitFor("text")).text).toBe("__YPS:you said ping");
      expect((await b.waitFor("text")).text).toBe("__YPS:somebody said ping");
      await settle(plain);
      expect(plain.of("text")).toEqual([]);
    },
  );

  test("[K4] handleMessage takes frames that came in another wrapping", async () => {
    const room = "wrapped";
    const a = await RawClient.join(roomUrl("hooked", room));
    const b = await RawClient.join(roomUrl("hooked", room));
    const update = a.type("wrapped");
    await vi.waitFor(() => expect(b.text).toBe("wrapped"), waitOptions);
    const before = b.frames.length;
    await runInDurableObject(env.HOOKED.getByName(slug(room)), (instance) => {
      const [connection] = instance.getConnections();
      if (connection === undefined) throw new Error("Nobody is connected.");
      instance.handleMessage(connection, encodeSync(2, update));
    });
    await settle(b);
    expect(b.frames.slice(before).map(({ type }) => type)).toEqual(["step2"]);
  });

  test("[K5] a class that had its own messages keeps them", async () => {
    const a = await RawClient.join(roomUrl("chat", "chat"));
    const b = await RawClient.join(roomUrl("chat", "chat"));
    a.send("hi");
    expect((await b.waitFor("text")).text).toBe("chat: hi");
    a.type("a document too");
    await vi.waitFor(() => expect(b.text).toBe("a document too"), waitOptions);
  });

  test("[K6] text ping is answered by the runtime, without waking the room", async () => {
    const a = await RawClient.join(roomUrl("hooked", "ping"));
    a.send("ping");
    expect((await a.waitFor("text")).text).toBe("pong");
    expect(await calls("ping")).toEqual(["onStart", "onConnect "]);
  });
});

/** A change that was made and not sent. */
function news(client: RawClient): Uint8Array {
  const before = Y.encodeStateVector(client.doc);
  client.doc.getText("text").insert(0, "news");
  return Y.encodeStateAsUpdate(client.doc, before);
}

describe("access", () => {
  test.each([
    ["", 401],
    ["alice:none", 403],
    ["throw", 503],
    ["teapot", 418],
    ["alice:owner", 503],
    [`${"x".repeat(300)}:write`, 503],
  ])("[A1] onAuthorize decides before anything is accepted: token %j is %i", async (token, status) => {
    const response = await upgrade(roomUrl("guarded", "guarded", `?token=${token}`));
    expect(response.status).toBe(status);
    expect(await response.text()).not.toMatch(/away|Error|alice/);
    const plain = await exports.default.fetch(roomUrl("guarded", "guarded", `?token=${token}`));
    expect(plain.status).toBe(status);
    await plain.text();
  });

  scenario(
    "[H10] a reader's update changes nothing, reaches nobody, and the reader is told",
    async (step, room) => {
      const stub = env.GUARDED.getByName(room);
      const writer = await RawClient.join(roomUrl("guarded", room, "?token=alice"));
      const reader = await RawClient.join(roomUrl("guarded", room, "?token=bob:read"));
      expect(reader.of("denied")).toEqual([]);
      writer.type("for all to read");
      await vi.waitFor(() => expect(reader.text).toBe("for all to read"), waitOptions);
      await step(stub);
      reader.type("scribble");
      await reader.waitFor("denied");
      await step(stub);
      reader.type("scribble");
      await settle(reader);
      expect(reader.of("denied").length).toBe(1);
      await settle(writer);
      expect(writer.text).toBe("for all to read");
      await step(stub);
      const late = await RawClient.join(roomUrl("guarded", room, "?token=carol"));
      expect(late.text).toBe("for all to read");
    },
  );

  scenario(
    "[H9] access changes while connected, is kept through hibernation, and is told",
    async (step, room) => {
      const stub = env.GUARDED.getByName(room);
      const change = (subject: string, access: "read" | "write" | "none"): Promise<void> =>
        runInDurableObject(stub, (instance) => {
          for (const connection of instance.getConnections()) {
            if (connection.tags.includes(subject)) instance.setAccess(connection, access);
          }
        });
      const watcher = await RawClient.join(roomUrl("guarded", room, "?token=alice"));
      const flipping = await RawClient.open(roomUrl("guarded", room, "?token=bob:read&tag=bob"));
      flipping.sendHello();
      flipping.sendStep1();
      await flipping.waitFor("step2");
      flipping.type("refused ");
      await settle(flipping);
      expect(watcher.text).toBe("");
      await step(stub);
      await change("bob", "write");
      await vi.waitFor(() => expect(flipping.control("access").at(-1)?.access).toBe("write"), waitOptions);
      await flipping.waitFor("step1", 2);
      await step(stub);
      flipping.sendStep2();
      flipping.type("accepted");
      await vi.waitFor(() => expect(watcher.text).toBe("refused accepted"), waitOptions);
      await step(stub);
      await change("bob", "read");
      await vi.waitFor(() => expect(flipping.control("access").at(-1)?.access).toBe("read"), waitOptions);
      await step(stub);
      flipping.send(
        encodeClientControl({
          type: "update",
          number: 1,
          isWhole: false,
          update: news(flipping),
          awareness: null,
        }),
      );
      await vi.waitFor(() => expect(flipping.control("denied")).toMatchObject([{ number: 1 }]), waitOptions);
      await settle(watcher);
      expect(watcher.text).toBe("refused accepted");
      await step(stub);
      await change("bob", "none");
      expect((await flipping.waitForClose()).code).toBe(4403);
    },
  );

  test("[A2] an up-to-date reader is not told anything", async () => {
    const writer = await RawClient.join(roomUrl("guarded", "calm reader", "?token=alice"));
    writer.type("text");
    writer.edit((text) => text.delete(0, 1));
    await settle(writer);
    const reader = await RawClient.join(roomUrl("guarded", "calm reader", "?token=bob:read"));
    reader.sendStep2();
    await settle(reader);
    expect(reader.of("denied")).toEqual([]);
  });

  scenario("[A3] isReadOnly is asked at each write", async (step, room) => {
    const stub = env.HOOKED.getByName(room);
    const reader = await RawClient.join(roomUrl("hooked", room, "?tag=reader"));
    await step(stub);
    reader.type("scribble");
    await reader.waitFor("denied");
    const late = await RawClient.join(roomUrl("hooked", room));
    expect(late.text).toBe("");
  });

  test("[A4] who wrote under which clientID is kept", async () => {
    const alice = await RawClient.join(roomUrl("guarded", "authors", "?token=alice"));
    alice.type("by Alice");
    await settle(alice);
    const authors = await runInDurableObject(env.GUARDED.getByName("authors"), (instance, { storage }) => {
      instance.flush();
      return storage.sql.exec("SELECT client, subject, first_seq FROM dormouse_authors").toArray();
    });
    expect(authors).toEqual([{ client: alice.doc.clientID, subject: "alice", first_seq: 1 }]);
  });
});

describe("routes", () => {
  test.each([
    ["/parties/plain/", 400],
    ["/parties/plain", 400],
    [`/parties/plain/${"x".repeat(513)}`, 400],
    [`/parties/plain/${"%E4%BD%A0".repeat(171)}`, 400],
    ["/parties/plain/a%00b", 400],
    ["/parties/plain/a%7Fb", 400],
    ["/parties/plain/%ff", 400],
    ["/parties/plain/%zz", 400],
    ["/parties/nowhere/room", 404],
    ["/parties/plain/room", 404],
    ["/elsewhere", 404],
    ["/", 404],
  ])("[R1] %s is refused with %i and a sentence", async (path, status) => {
    const response = await exports.default.fetch(`http://rooms.test${path}?token=SECRET`);
    expect(response.status).toBe(status);
    expect(await response.text()).toMatch(/^[A-Z][^<>]*\.\n$/);
  });

  test.each([
    ["doc:1", ["doc:1", "doc%3A1", "doc%3a1"]],
    ["a b", ["a%20b", "%61%20b"]],
    ["a/b?c#d%e", ["a%2Fb%3Fc%23d%25e"]],
    ["übung-你好", ["%C3%BCbung-%E4%BD%A0%E5%A5%BD", "übung-你好"]],
    ["x".repeat(512), ["x".repeat(512)]],
  ])("[R2] %j is one room, however it is spelled, and by getRoom", async (name, spellings) => {
    const room = await getRoom(env.HOOKED, name);
    for (const spelling of spellings) {
      const client = await RawClient.open(
        `http://rooms.test/parties/hooked/${spelling}?name=${spelling.length}`,
      );
      client.close(1000);
      await client.waitForClose();
    }
    const { id } = room;
    const stub = env.HOOKED.get(id);
    const seen = await runInDurableObject(stub, (instance) => ({
      calls: instance.calls.length,
      name: instance.name,
    }));
    expect(seen.name).toBe(name);
    expect(seen.calls).toBeGreaterThanOrEqual(1 + 2 * spellings.length);
  });

  test.each(["", ".", "..", "a\nb", "x".repeat(513), "\ud800"])(
    "[R3] getRoom refuses the name %j",
    async (name) => {
      await expect(getRoom(env.PLAIN, name)).rejects.toThrow(RangeError);
    },
  );

  test("[R4] options of PartyServer's go through: a prefix", async () => {
    const client = await RawClient.join("http://rooms.test/rooms/plain/prefixed");
    client.type("here");
    await settle(client);
    expect((await RawClient.join("http://rooms.test/rooms/plain/prefixed")).text).toBe("here");
  });

  test("[R5] a request that fails in the application is answered without a stack", async () => {
    const stub = env.HOOKED.getByName("failing-request");
    await runInDurableObject(stub, (instance) => {
      instance.calls.toString = (): never => {
        throw new Error("secret detail");
      };
      Object.defineProperty(instance.calls, "toJSON", {
        value: (): never => {
          throw new Error("secret detail");
        },
      });
    });
    const response = await exports.default.fetch(roomUrl("hooked", "failing-request"));
    expect(response.status).toBe(500);
    expect(await response.text()).toBe("The room failed to answer this request.\n");
  });
});
