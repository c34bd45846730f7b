// What a provider says to a room, and to a server that is none.
import { describe, expect, test, vi } from "vitest";
import * as Y from "yjs";
import { decodeClientControl, cutFrame, encodeServerControl } from "../../../src/protocol/control.js";
import {
  encodeAwareness,
  encodePermissionDenied,
  encodeQueryAwareness,
  encodeSyncStep1,
  encodeSyncStep2,
  encodeUpdate,
} from "../../../src/protocol/message.js";
import { nobody, nothing } from "../../support/fake-socket.ts";
import type { Sent } from "../../support/fake-socket.ts";
import { pass, setUp, setUpRoom, textOf, useFakeTimers, write } from "./provider-fixture.ts";

useFakeTimers();

type SentUpdate = Extract<Sent, { number: number }>;

function updatesOf(sent: readonly Sent[]): SentUpdate[] {
  return sent.filter((one): one is SentUpdate => one.type === "update" && "number" in one);
}

/** The text that updates make of an empty document, or of `base`. */
function textIn(updates: readonly { readonly update: Uint8Array }[], base: Uint8Array = nothing): string {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, base);
  for (const { update } of updates) Y.applyUpdate(doc, update);
  return doc.getText("text").toJSON();
}

function updateWith(text: string): Uint8Array {
  const doc = new Y.Doc();
  doc.getText("text").insert(0, text);
  return Y.encodeStateAsUpdate(doc);
}

describe("greeting", () => {
  test("[Y1] is hello, sync step 1 and one's own presence, with a secret that stays the same", async () => {
    const { provider, network } = setUp();
    await pass();
    network.last.accept();
    const sent = network.last.take();
    expect(sent.map(({ type }) => type)).toEqual(["hello", "step1", "awareness"]);
    expect(sent[0]).toMatchObject({ version: 1, epoch: "", cursor: 0 });
    expect(sent[2]).toMatchObject({ entries: [{ clientID: provider.doc.clientID, state: "{}" }] });
    network.last.drop(1006);
    await pass(1_000);
    network.last.accept();
    const [hello] = network.last.take();
    expect(hello).toEqual(sent[0]);
    expect((hello as { secret: string }).secret).toHaveLength(36);
  });

  test("[Y1] names the epoch and the cursor of what it has, on the next line", async () => {
    const setup = await setUpRoom();
    const { network } = setup;
    network.last.ack(0, 7);
    network.last.drop(1006);
    await pass(1_000);
    network.last.accept();
    expect(network.last.take()[0]).toMatchObject({ epoch: "e1", cursor: 7 });
  });

  test("[Y1] has no cursor as long as the copy is not complete, or after something could not be applied", async () => {
    const { network, provider } = setUp();
    await pass();
    network.last.accept();
    network.last.sayHello({ head: 5 });
    network.last.ack(0, 6);
    network.last.drop(1006);
    await pass(1_000);
    expect(provider.epoch).toBe("e1");
    network.last.beRoom({ head: 5 });
    expect(network.last.take()[0]).toMatchObject({ epoch: "e1", cursor: 0 });
    network.last.deliver(encodeUpdate(Uint8Array.of(1, 1, 1)));
    network.last.ack(0, 9);
    network.last.drop(1006);
    await pass(2_000);
    network.last.accept();
    expect(network.last.take()[0]).toMatchObject({ epoch: "e1", cursor: 0 });
  });

  test("[Y1] takes no cursor from one life of the document into another", async () => {
    const { network } = await setUpRoom();
    network.last.ack(0, 7);
    network.last.drop(1006);
    await pass(1_000);
    network.last.accept();
    network.last.sayHello({ epoch: "", head: 0 });
    network.last.sayHello({ epoch: "e2", head: 9 });
    network.last.drop(1006);
    await pass(2_000);
    network.last.accept();
    expect(network.last.take()[0]).toMatchObject({ epoch: "e2", cursor: 0 });
  });

  test("[Y1] can name the epoch of a copy that was kept", async () => {
    const { network, provider } = setUp({ epoch: "kept" });
    expect(provider.epoch).toBe("kept");
    await pass();
    network.last.accept();
    expect(network.last.take()[0]).toMatchObject({ epoch: "kept", cursor: 0 });
  });
});

