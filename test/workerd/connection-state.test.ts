import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { StateTooLargeError } from "../../src/index.js";
import { ConnectionFlag, readAttachment } from "../../src/room/attachment.js";
import { RawClient, roomUrl, settle, upgrade, waitOptions, slug } from "./raw-client.js";
import { evict, scenario } from "./scenario.js";
import type { HookedRoom } from "./worker.js";

type Stub = DurableObjectStub<HookedRoom>;

/** Runs `work` on the one connection of a room. */
function onConnection<T>(
  stub: Stub,
  work: (connection: import("partyserver").Connection<Record<string, unknown>>) => T,
): Promise<T> {
  return runInDurableObject(stub, (instance: HookedRoom) => {
    const [connection] = instance.getConnections<Record<string, unknown>>();
    if (connection === undefined) throw new Error("Nobody is connected.");
    return work(connection);
  });
}

describe("the application's state on a connection", () => {
  scenario("[H1] is there on the next message", async (step, room) => {
    const stub = env.HOOKED.getByName(slug(room));
    const client = await RawClient.open(roomUrl("hooked", room, "?name=Alice"));
    await step(stub);
    client.send("state?");
    expect((await client.waitFor("text")).text).toBe('{"name":"Alice"}');
  });

  scenario("[H2] cannot touch what the room keeps, nor sees it", async (step, room) => {
    const stub = env.HOOKED.getByName(slug(room));
    const client = await RawClient.open(roomUrl("hooked", room, "?name=Alice&_pk=x"));
    client.announce({ user: "Alice" }, 7);
    await settle(client);
    const ours = (): Promise<unknown> => onConnection(stub, (connection) => readAttachment(connection));
    const before = await ours();
    await step(stub);
    await onConnection(stub, (connection) => connection.setState({ x: 1 }));
    await step(stub);
    expect(await ours()).toEqual(before);
    expect(await onConnection(stub, (connection) => connection.state)).toEqual({ x: 1 });
  });

  scenario("[H3] null and functional updates leave the rest alone", async (step, room) => {
    const stub = env.HOOKED.getByName(slug(room));
    await RawClient.open(roomUrl("hooked", room, "?name=Alice&_pk=x"));
    const ours = (): Promise<unknown> => onConnection(stub, (connection) => readAttachment(connection));
    const before = await ours();
    await step(stub);
    const seen = await onConnection(stub, (connection) => {
      let previous: unknown;
      connection.setState((state) => {
        previous = state;
        return { ...state, count: 1 };
      });
      return previous;
    });
    expect(seen).toEqual({ name: "Alice" });
    await step(stub);
    expect(await onConnection(stub, ({ state }) => state)).toEqual({ name: "Alice", count: 1 });
    await onConnection(stub, (connection) => connection.setState(null));
    await step(stub);
    expect(await onConnection(stub, ({ state }) => state)).toBeNull();
    expect(await ours()).toEqual(before);
  });

  test.each(["x".repeat(9_000), Array.from({ length: 4_000 }, (_, i) => i / 7), { deep: "é".repeat(8_000) }])(
    "[H4] that is too large is refused with a typed error, and the old one stays",
    async (state) => {
      const room = `too large ${JSON.stringify(state).length}`;
      const stub = env.HOOKED.getByName(slug(room));
      await RawClient.open(roomUrl("hooked", slug(room), "?name=Alice"));
      const thrown = await onConnection(stub, (connection) => {
        try {
          connection.setState({ state });
          return null;
        } catch (error) {
          return { isTyped: error instanceof StateTooLargeError, state: connection.state };
        }
      });
      expect(thrown).toEqual({ isTyped: true, state: { name: "Alice" } });
      await evict(stub);
      expect(await onConnection(stub, (connection) => connection.state)).toEqual({ name: "Alice" });
    },
  );
});

