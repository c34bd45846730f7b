// What an application sees of a provider: pace, order, tabs, the page, the end.
import { randomUUID } from "node:crypto";
import * as broadcast from "lib0/broadcastchannel";
import { describe, expect, test, vi } from "vitest";
import { Awareness } from "y-protocols/awareness";
import * as Y from "yjs";
import { YProvider } from "../../../client/index.js";
import { encodeSyncStep2, encodeUpdate } from "../../../src/protocol/message.js";
import { decodeSent, FakeNetwork, nothing } from "../../support/fake-socket.ts";
import { pass, setUp, setUpRoom, textOf, useFakeTimers, write } from "./provider-fixture.ts";
import type { Setup } from "./provider-fixture.ts";

useFakeTimers();
const realSetImmediate = setImmediate;

describe("pace", () => {
  test("[Y20] a keystroke and its cursor move are one frame, at the end of the task", async () => {
    const setup = await setUpRoom();
    write(setup, "a");
    setup.provider.awareness.setLocalStateField("cursor", 1);
    expect(setup.network.last.frames).toHaveLength(0);
    await Promise.resolve();
    const sent = setup.network.last.take();
    expect(sent).toMatchObject([{ type: "update", number: 1, awareness: [{ state: '{"cursor":1}' }] }]);
  });

  test("[Y20] 500 transactions with cursor moves in 5 s are at most 110 frames, and all arrive", async () => {
    const setup = await setUpRoom();
    const reader = new Y.Doc();
    for (let i = 0; i < 500; i++) {
      write(setup, `${i} `);
      setup.provider.awareness.setLocalStateField("cursor", i);
      await pass(10);
    }
    await pass(100);
    const sent = setup.network.last.take();
    expect(sent.length).toBeLessThanOrEqual(110);
    expect(sent.length).toBeGreaterThan(90);
    for (const one of sent) if (one.type === "update") Y.applyUpdate(reader, one.update);
    expect(reader.getText("text").toJSON()).toBe(textOf(setup));
  });

  test("[Y20] a cursor that moves alone keeps the same pace", async () => {
    const setup = await setUpRoom();
    for (let i = 0; i < 100; i++) {
      setup.provider.awareness.setLocalStateField("cursor", i);
      await pass(5);
    }
    await pass(100);
    const sent = setup.network.last.take();
    expect(sent.length).toBeLessThanOrEqual(12);
    expect(sent.at(-1)).toMatchObject({ type: "awareness", entries: [{ state: '{"cursor":99}' }] });
  });

  test("[Y21] messages keep their place among updates, also those from before the line was open", async () => {
    const setup = setUp();
    write(setup, "a");
    setup.provider.sendMessage("first");
    setup.provider.sendMessage("second");
    await pass();
    setup.network.last.beRoom();
    write(setup, "b");
    setup.provider.sendMessage("third");
    write(setup, "c");
    await pass(100);
    const sent = setup.network.last.take().map((one) => (one.type === "text" ? one.text : one.type));
    expect(sent.slice(3)).toEqual(["update", "first", "second", "step2", "update", "third", "update"]);
  });

  test("[Y21] too many messages that wait are dropped with an error event each", async () => {
    const { provider, errors, network } = setUp();
    for (let i = 0; i < 200; i++) provider.sendMessage(`${i}`);
    expect(errors).toHaveLength(72);
    expect(errors[0]).toEqual({ type: "message-dropped", cause: "128" });
    provider.sendMessage("x".repeat(2_000_000));
    expect(errors).toHaveLength(73);
    await pass();
    network.last.beRoom();
    const texts = network.last.take().flatMap((one) => (one.type === "text" ? [one.text] : []));
    expect(texts).toHaveLength(128);
    expect(texts.at(-1)).toBe("127");
    network.last.drop(1006);
    provider.sendMessage("x".repeat(1_000_000));
    provider.sendMessage("x".repeat(100_000));
    expect(errors).toHaveLength(74);
  });

  test("[Y21] application messages arrive", async () => {
    const { network, told } = await setUpRoom();
    network.last.deliver("__YPS:hello");
    network.last.deliver("__YPS:");
    network.last.deliver("pong");
    network.last.deliver("other");
    expect(told).toEqual(["message:hello", "message:"]);
  });
});

