import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import * as Y from "yjs";
import { RawClient, encodeSync, roomUrl, settle, upgrade, waitOptions, slug } from "./raw-client.js";
import { evict, scenario } from "./scenario.js";

const encoder = new TextEncoder();

describe("a document", () => {
  scenario("[S1] reaches everybody, and newcomers", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room));
    a.type("hello");
    await vi.waitFor(() => expect(b.text).toBe("hello"), waitOptions);
    await step(stub);
    b.type(" world");
    await vi.waitFor(() => expect(a.text).toBe("hello world"), waitOptions);
    await step(stub);
    const c = await RawClient.join(roomUrl("plain", room));
    expect(c.text).toBe("hello world");
    await step(stub);
    a.edit((text) => text.delete(0, 6));
    await vi.waitFor(() => expect([b.text, c.text]).toEqual(["world", "world"]), waitOptions);
    await step(stub);
    const d = await RawClient.join(roomUrl("plain", room));
    expect(d.text).toBe("world");
  });

  test("[S2] is never echoed to its sender", async () => {
    const a = await RawClient.join(roomUrl("plain", "no echo of updates"));
    a.type("hello");
    await settle(a);
    expect(a.of("update").length).toBe(0);
  });

  test("[S3] is not relayed before step 1 was answered", async () => {
    const a = await RawClient.join(roomUrl("plain", "late step 1"));
    const b = await RawClient.open(roomUrl("plain", "late step 1"));
    a.type("hello");
    await settle(a);
    expect(b.of("update").length).toBe(0);
    b.sendStep1();
    await b.waitFor("step2");
    expect(b.text).toBe("hello");
  });

  scenario("[S4] a client with an older state gets what it lacks, deletions included", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    a.type("one two ");
    await settle(a);
    const old = Y.encodeStateAsUpdate(a.doc);
    a.type("three");
    a.edit((text) => text.delete(0, 4));
    await settle(a);
    await step(stub);
    const b = await RawClient.open(roomUrl("plain", room));
    Y.applyUpdate(b.doc, old);
    b.sendStep1();
    await b.waitFor("step2");
    expect(b.text).toBe("two three");
  });

  scenario("[S5] a client that comes back with offline edits brings them", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room));
    a.type("online ");
    await vi.waitFor(() => expect(b.text).toBe("online "), waitOptions);
    b.close(1000);
    await step(stub);
    b.doc.getText("text").insert(0, "offline ");
    const again = await RawClient.open(roomUrl("plain", room));
    Y.applyUpdate(again.doc, Y.encodeStateAsUpdate(b.doc));
    await again.waitFor("step1");
    again.sendStep2();
    await vi.waitFor(() => expect(a.text).toBe("offline online "), waitOptions);
  });

  scenario(
    "[S6] coming back n times with nothing new changes no row and tells nobody",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const a = await RawClient.join(roomUrl("plain", room));
      a.type("some text");
      a.edit((text) => text.delete(2, 3));
      await settle(a);
      await runInDurableObject(stub, (instance) => instance.flush());
      const rows = (): Promise<unknown> =>
        runInDurableObject(stub, (_, { storage }) =>
          storage.sql.exec("SELECT seq, last, frames, hex(body) FROM dormouse_log").toArray(),
        );
      const before = await rows();
      const frames = a.of("update").length;
      for (let i = 0; i < 5; i++) {
        await step(stub);
        const back = await RawClient.open(roomUrl("plain", room));
        Y.applyUpdate(back.doc, Y.encodeStateAsUpdate(a.doc));
        back.sendStep1();
        await back.waitFor("step1");
        back.sendStep2();
        await settle(back);
        back.close(1000);
      }
      await settle(a);
      expect(await rows()).toEqual(before);
      expect(a.of("update").length).toBe(frames);
    },
  );

  scenario(
    "[S7] an update that does not follow is asked for again, and nothing is lost",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const a = await RawClient.join(roomUrl("plain", room));
      const b = await RawClient.join(roomUrl("plain", room));
      const asked = a.of("step1").length;
      // A frame is lost on the way.
      a.doc.getText("text").insert(0, "first ");
      a.type("second");
      await a.waitFor("step1", asked + 1);
      expect(b.text).toBe("");
      await step(stub);
      a.sendStep2();
      await vi.waitFor(() => expect(b.text).toBe("first second"), waitOptions);
    },
  );

  test("[S8] an update in parts larger than a row is stored, and comes back", async () => {
    const room = "large";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    a.type("x".repeat(3_000_000));
    await settle(a);
    a.type("!");
    await settle(a);
    await evict(stub);
    const parts = await runInDurableObject(stub, (_, { storage }) =>
      storage.sql.exec("SELECT seq, part, length(body) AS bytes FROM dormouse_log").toArray(),
    );
    expect(parts.filter(({ seq }) => seq === 1).length).toBe(3);
    for (const { bytes } of parts) expect(Number(bytes)).toBeLessThanOrEqual(1_048_576);
    const b = await RawClient.join(roomUrl("plain", room));
    expect(b.text.length).toBe(3_000_001);
  });

  test("[H16] one broken socket does not stop the others", async () => {
    const room = "broken socket";
    const stub = env.PLAIN.getByName(slug(room));
    const clients = await Promise.all([0, 1, 2].map(() => RawClient.join(roomUrl("plain", room))));
    await runInDurableObject(stub, (_, state) => {
      const broken = state.getWebSockets()[1];
      if (broken === undefined) throw new Error("Nobody is connected.");
      broken.send = (): never => {
        throw new TypeError("broken");
      };
    });
    clients[0]?.type("to all");
    clients[0]?.announce({ at: 1 });
    const heard = (): number => clients.slice(1).filter((client) => client.text === "to all").length;
    await vi.waitFor(() => expect(heard()).toBe(1), waitOptions);
  });

  scenario(
    "[H20] an RPC as the first thing after an eviction edits, stores and tells everybody",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const a = await RawClient.join(roomUrl("plain", room));
      a.type("people ");
      await settle(a);
      await step(stub);
      await stub.appendText("and robots");
      await vi.waitFor(() => expect(a.text).toBe("people and robots"), waitOptions);
      await step(stub);
      const b = await RawClient.join(roomUrl("plain", room));
      expect(b.text).toBe("people and robots");
    },
  );

  test("[S9] an observer that edits while an update of somebody else comes in is stored and relayed", async () => {
    const room = "observer";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    await runInDurableObject(stub, ({ document }) => {
      const text = document.getText("text");
      text.observe(({ transaction }) => {
        if (!transaction.local) document.getMap("count").set("length", text.length);
      });
    });
    a.type("four");
    await vi.waitFor(() => {
      a.applyFrames();
      expect(a.doc.getMap("count").get("length")).toBe(4);
    }, waitOptions);
    await evict(stub);
    const b = await RawClient.join(roomUrl("plain", room));
    expect(b.doc.getMap("count").get("length")).toBe(4);
  });
});