describe("a room", () => {
  test("[Y2] is answered with everything it lacks, whole, and an empty sync step 2", async () => {
    const doc = new Y.Doc();
    doc.getText("text").insert(0, "from a copy");
    const { network, provider } = setUp({ doc });
    await pass();
    network.last.accept();
    network.last.deliver(encodeSyncStep1(nobody));
    network.last.take();
    network.last.sayHello();
    const [update, step2] = network.last.take();
    expect(update).toMatchObject({ type: "update", number: 1, isWhole: true });
    expect(textIn([update as SentUpdate])).toBe("from a copy");
    expect(step2).toEqual({ type: "step2", update: nothing });
    expect(provider.saved).toBe(false);
    network.last.ack(1);
    expect(provider.saved).toBe(true);
  });

  test("[Y2] that lacks nothing is answered with an empty sync step 2 alone", async () => {
    const { network, provider } = setUp();
    await pass();
    network.last.beRoom();
    expect(network.last.takeTypes()).toEqual(["hello", "step1", "awareness", "step2"]);
    expect(provider.saved).toBe(true);
  });

  test("[Y2] is not answered before it has said hello", async () => {
    const { network } = setUp();
    await pass();
    network.last.accept();
    network.last.deliver(encodeSyncStep1(nobody));
    network.last.deliver(encodeUpdate(updateWith("early")));
    expect(network.last.takeTypes()).toEqual(["hello", "step1", "awareness"]);
    network.last.sayHello();
    // What came from the server is nothing that it lacks; it did not say so in its vector.
    expect(network.last.takeTypes()).toEqual(["update", "step2"]);
  });

  test("[Y2] gets nothing before its sync step 1 was answered, also when it says hello first", async () => {
    const setup = setUp();
    const { network } = setup;
    await pass();
    network.last.accept();
    network.last.sayHello();
    write(setup, "a");
    setup.provider.sendMessage("hi");
    await pass(100);
    expect(network.last.takeTypes()).toEqual(["hello", "step1", "awareness"]);
    network.last.deliver(encodeSyncStep1(nobody));
    expect(network.last.takeTypes()).toEqual(["update", "text", "step2"]);
  });

  test("[Y3] that is met again gets what is unsaved, merged, and nothing else", async () => {
    const setup = await setUpRoom();
    const { network, provider } = setup;
    write(setup, "one ");
    await pass(100);
    network.last.ack(1);
    write(setup, "two ");
    await pass(100);
    network.last.drop(1006);
    const base = Y.encodeStateAsUpdate(provider.doc);
    write(setup, "three ");
    await pass(10);
    write(setup, "four");
    await pass(1_000);
    network.last.beRoom({ head: 1 });
    const sent = network.last.take();
    expect(sent.map(({ type }) => type)).toEqual(["hello", "step1", "awareness", "update", "step2"]);
    const updates = updatesOf(sent);
    expect(updates).toMatchObject([{ number: 1, isWhole: false }]);
    // Without the first word, which is saved.
    expect(textIn(updates)).toBe("");
    expect(textIn(updates, base)).toBe("one two three four");
    network.last.ack(1, 2);
    expect(provider.saved).toBe(true);
  });

  test("[Y3] that is met again with nothing unsaved gets no update", async () => {
    const setup = await setUpRoom();
    write(setup, "one ");
    await pass(100);
    setup.network.last.ack(1);
    setup.network.last.drop(1006);
    await pass(1_000);
    setup.network.last.beRoom({ head: 1 });
    expect(setup.network.last.takeTypes()).toEqual(["hello", "step1", "awareness", "step2"]);
  });

  test("[Y3] that asks again gets everything that it lacks", async () => {
    const setup = await setUpRoom();
    const { network, provider } = setup;
    write(setup, "one ");
    await pass(100);
    network.last.ack(1);
    write(setup, "two");
    await pass(100);
    network.last.take();
    network.last.deliver(encodeSyncStep1(nobody));
    const sent = network.last.take();
    expect(sent).toMatchObject([{ type: "update", number: 3, isWhole: true }, { type: "step2" }]);
    expect(textIn(updatesOf(sent))).toBe("one two");
    expect(provider.saved).toBe(false);
    network.last.ack(2);
    expect(provider.saved).toBe(false);
    network.last.ack(3);
    expect(provider.saved).toBe(true);
  });

  test("[Y3] whose epoch was not settled gets everything again", async () => {
    const setup = setUp();
    await pass();
    setup.network.last.beRoom({ epoch: "" });
    write(setup, "one");
    await pass(100);
    setup.network.last.drop(1006);
    await pass(1_000);
    setup.network.last.beRoom({ epoch: "e9", head: 3 });
    expect(updatesOf(setup.network.last.take())).toMatchObject([{ number: 1, isWhole: true }]);
    expect(setup.provider.epoch).toBe("e9");
  });

  test("[Y3] says its epoch later when the document is new", async () => {
    const { network, provider, told } = setUp();
    await pass();
    network.last.beRoom({ epoch: "" });
    expect(provider.epoch).toBe(null);
    network.last.sayHello({ epoch: "e1", head: 1 });
    expect(provider.epoch).toBe("e1");
    expect(told).toContain("epoch:e1");
    network.last.drop(1006);
    await pass(1_000);
    network.last.accept();
    expect(network.last.take()[0]).toMatchObject({ epoch: "e1", cursor: 1 });
  });

  test("[Y4] with another life of the document closes the provider, whatever it sends next", async () => {
    const setup = await setUpRoom();
    const { network, provider, told } = setup;
    network.last.drop(1006);
    await pass(1_000);
    network.last.accept();
    network.last.sayHello({ epoch: "another" });
    network.last.deliver(encodeSyncStep2(updateWith("of another life")));
    expect(told).toContain("closed:4409 stale copy");
    expect(provider.shouldConnect).toBe(false);
    expect(textOf(setup)).toBe("");
    await pass(120_000);
    expect(network.sockets).toHaveLength(2);
  });
});