describe("the page", () => {
  function stubPage(): EventTarget {
    const window = new EventTarget();
    vi.stubGlobal("window", window);
    return window;
  }

  test("[Y22] what waits is sent when the page is hidden or left", async () => {
    const window = stubPage();
    const setup = await setUpRoom({ disableBc: true });
    write(setup, "a");
    await pass();
    write(setup, "b");
    window.dispatchEvent(new Event("visibilitychange"));
    expect(setup.network.last.takeTypes()).toEqual(["update", "update", "ping"]);
    write(setup, "c");
    window.dispatchEvent(new Event("pagehide"));
    const sent = setup.network.last.take();
    expect(sent).toMatchObject([
      { type: "update" },
      { type: "awareness", entries: [{ clientID: setup.provider.doc.clientID, state: "null" }] },
    ]);
  });

  test("[Y22] presence goes with the page, and is back when it is shown again", async () => {
    const window = stubPage();
    const setup = await setUpRoom({ disableBc: true });
    setup.provider.awareness.setLocalState({ name: "me" });
    await pass(100);
    setup.network.last.take();
    window.dispatchEvent(new Event("pagehide"));
    setup.provider.awareness.setLocalStateField("late", true);
    await pass(100);
    expect(setup.network.last.take()).toMatchObject([{ entries: [{ state: "null" }] }]);
    window.dispatchEvent(new Event("pageshow"));
    await pass(100);
    expect(setup.network.last.take()).toMatchObject([
      { type: "ping" },
      { entries: [{ state: '{"name":"me","late":true}' }] },
    ]);
  });

  test("[Y22] a page that is shown for the first time, or not hidden, says nothing new", async () => {
    const window = stubPage();
    const setup = await setUpRoom({ disableBc: true });
    window.dispatchEvent(new Event("pageshow"));
    await pass(100);
    expect(setup.network.last.takeTypes()).toEqual(["ping"]);
  });

  test("[Y23] a network that is back, and a page that is looked at, end a pause", async () => {
    const window = stubPage();
    const setup = await setUpRoom({ disableBc: true });
    for (const type of ["online", "visibilitychange"]) {
      setup.network.last.drop(1006);
      await pass();
      const count = setup.network.sockets.length;
      window.dispatchEvent(new Event(type));
      await pass();
      expect(setup.network.sockets).toHaveLength(count + 1);
      setup.network.last.beRoom();
    }
  });

  test("[Y23] a line to a room is asked whether it lives, once", async () => {
    const window = stubPage();
    const setup = await setUpRoom({ disableBc: true });
    for (let i = 0; i < 5; i++) {
      window.dispatchEvent(new Event("offline"));
      window.dispatchEvent(new Event("visibilitychange"));
      await pass(1_500);
    }
    expect(setup.network.last.takeTypes()).toEqual(["ping"]);
    await pass(2_600);
    expect(setup.provider.wsconnected).toBe(false);
  });

  test("[Y23] without a network few attempts are made, so that there is one when it is back", async () => {
    const window = stubPage();
    vi.stubGlobal("navigator", { onLine: false });
    const network = new FakeNetwork();
    network.onSocket = (socket) => socket.refuse();
    setUp({ network, disableBc: true, maxBackoffTime: 10 });
    await pass(300_000);
    window.dispatchEvent(new Event("offline"));
    await pass();
    const count = network.sockets.length;
    expect(count).toBeLessThanOrEqual(31);
    vi.stubGlobal("navigator", { onLine: true });
    window.dispatchEvent(new Event("online"));
    await pass();
    expect(network.sockets).toHaveLength(count + 1);
  });

  test("[Y24] warnOnClose asks while something is unsaved, and only then", async () => {
    const window = stubPage();
    const setup = await setUpRoom({ disableBc: true, warnOnClose: true });
    const silent = await setUpRoom({ disableBc: true });
    const asks = () => !window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
    expect(asks()).toBe(false);
    write(silent, "a");
    expect(asks()).toBe(false);
    write(setup, "a");
    expect(asks()).toBe(true);
    await pass(100);
    expect(asks()).toBe(true);
    setup.network.last.ack(1);
    expect(asks()).toBe(false);
  });
});