describe("the upgrade", () => {
  test("[H18] with a query of 10 KB is accepted, and neither query nor token is in the attachment", async () => {
    const room = "long query";
    const query = `?name=Alice&token=SECRET&_pk=SECRETPK&pad=${"x".repeat(10_000)}`;
    await RawClient.open(roomUrl("hooked", room, query));
    const stub = env.HOOKED.getByName(slug(room));
    const stored = await onConnection(stub, (connection) =>
      JSON.stringify(WebSocket.prototype.deserializeAttachment.call(connection)),
    );
    expect(stored).not.toContain("SECRET");
    expect(stored.length).toBeLessThan(1_000);
    expect(await onConnection(stub, ({ uri }) => uri)).not.toContain("SECRET");
  });

  test.each([
    ["ten tags", Array.from({ length: 10 }, (_, i) => `tag=${i}`).join("&")],
    ["a tag of 257 characters", "tag=long"],
    ["an empty tag", "tag="],
  ])("[H19] with %s is refused, and no socket stays open", async (name, query) => {
    const room = slug(`tags ${name}`);
    const response = await upgrade(roomUrl("hooked", room, `?${query}`));
    expect(response.status).toBe(503);
    expect(response.webSocket).toBeNull();
    expect(await response.text()).not.toMatch(/at \w|Error/);
    const stub = env.HOOKED.getByName(slug(room));
    await vi.waitFor(async () => {
      expect(await runInDurableObject(stub, (_, { getWebSockets }) => typeof getWebSockets)).toBe("function");
      expect(await runInDurableObject(stub, (instance) => [...instance.getConnections()].length)).toBe(0);
      expect(await runInDurableObject(stub, (_, state) => state.getWebSockets().length)).toBe(0);
    }, waitOptions);
  });

  test("[A6] whose onConnect throws is refused without a stack, and nobody else notices", async () => {
    const room = "onConnect throws";
    const other = await RawClient.join(roomUrl("hooked", slug(room), "?name=Bob"));
    const before = other.frames.length;
    const response = await upgrade(roomUrl("hooked", slug(room), "?fail"));
    expect(response.status).toBe(503);
    expect(response.headers.get("Retry-After")).not.toBeNull();
    expect(await response.text()).not.toMatch(/at \w|Error/);
    await settle(other);
    expect(other.frames.slice(before).map(({ type }) => type)).toEqual(["step2"]);
    const stub = env.HOOKED.getByName(slug(room));
    await vi.waitFor(async () => {
      expect(await runInDurableObject(stub, (_, state) => state.getWebSockets().length)).toBe(1);
    }, waitOptions);
  });

  test("[A7] that offers subprotocols gets the first one back", async () => {
    const response = await upgrade(roomUrl("plain", "subprotocol"), {
      "Sec-WebSocket-Protocol": "one, two",
    });
    expect(response.status).toBe(101);
    expect(response.headers.get("Sec-WebSocket-Protocol")).toBe("one");
    response.webSocket?.accept();
  });

  test("[A8] gets an id that the client did not choose: two with the same _pk are two connections", async () => {
    const room = "same pk";
    await RawClient.open(roomUrl("hooked", slug(room), "?_pk=same"));
    await RawClient.open(roomUrl("hooked", slug(room), "?_pk=same"));
    const stub = env.HOOKED.getByName(slug(room));
    const ids = await runInDurableObject(stub, (instance) => {
      const found = [...instance.getConnections()].map(({ id }) => id);
      return found.map((id) => instance.getConnection(id)?.id);
    });
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain("same");
  });
});

test("[P10] flags and people of the attachment stay within 2 KB for an ordinary presence", async () => {
  const room = "budget";
  const client = await RawClient.join(roomUrl("plain", room, "?_pk=x"));
  client.announce({
    user: { name: "Alice", color: "#ff8800" },
    cursor: { anchor: { type: null, tname: "text", item: null }, head: 3 },
  });
  await settle(client);
  const stub = env.PLAIN.getByName(slug(room));
  const stored = await runInDurableObject(stub, (_, state) => {
    const [socket] = state.getWebSockets();
    if (socket === undefined) throw new Error("Nobody is connected.");
    return { size: JSON.stringify(socket.deserializeAttachment()).length, ours: readAttachment(socket) };
  });
  expect(stored.size).toBeLessThan(2_048);
  expect((stored.ours?.flags ?? 0) & ConnectionFlag.answered).toBe(ConnectionFlag.answered);
});