describe("acknowledgement", () => {
  test("[Y5] saved is true when all is stored, and not before", async () => {
    const setup = await setUpRoom();
    const { provider, network, told } = setup;
    expect([provider.saved, provider.hasUnsyncedChanges]).toEqual([true, false]);
    write(setup, "a");
    expect([provider.saved, provider.hasUnsyncedChanges]).toEqual([false, true]);
    await pass(100);
    write(setup, "b");
    await pass(100);
    network.last.say({ type: "ack", accepted: 2, saved: 1, head: 1 });
    expect(provider.saved).toBe(false);
    network.last.say({ type: "ack", accepted: 2, saved: 2, head: 2 });
    expect([provider.saved, provider.hasUnsyncedChanges]).toEqual([true, false]);
    expect(told).toEqual(["saved:false", "saved:true"]);
  });

  test("[Y5] nothing but saved lets go of an update: no vector, no lost line, no time", async () => {
    const setup = await setUpRoom();
    const { provider, network } = setup;
    write(setup, "kept");
    await pass(100);
    for (let i = 0; i < 3; i++) {
      network.last.drop(1006);
      await pass(10_000);
      network.last.beRoom({}, Y.encodeStateVector(provider.doc), Y.encodeStateAsUpdate(provider.doc));
      expect(textIn(updatesOf(network.last.take()))).toBe("kept");
      expect(provider.hasUnsyncedChanges).toBe(true);
    }
    network.last.ack(1);
    expect(provider.hasUnsyncedChanges).toBe(false);
  });

  test("[Y5] what is said to be saved and was never sent breaks the protocol", async () => {
    const setup = await setUpRoom();
    write(setup, "a");
    setup.network.last.ack(5);
    expect(setup.told).toContain("error:protocol");
    expect(setup.provider.hasUnsyncedChanges).toBe(true);
  });

  test("[Y5] offline edits of a day are kept in few pieces", async () => {
    const setup = await setUpRoom();
    setup.network.last.drop(1006);
    for (let i = 0; i < 20_000; i++) write(setup, "x");
    await pass(1_000);
    setup.network.last.beRoom();
    const updates = updatesOf(setup.network.last.take());
    expect(updates).toHaveLength(1);
    expect(textIn(updates)).toHaveLength(20_000);
  });

  test("[Y6] whenSaved and whenSynced wait, and reject when it will not be", async () => {
    const setup = setUp();
    const { provider, network } = setup;
    write(setup, "a");
    const synced = vi.fn();
    const saved = vi.fn();
    void provider.whenSynced().then(synced);
    void provider.whenSaved().then(saved);
    await pass();
    network.last.beRoom();
    await pass();
    expect([synced.mock.calls.length, saved.mock.calls.length]).toEqual([1, 0]);
    network.last.ack(1);
    await pass();
    expect(saved).toHaveBeenCalledOnce();
    await Promise.all([provider.whenSynced(), provider.whenSaved()]);
    write(setup, "b");
    const refused = expect(provider.whenSaved()).rejects.toThrow("4403");
    network.last.drop(4403, "not allowed");
    await refused;
    void provider.connect();
    const destroyed = expect(provider.whenSaved()).rejects.toThrow("destroyed");
    provider.destroy();
    await destroyed;
    await expect(provider.whenSynced()).rejects.toThrow("destroyed");
  });
});