describe("other tabs", () => {
  /** The name under which the tabs of a room meet. */
  function channelOf({ provider }: Setup): string {
    return `${provider.url.replace(/\?.*/, "")}#e1`;
  }

  /** Two tabs of one browser, each with a line of its own. */
  async function openTabs(epochs: readonly [string, string] = ["e1", "e1"]): Promise<[Setup, Setup]> {
    const party = randomUUID();
    const tabs: Setup[] = [];
    for (const epoch of epochs) {
      const setup = setUp({ party, disableBc: false });
      await pass();
      setup.network.last.beRoom({ epoch });
      await pass(100);
      setup.network.last.take();
      tabs.push(setup);
    }
    return tabs as [Setup, Setup];
  }

  test("[Y25] get what is written, without the server", async () => {
    const [one, two] = await openTabs();
    expect([one.provider.bcconnected, two.provider.bcconnected]).toEqual([true, true]);
    one.network.last.drop(1006);
    two.network.last.drop(1006);
    write(one, "from one");
    expect(textOf(two)).toBe("from one");
    expect(two.provider.awareness.getStates().size).toBe(2);
  });

  test("[Y25] what another tab wrote is unsaved here, and sent if that tab may be gone", async () => {
    const [one, two] = await openTabs();
    write(one, "from one");
    await pass(100);
    expect(one.network.last.takeTypes()).toEqual(["update"]);
    expect([two.provider.saved, two.provider.hasUnsyncedChanges]).toEqual([false, true]);
    expect(two.network.last.take()).toEqual([]);
    one.provider.destroy();
    await pass(3_000);
    const [update] = two.network.last.take();
    const reader = new Y.Doc();
    Y.applyUpdate(reader, (update as { update: Uint8Array }).update);
    expect(reader.getText("text").toJSON()).toBe("from one");
    two.network.last.ack(1);
    expect(two.provider.saved).toBe(true);
  });

  test("[Y25] what another tab wrote is not told to tabs again", async () => {
    const [one, two] = await openTabs();
    for (let i = 0; i < 10; i++) {
      write(one, "a");
      write(two, "b");
    }
    await pass(100);
    const updates = () => [one, two].map(({ network }) => network.last.takeTypes().length);
    expect(updates()).toEqual([1, 1]);
    await pass(20_000);
    // Once each: what the other wrote after the first frame, or nothing.
    for (const count of updates()) expect(count).toBeLessThanOrEqual(4);
    expect(textOf(one)).toBe(textOf(two));
  });

  test("[Y25] an update of another tab that builds on what is not here yet is kept", async () => {
    const [, two] = await openTabs();
    const author = new Y.Doc();
    const updates: Uint8Array[] = [];
    author.on("update", (update: Uint8Array) => updates.push(update));
    author.getText("text").insert(0, "a");
    author.getText("text").insert(1, "b");
    broadcast.publish(channelOf(two), encodeUpdate(updates[1] ?? nothing));
    expect(textOf(two)).toBe("");
    expect(two.provider.hasUnsyncedChanges).toBe(true);
    two.network.last.deliver(encodeUpdate(updates[0] ?? nothing));
    expect(textOf(two)).toBe("ab");
    await pass(3_000);
    expect(two.network.last.takeTypes()).toEqual(["update"]);
  });

  test("[Y25] a tab that joins gets what others have not sent", async () => {
    const party = randomUUID();
    const one = setUp({ party, disableBc: false });
    await pass();
    one.network.last.beRoom();
    one.network.last.drop(1006);
    write(one, "offline");
    const two = setUp({ party, disableBc: false });
    await pass();
    const published: string[] = [];
    const listener = broadcast.subscribe(channelOf(two), (data: Uint8Array) => {
      published.push(decodeSent(data).type);
    });
    two.network.last.beRoom();
    broadcast.unsubscribe(channelOf(two), listener);
    expect(textOf(two)).toBe("offline");
    // Only what answers the newcomer; he tells nobody again.
    expect(published.toSorted()).toEqual(["awareness", "awareness", "queryAwareness", "step1", "step2"]);
    expect(two.provider.hasUnsyncedChanges).toBe(true);
  });

  test("[Y26] with another life of the document hear nothing of each other", async () => {
    const [one, two] = await openTabs(["e1", "e2"]);
    write(one, "of the first life");
    expect(textOf(two)).toBe("");
    expect(two.provider.awareness.getStates().size).toBe(1);
  });

  test("[Y26] say nothing before it is known which life they have, nor after a refusal", async () => {
    const party = randomUUID();
    const one = setUp({ party, disableBc: false });
    const two = setUp({ party, disableBc: false });
    await pass();
    for (const { network, provider } of [one, two]) {
      network.last.beRoom({ epoch: "" });
      expect(provider.bcconnected).toBe(false);
    }
    write(one, "a");
    expect(textOf(two)).toBe("");
    for (const { network, provider } of [one, two]) {
      network.last.sayHello({ epoch: "e1", head: 1 });
      expect(provider.bcconnected).toBe(true);
    }
    expect(textOf(two)).toBe("a");
    one.network.last.drop(4403);
    expect(one.provider.bcconnected).toBe(false);
    write(two, "b");
    expect(textOf(one)).toBe("a");
  });

  test("[Y25] of other servers meet by the address, and presence goes with a tab", async () => {
    const party = randomUUID();
    const tabs = [setUp({ party, disableBc: false }), setUp({ party, disableBc: false })] as const;
    await pass();
    for (const { network } of tabs) {
      network.last.accept();
      network.last.deliver(encodeSyncStep2(nothing));
    }
    const [one, two] = tabs;
    one.provider.awareness.setLocalStateField("name", "one");
    expect([...two.provider.awareness.getStates().values()]).toContainEqual({ name: "one" });
    one.network.last.drop(1006);
    expect(one.provider.awareness.getStates().size).toBe(2);
    one.provider.disconnect();
    expect(two.provider.awareness.getStates().size).toBe(1);
    expect(one.provider.bcconnected).toBe(false);
  });

  test("[Y25] somebody else's bytes on the channel cost nothing", async () => {
    const [one] = await openTabs();
    for (const data of [
      Uint8Array.of(0, 0, 200),
      Uint8Array.of(0, 2, 1, 9),
      new Uint8Array(),
      "text",
      null,
    ]) {
      broadcast.publish(channelOf(one), data);
    }
    expect(one.provider.wsconnected).toBe(true);
    expect(new Set(one.told.filter((told) => told.startsWith("error")))).toEqual(new Set(["error:apply"]));
  });

  test("[Y25] are not spoken to where there is no page", async () => {
    const { provider } = await setUpRoom();
    expect(provider.bcconnected).toBe(false);
    vi.stubGlobal("window", new EventTarget());
    expect((await setUpRoom({ party: randomUUID() })).provider.bcconnected).toBe(true);
  });
});