describe("a frame that breaks the protocol closes its connection alone", () => {
  const valid = Y.encodeStateAsUpdate(
    ((): Y.Doc => {
      const doc = new Y.Doc();
      doc.getText("text").insert(0, "hi");
      return doc;
    })(),
  );
  test.each<[string, Uint8Array | string, number]>([
    ["empty", new Uint8Array(), 4400],
    ["an unknown message number", Uint8Array.of(99, 1, 2), 4400],
    ["message 64, before any hello", Uint8Array.of(64, 0), 4400],
    ["auth from a client", Uint8Array.of(2, 0, 1, 65), 4400],
    ["an unknown sync message", Uint8Array.of(0, 3, 0), 4400],
    ["truncated", encodeSync(2, valid).subarray(0, 6), 4400],
    ["bytes left over", Uint8Array.of(...encodeSync(2, valid), 0), 4400],
    ["a number that is not minimal", Uint8Array.of(0, 0x80, 0x00, 0), 4400],
    ["random", Uint8Array.of(0, 2, 5, 250, 1, 7, 7, 7), 4400],
    ["an update that does not decode", encodeSync(2, Uint8Array.of(1, 1, 1, 0, 31, 0)), 4400],
    ["a state vector that does not decode", encodeSync(0, Uint8Array.of(9)), 4400],
    ["presence that is not JSON", awarenessOf("{"), 4400],
    ["presence that is no object", awarenessOf("7"), 4400],
    ["text that is not ours", "hello?", 4400],
  ])("[S10] %s", async (name, frame, code) => {
    const room = slug(`bad frame ${name}`);
    const stub = env.PLAIN.getByName(slug(room));
    const honest = await RawClient.join(roomUrl("plain", room));
    const bad = await RawClient.join(roomUrl("plain", room));
    bad.announce({ user: "bad" });
    await vi.waitFor(() => expect(honest.people().size).toBe(1), waitOptions);
    const lines = vi.spyOn(console, "warn");
    bad.send(frame);
    const closed = await bad.waitForClose();
    expect(closed.code).toBe(code);
    expect(closed.reason).not.toBe("");
    await vi.waitFor(() => expect(honest.people().size).toBe(0), waitOptions);
    expect(lines.mock.calls).toEqual([
      [`dormouse: room ${JSON.stringify(room)}: closed a connection: ${code} ${closed.reason}`],
    ]);
    lines.mockRestore();
    expect(honest.closed).toBeNull();
    honest.type("still here");
    await settle(honest);
    const stored = await runInDurableObject(stub, (instance, { storage }) => {
      instance.flush();
      return storage.sql.exec("SELECT COUNT(*) AS n FROM dormouse_log").one();
    });
    expect(stored).toEqual({ n: 1 });
  });

  test("[A9] clients without a name are told apart by their address", async () => {
    const from = (address: string): Record<string, string> => ({ "CF-Connecting-IP": address });
    const url = roomUrl("plain", "nameless storm");
    // Two faults are forgiven: an address may be shared by people who did nothing.
    for (let fault = 1; fault <= 3; fault++) {
      const bad = await RawClient.open(url, from("192.0.2.1"));
      bad.send(new Uint8Array());
      await bad.waitForClose();
    }
    const refused = await upgrade(url, from("192.0.2.1"));
    expect(refused.status).toBe(400);
    await refused.text();
    expect((await upgrade(url, from("192.0.2.2"))).status).toBe(101);
  });

  test("[A9] a client with _pk that was closed so is refused over HTTP when it comes back at once", async () => {
    const url = roomUrl("plain", "storm", "?_pk=stormy");
    const bad = await RawClient.join(url);
    bad.send(new Uint8Array());
    await bad.waitForClose();
    const response = await upgrade(url);
    expect(response.status).toBe(400);
    expect(Number(response.headers.get("Retry-After"))).toBeGreaterThan(0);
    await response.text();
    expect((await upgrade(roomUrl("plain", "storm", "?_pk=calm"))).status).toBe(101);
  });
});