describe("refused updates", () => {
  test("[Y7] are told, stay unsaved, and go with the next one", async () => {
    const setup = await setUpRoom();
    const { network, provider, told } = setup;
    write(setup, "a");
    await pass(100);
    network.last.say({ type: "denied", number: 1, reason: "read only" });
    network.last.ack(1);
    expect(told).toContain("denied:read only");
    expect([provider.saved, provider.hasUnsyncedChanges]).toEqual([false, true]);
    await pass(5_000);
    network.last.take();
    write(setup, "b");
    await pass(100);
    expect(textIn(updatesOf(network.last.take()))).toBe("ab");
    network.last.ack(2);
    expect(provider.saved).toBe(true);
  });

  test("[Y7] are sent again when writing is allowed, and on the next line", async () => {
    const setup = await setUpRoom();
    const { network, provider, told } = setup;
    network.last.say({ type: "access", access: "read" });
    expect(provider.access).toBe("read");
    write(setup, "a");
    await pass(100);
    network.last.say({ type: "denied", number: 1, reason: "read only" });
    network.last.take();
    network.last.say({ type: "access", access: "write" });
    expect(textIn(updatesOf(network.last.take()))).toBe("a");
    network.last.say({ type: "denied", number: 2, reason: "read only" });
    network.last.drop(1006);
    await pass(1_000);
    network.last.beRoom();
    expect(textIn(updatesOf(network.last.take()))).toBe("a");
    expect(told.filter((one) => one.startsWith("access:"))).toEqual(["access:read", "access:write"]);
  });

  test("[Y7] a refused whole leaves the document unsaved", async () => {
    const doc = new Y.Doc();
    doc.getText("text").insert(0, "offline");
    const { network, provider } = setUp({ doc });
    await pass();
    network.last.beRoom({ access: "read" });
    network.last.say({ type: "denied", number: 1, reason: "read only" });
    network.last.ack(1);
    expect(provider.saved).toBe(false);
  });
});