describe("beginning and end", () => {
  test("[Y27] nothing is listened to, timed or opened before it connects", async () => {
    const window = new EventTarget();
    const added = vi.spyOn(window, "addEventListener");
    vi.stubGlobal("window", window);
    const doc = new Y.Doc();
    const observers = doc._observers.size;
    const { network, provider } = setUp({ connect: false, doc });
    await pass(60_000);
    expect(vi.getTimerCount()).toBe(0);
    expect(doc._observers.size).toBe(observers);
    expect(added).not.toHaveBeenCalled();
    expect(network.sockets).toHaveLength(0);
    expect([provider.shouldConnect, provider.synced, provider.saved, provider.ws]).toEqual([
      false,
      false,
      false,
      null,
    ]);
    doc.getText("text").insert(0, "before");
    void provider.connect();
    await pass();
    network.last.beRoom();
    expect(network.last.takeTypes()).toContain("update");
  });

  test("[Y27] a thousand providers leave nothing behind", async () => {
    const window = new EventTarget();
    let listeners = 0;
    vi.spyOn(window, "addEventListener").mockImplementation(() => void listeners++);
    vi.spyOn(window, "removeEventListener").mockImplementation(() => void listeners--);
    vi.stubGlobal("window", window);
    const doc = new Y.Doc();
    const shared = new Awareness(doc);
    const countOf = (observers: Map<string, Set<unknown>>) =>
      [...observers.values()].reduce((sum, set) => sum + set.size, 0);
    const before = [countOf(doc._observers), countOf(shared._observers as Map<string, Set<unknown>>)];
    for (let i = 0; i < 1_000; i++) {
      const network = new FakeNetwork();
      const provider = new YProvider("localhost:1", `room ${i % 3}`, doc, {
        WebSocketPolyfill: network.WebSocket,
        connect: i % 4 !== 0,
        resyncInterval: 1_000,
        ...(i % 2 === 0 ? { awareness: shared } : {}),
      });
      if (i % 4 === 1) await pass();
      if (i % 8 === 1) network.last.beRoom();
      if (i % 8 === 5) network.last.refuse();
      provider.destroy();
      provider.destroy();
      expect(network.sockets.filter(({ readyState }) => readyState < 2)).toEqual([]);
    }
    await pass();
    expect(vi.getTimerCount()).toBe(0);
    expect(listeners).toBe(0);
    const after = [countOf(doc._observers), countOf(shared._observers as Map<string, Set<unknown>>)];
    expect(after).toEqual(before);
    shared.destroy();
  });

  test("[Y27] destroy is final", async () => {
    const setup = await setUpRoom();
    const { provider, network } = setup;
    provider.destroy();
    await provider.connect();
    provider.sendMessage("x");
    write(setup, "after");
    await pass(60_000);
    expect(network.sockets).toHaveLength(1);
    expect(network.last.readyState).toBe(2);
    expect(provider.ws).toBe(null);
  });

  test("[Y27] the end may come from within, while an update is applied", async () => {
    for (const end of ["destroy", "disconnect"] as const) {
      const setup = setUp();
      const { provider, network, told } = setup;
      provider.doc.getText("text").observe(() => provider[end]());
      await pass();
      network.last.accept();
      const doc = new Y.Doc();
      doc.getText("text").insert(0, "a");
      network.last.deliver(encodeSyncStep2(Y.encodeStateAsUpdate(doc)));
      expect([provider.synced, provider.wsconnected, provider.shouldConnect]).toEqual([false, false, false]);
      expect(told).not.toContain("synced:true");
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  test("[Y27] a platform with a window that has no events is no page", async () => {
    vi.stubGlobal("window", {});
    const { provider } = await setUpRoom();
    expect([provider.synced, provider.bcconnected]).toEqual([true, false]);
  });

  test("[Y27] the end of the document ends the provider", async () => {
    const { provider, network } = await setUpRoom();
    provider.doc.destroy();
    expect(network.last.readyState).toBe(2);
    expect(provider.shouldConnect).toBe(false);
  });

  test("[Y27] an awareness that was given stays, one that was made ends", async () => {
    const doc = new Y.Doc();
    const awareness = new Awareness(doc);
    const given = await setUpRoom({ doc, awareness });
    expect(given.provider.awareness).toBe(awareness);
    given.provider.destroy();
    expect(awareness.getLocalState()).toEqual({});
    expect(vi.getTimerCount()).toBe(0);
    awareness.destroy();
    const made = await setUpRoom();
    made.provider.destroy();
    expect(made.provider.awareness.getLocalState()).toBe(null);
  });

  test("[Y28] a listener that throws stops neither the others nor the provider", async () => {
    const uncaught = vi.fn();
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", uncaught);
    const { provider, network } = setUp();
    const second = vi.fn();
    for (const name of ["status", "synced", "sync", "saved", "access", "connection-close"] as const) {
      provider.on(name, () => {
        throw new Error("of the application");
      });
      provider.on(name, second);
    }
    await pass();
    network.last.beRoom();
    network.last.drop(1006);
    await pass(1_000);
    network.last.beRoom();
    expect(provider.synced).toBe(true);
    provider.destroy();
    expect(second.mock.calls.length).toBeGreaterThan(8);
    await new Promise((resolve) => realSetImmediate(resolve));
    expect(uncaught.mock.calls.length).toBe(second.mock.calls.length);
    process.removeListener("uncaughtException", uncaught);
    for (const listener of listeners) process.on("uncaughtException", listener);
  });

  test("[Y28] events come in the order in which things happen", async () => {
    const { network, told } = setUp();
    await pass();
    network.last.beRoom();
    expect(told).toEqual([
      "connecting",
      "connected",
      "access:write",
      "epoch:e1",
      "saved:true",
      "synced:true",
      "sync:true",
    ]);
  });

  test("[Y28] resyncInterval asks again and again while the line is open", async () => {
    const { network, provider } = await setUpRoom({ resyncInterval: 1_000 });
    await pass(3_100);
    expect(network.last.takeTypes()).toEqual(["step1", "step1", "step1"]);
    network.last.drop(1006);
    await pass(500);
    provider.disconnect();
    await pass(5_000);
  });
});

describe("addresses", () => {
  const urlOf = (host: string, room: string, options = {}) =>
    new YProvider(host, room, undefined, { connect: false, ...options }).url;

  test.each([
    ["localhost:8787", "ws://localhost:8787"],
    ["localhost", "ws://localhost"],
    ["http://localhost:8787/", "ws://localhost:8787"],
    ["127.0.0.1:8787", "ws://127.0.0.1:8787"],
    ["192.168.1.7:80", "ws://192.168.1.7:80"],
    ["10.0.0.1", "ws://10.0.0.1"],
    ["172.16.0.1:1", "ws://172.16.0.1:1"],
    ["172.31.0.1:1", "ws://172.31.0.1:1"],
    ["172.32.0.1:1", "wss://172.32.0.1:1"],
    ["[::1]:8787", "ws://[::1]:8787"],
    ["example.com", "wss://example.com"],
    ["https://example.com/base//", "wss://example.com/base"],
    ["ws://example.com", "wss://example.com"],
    ["localhost.example.com", "wss://localhost.example.com"],
  ])("[Y29] %s is %s", (host, expected) => {
    expect(urlOf(host, "room")).toBe(`${expected}/parties/main/room`);
  });

  test("[Y29] party, prefix and protocol are as in y-partyserver", () => {
    expect(urlOf("example.com", "r", { party: "docs" })).toBe("wss://example.com/parties/docs/r");
    expect(urlOf("example.com", "r", { protocol: "ws" })).toBe("ws://example.com/parties/main/r");
    expect(urlOf("example.com", "r", { prefix: "/my/room" })).toBe("wss://example.com/my/room");
    expect(urlOf("example.com", "r", { prefix: "/my", isPrefixedUrl: false })).toBe("wss://example.com/my/r");
    expect(urlOf("example.com", "r", { isPrefixedUrl: true })).toBe("wss://example.com/parties/main/r");
  });

  test("[Y29] a room's name has one spelling in the path", () => {
    expect(urlOf("example.com", "a b/c?d#e%20")).toBe(
      "wss://example.com/parties/main/a%20b%2Fc%3Fd%23e%2520",
    );
    expect(urlOf("example.com", "doc:1")).toBe("wss://example.com/parties/main/doc:1");
    expect(urlOf("example.com", "Zoë|\n")).toBe("wss://example.com/parties/main/Zo%C3%AB%7C%0A");
    expect(() => urlOf("example.com", "\ud800")).toThrow(URIError);
    expect(() => urlOf(undefined as never, "r")).toThrow(TypeError);
    expect(() => urlOf("example.com", 7 as never)).toThrow(TypeError);
  });

  test("[Y29] the query has the label, what says that close codes are read, and the params", async () => {
    const { network, provider } = setUp({
      connectionId: "me",
      params: { token: "a&b", no: undefined, none: null },
    });
    await pass();
    expect(network.last.url).toBe("wss://example.com/parties/main/room?_pk=me&_dm=1&token=a%26b");
    expect(provider.id).toBe("me");
  });
});