describe("limits", () => {
  test("[S11] an update over a limit closes its connection with 4413, and nothing of it is stored", async () => {
    const honest = await RawClient.join(roomUrl("limited", "limits"));
    const bad = await RawClient.join(roomUrl("limited", "limits", "?_pk=bad"));
    bad.type("x".repeat(2_000));
    expect((await bad.waitForClose()).code).toBe(4413);
    await settle(honest);
    expect(honest.of("update")).toEqual([]);
    const again = await upgrade(roomUrl("limited", "limits", "?_pk=bad"));
    expect(again.status).toBe(413);
    await again.text();
  });

  test("[S11] a frame over the platform's limit closes its connection, and its presence goes", async () => {
    const room = "33 MiB";
    const honest = await RawClient.join(roomUrl("plain", room));
    const bad = await RawClient.join(roomUrl("plain", room));
    bad.announce({ user: "bad" });
    await vi.waitFor(() => expect(honest.people().size).toBe(1), waitOptions);
    bad.send(new Uint8Array(33 * 1_048_576));
    await vi.waitFor(() => expect(honest.people().size).toBe(0), { timeout: 15_000, interval: 20 });
    honest.type("still here");
    await settle(honest);
    expect(honest.closed).toBeNull();
  });
});

function awarenessOf(json: string): Uint8Array {
  const state = encoder.encode(json);
  const body = Uint8Array.of(1, 1, 1, state.length, ...state);
  return Uint8Array.of(1, body.length, ...body);
}