describe("another server", () => {
  test("[Y8] that sends sync step 2 first is spoken to in y-protocols alone", async () => {
    const setup = setUp();
    const { network, provider } = setup;
    await pass();
    network.last.accept();
    network.last.deliver(encodeSyncStep1(nobody));
    write(setup, "mine");
    await pass(100);
    expect(network.last.takeTypes()).toEqual(["hello", "step1", "awareness"]);
    network.last.deliver(encodeSyncStep2(updateWith("theirs")));
    expect([provider.synced, provider.saved, provider.access, provider.epoch]).toEqual([
      true,
      false,
      null,
      null,
    ]);
    const [step2, ...rest] = network.last.take();
    expect(step2?.type).toBe("step2");
    expect(textIn([step2 as { update: Uint8Array }])).toContain("mine");
    expect(rest).toEqual([]);
    provider.awareness.setLocalStateField("cursor", 1);
    write(setup, "!");
    await pass(100);
    expect(network.last.take().map(({ type }) => type)).toEqual(["update", "awareness"]);
    expect(provider.hasUnsyncedChanges).toBe(false);
    expect(provider.saved).toBe(false);
  });

  test("[Y8] gets everything it lacks on the next line, and no ping", async () => {
    const setup = setUp();
    await pass();
    setup.network.last.accept();
    setup.network.last.deliver(encodeSyncStep2(nothing));
    setup.network.last.drop(1006);
    write(setup, "offline");
    expect(setup.provider.hasUnsyncedChanges).toBe(true);
    await pass(1_000);
    setup.network.last.accept();
    setup.network.last.deliver(encodeSyncStep1(nobody));
    setup.network.last.deliver(encodeSyncStep2(nothing));
    const step2 = setup.network.last.take().find(({ type }) => type === "step2");
    expect(textIn([step2 as { update: Uint8Array }])).toBe("offline");
    expect(setup.provider.hasUnsyncedChanges).toBe(false);
    await pass(120_000);
    const types = setup.network.last.takeTypes();
    expect(new Set(types)).toEqual(new Set(["awareness"]));
    expect(setup.network.sockets).toHaveLength(2);
  });

  test("[Y8] is told every 15 s that one is here, since it forgets the quiet", async () => {
    const { network } = setUp();
    await pass();
    network.last.accept();
    network.last.deliver(encodeSyncStep2(nothing));
    network.last.take();
    await pass(61_000);
    const clocks = network.last
      .take()
      .map((sent) => (sent.type === "awareness" ? sent.entries[0]?.clock : sent.type));
    expect(clocks).toEqual([2, 3, 4, 5]);
    network.last.drop(1006);
    await pass(60_000);
  });

  test("[Y8] does not say what it saves: whenSaved rejects, and saved stays false", async () => {
    const { network, provider } = setUp();
    const rejected = expect(provider.whenSaved()).rejects.toThrow("does not say");
    await pass();
    network.last.accept();
    network.last.deliver(encodeSyncStep2(nothing));
    await rejected;
    await expect(provider.whenSaved()).rejects.toThrow("does not say");
    expect(provider.saved).toBe(false);
  });

  test("[Y8] that becomes a room, and back, loses nothing", async () => {
    const setup = await setUpRoom();
    write(setup, "a");
    await pass(100);
    setup.network.last.drop(1006);
    await pass(1_000);
    setup.network.last.accept();
    setup.network.last.deliver(encodeSyncStep1(nobody));
    setup.network.last.deliver(encodeSyncStep2(nothing));
    write(setup, "b");
    await pass(100);
    setup.network.last.drop(1006);
    await pass(2_000);
    setup.network.last.beRoom();
    expect(textIn(updatesOf(setup.network.last.take()))).toBe("ab");
  });

  test("[Y8] may send messages of its own, and permission denied", async () => {
    const { network, told } = setUp();
    await pass();
    network.last.accept();
    network.last.deliver(encodeSyncStep2(nothing));
    network.last.deliver(Uint8Array.of(102, 1, 2, 3));
    network.last.deliver("no message of ours");
    network.last.deliver(encodePermissionDenied("read only"));
    expect(told).toContain("denied:read only");
    expect(told.filter((one) => one.startsWith("error"))).toEqual([]);
  });
});

describe("presence", () => {
  test("[Y9] is one's own alone, and asked for it is told", async () => {
    const setup = await setUpRoom();
    const { network, provider } = setup;
    network.last.deliver(encodeAwareness([{ clientID: 7, clock: 3, state: '{"name":"other"}' }]));
    expect(provider.awareness.getStates().get(7)).toEqual({ name: "other" });
    network.last.deliver(encodeQueryAwareness());
    await pass(100);
    const sent = network.last.take();
    expect(sent).toMatchObject([{ type: "awareness", entries: [{ clientID: provider.doc.clientID }] }]);
    expect(sent[0]).toHaveProperty("entries.length", 1);
  });

  test("[Y9] is raised on every line, and others are forgotten when it is lost", async () => {
    const setup = await setUpRoom();
    const { network, provider } = setup;
    const clockOf = () => provider.awareness.meta.get(provider.doc.clientID)?.clock;
    const before = clockOf() ?? 0;
    network.last.deliver(encodeAwareness([{ clientID: 7, clock: 3, state: "{}" }]));
    network.last.drop(1006);
    expect([...provider.awareness.getStates().keys()]).toEqual([provider.doc.clientID]);
    await pass(1_000);
    network.last.beRoom();
    expect(clockOf()).toBe(before + 1);
    // With the same clock: it may have gone unnoticed that he was gone.
    network.last.deliver(encodeAwareness([{ clientID: 7, clock: 3, state: "{}" }]));
    expect(provider.awareness.getStates().has(7)).toBe(true);
  });

  test("[Y9] nobody but oneself changes it: what is said of one that one is not is set right", async () => {
    const setup = setUp({ connect: false });
    const { network, provider } = setup;
    const { awareness } = provider;
    const clientID = provider.doc.clientID;
    awareness.setLocalState({ at: 1 });
    void provider.connect();
    await pass();
    network.last.beRoom();
    const say = async (clock: number, state: string) => {
      network.last.take();
      network.last.deliver(encodeAwareness([{ clientID, clock, state }]));
      await pass(100);
      return network.last
        .take()
        .flatMap((sent) => (sent.type === "awareness" ? sent.entries : []))
        .map((entry) => `${entry.clock} ${entry.state}`);
    };
    expect(await say(500, '{"at":0}')).toEqual(['501 {"at":1}']);
    awareness.setLocalState({ at: 2 });
    expect(await say(1_000, '{"at":1}')).toEqual(['1001 {"at":2}']);
    expect(awareness.getLocalState()).toEqual({ at: 2 });
    expect(await say(2_000, '{"at":2}')).toEqual([]);
    expect(await say(1_999, '{"at":1}')).toEqual([]);
    expect(await say(2_000, "null")).toEqual(['2002 {"at":2}']);
    expect(await say(2_002, "null")).toEqual(['2003 {"at":2}']);
    awareness.setLocalState(null);
    expect(await say(3_000, '{"at":3}')).toEqual(["3001 null"]);
    expect(awareness.getLocalState()).toBe(null);
  });

  test("[Y9] an application that answers presence with its own has the last word", async () => {
    const { network, provider } = await setUpRoom();
    const { awareness } = provider;
    awareness.on("change", (_changes: unknown, origin: unknown) => {
      if (origin === provider) awareness.setLocalStateField("seen", awareness.getStates().size);
    });
    network.last.deliver(
      encodeAwareness([
        { clientID: provider.doc.clientID, clock: 900, state: '{"old":true}' },
        { clientID: 7, clock: 3, state: "{}" },
      ]),
    );
    await pass(100);
    expect(awareness.getLocalState()).toMatchObject({ seen: 2 });
    expect(network.last.take()).toMatchObject([{ entries: [{ clientID: provider.doc.clientID }] }]);
  });

  test("[Y9] goes when one disconnects, after what waits, and the own state stays", async () => {
    const setup = await setUpRoom();
    const { network, provider } = setup;
    provider.awareness.setLocalState({ name: "me" });
    await pass(100);
    network.last.take();
    write(setup, "last words");
    provider.disconnect();
    const sent = network.last.take();
    expect(sent.map(({ type }) => type)).toEqual(["update", "awareness"]);
    expect(sent[1]).toMatchObject({ entries: [{ state: "null" }] });
    expect(provider.awareness.getLocalState()).toEqual({ name: "me" });
  });

  test("[Y9] of somebody who has none is not made up", async () => {
    const setup = setUp();
    setup.provider.awareness.setLocalState(null);
    await pass();
    setup.network.last.beRoom();
    await pass(100);
    expect(setup.network.last.takeTypes()).not.toContain("awareness");
  });
});

describe("large frames", () => {
  test("[Y10] are cut into parts, and put together", async () => {
    const setup = setUp();
    const { network, provider } = setup;
    await pass();
    network.last.beRoom({ maxFrameBytes: 2_000 });
    network.last.take();
    write(setup, "x".repeat(10_000));
    await pass(100);
    const parts = network.last.frames.splice(0) as Uint8Array[];
    expect(parts.length).toBeGreaterThan(4);
    expect(Math.max(...parts.map((part) => part.byteLength))).toBeLessThanOrEqual(2_000);
    const pieces = parts.map((part) => (decodeClientControl(part) as { piece: Uint8Array }).piece);
    const whole = decodeClientControl(Uint8Array.from(pieces.flatMap((piece) => [...piece])));
    expect(textIn([whole as SentUpdate])).toBe("x".repeat(10_000));
    const large = encodeUpdate(updateWith("y".repeat(5_000)));
    for (const part of cutFrame(large, 1_500)) network.last.deliver(part);
    network.last.deliver("pong");
    expect(textOf(setup)).toContain("y".repeat(5_000));
    network.last.ack(1);
    expect(provider.saved).toBe(true);
  });

  test.each([
    ["a part that is missing", [0, 2]],
    ["a part that comes twice", [0, 0]],
    ["a frame between two parts", [0, -1]],
  ])("[Y10] %s ends the line", async (_title, order) => {
    const setup = await setUpRoom();
    const parts = cutFrame(encodeUpdate(updateWith("z".repeat(5_000))), 1_500);
    for (const index of order) {
      const frame = parts[index] ?? encodeServerControl({ type: "access", access: "read" });
      setup.network.last.deliver(frame);
    }
    expect(setup.told).toEqual([
      "connection-close:undefined",
      "synced:false",
      "sync:false",
      "disconnected",
      "error:protocol",
    ]);
    expect(textOf(setup)).toBe("");
  });
});
