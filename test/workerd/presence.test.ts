import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { readAttachment, writeAttachment } from "../../src/room/attachment.js";
import { RawClient, encodeAwareness, roomUrl, settle, waitOptions, slug } from "./raw-client.js";
import { evict, scenario } from "./scenario.js";

const alice = { user: { name: "Alice" } };
const carol = { user: { name: "Carol" } };
const bob = { user: { name: "Bob" } };

async function waitForPeople(client: RawClient, people: [RawClient, unknown][]): Promise<void> {
  const expected = new Map(people.map(([{ doc }, state]) => [doc.clientID, state]));
  await vi.waitFor(() => {
    const others = new Map(client.people());
    others.delete(client.doc.clientID);
    expect(others).toEqual(expected);
  }, waitOptions);
}

describe("presence that survives hibernation", () => {
  scenario("[H5] who leaves is removed from everybody's screen", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    await step(stub);
    const b = await RawClient.join(roomUrl("plain", room));
    await step(stub);
    a.announce(alice);
    await waitForPeople(b, [[a, alice]]);
    await step(stub);
    a.close(1000, "bye");
    await waitForPeople(b, []);
    const removal = b.of("awareness").at(-1)?.entries[0];
    const shown = b.of("awareness").at(-2)?.entries[0];
    expect(removal).toEqual({ clientID: a.doc.clientID, clock: shown?.clock, state: null });
  });

  scenario(
    "[H6] a newcomer sees those who are quiet, at once and without waking them",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const a = await RawClient.join(roomUrl("plain", room));
      a.announce(alice);
      await settle(a);
      await step(stub);
      const before = a.frames.length;
      const c = await RawClient.open(roomUrl("plain", room));
      await waitForPeople(c, [[a, alice]]);
      expect(a.frames.length).toBe(before);
    },
  );

  scenario("[H7] who drops without a close frame is removed", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room));
    a.announce(alice);
    await waitForPeople(b, [[a, alice]]);
    await step(stub);
    // Without a code the peer hears 1005 and no close frame with a status can be sent back.
    a.close();
    await waitForPeople(b, []);
  });

  scenario(
    "[H8] the late close of an old socket does not remove who came back by the same _pk",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const watcher = await RawClient.join(roomUrl("plain", room));
      const old = await RawClient.join(roomUrl("plain", room, "?_pk=secret"));
      old.announce(alice, 7, 4);
      await vi.waitFor(() => expect(watcher.people().get(7)).toEqual(alice), waitOptions);
      await step(stub);
      const fresh = await RawClient.join(roomUrl("plain", room, "?_pk=secret"));
      await step(stub);
      fresh.announce({ ...alice, back: true }, 7, 5);
      await vi.waitFor(() => expect(watcher.people().get(7)).toEqual({ ...alice, back: true }), waitOptions);
      await step(stub);
      old.close(1000);
      await old.waitForClose();
      await settle(watcher);
      expect(watcher.people().get(7)).toEqual({ ...alice, back: true });
      await step(stub);
      fresh.close(1000);
      await vi.waitFor(() => expect(watcher.people().has(7)).toBe(false), waitOptions);
    },
  );

  scenario(
    "[P5] a plain client that owns nothing yet takes its place back from its dead socket",
    async (step, room) => {
      const stub = env.PLAIN.getByName(slug(room));
      const watcher = await RawClient.join(roomUrl("plain", room));
      const old = await RawClient.join(roomUrl("plain", room));
      old.announce(alice, 7, 4);
      await vi.waitFor(() => expect(watcher.people().has(7)).toBe(true), waitOptions);
      await step(stub);
      const fresh = await RawClient.join(roomUrl("plain", room));
      fresh.announce({ ...alice, back: true }, 7, 4);
      await vi.waitFor(() => expect(watcher.people().get(7)).toEqual({ ...alice, back: true }), waitOptions);
      await step(stub);
      old.close(1000);
      await old.waitForClose();
      await settle(watcher);
      expect(watcher.people().has(7)).toBe(true);
    },
  );

  scenario("[P6] who comes back with the clock it left with is seen at once", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const watcher = await RawClient.join(roomUrl("plain", room));
    const first = await RawClient.join(roomUrl("plain", room));
    first.announce(alice, 7, 3);
    await vi.waitFor(() => expect(watcher.people().has(7)).toBe(true), waitOptions);
    const clock = first.of("awareness").at(-1)?.entries[0]?.clock ?? 0;
    first.close(1000);
    await vi.waitFor(() => expect(watcher.people().has(7)).toBe(false), waitOptions);
    await step(stub);
    // Real hibernations take ten: a room that has forgotten him tells him with a clock above, once a second is over.
    const left = Math.floor(Date.now() / 1_000);
    await vi.waitFor(() => expect(Math.floor(Date.now() / 1_000)).toBeGreaterThan(left), waitOptions);
    const second = await RawClient.join(roomUrl("plain", room));
    second.announce(alice, 7, clock);
    await vi.waitFor(() => expect(watcher.people().has(7)).toBe(true), waitOptions);
  });

  scenario("[P9] a state too large for the attachment is asked from its owner", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    const state = { text: "x".repeat(9_000) };
    a.answers = true;
    a.announce(state);
    await settle(a);
    await step(stub);
    const c = await RawClient.open(roomUrl("plain", room));
    await waitForPeople(c, [[a, state]]);
  });
});

describe("clients that drop the silent", () => {
  /** Makes everybody look as if they had been quiet for longer than y-websocket bears. */
  async function letTimePass(stub: DurableObjectStub): Promise<void> {
    await evict(stub);
    await runInDurableObject(stub, (_, state) => {
      for (const socket of state.getWebSockets()) {
        const attachment = readAttachment(socket);
        if (attachment === null) continue;
        const people = Array.from(
          attachment.people,
          ([clientID, person]) => [clientID, { ...person, toldAt: person.toldAt - 15_000 }] as const,
        );
        writeAttachment(socket, { ...attachment, people: new Map(people) });
      }
    });
  }

  test("[P7] are told again of the quiet, with a clock that is news, and the owner is left alone", async () => {
    const room = "renewal";
    const stub = env.PLAIN.getByName(slug(room));
    const quiet = await RawClient.join(roomUrl("plain", room, "?_pk=quiet"));
    const watcher = await RawClient.join(roomUrl("plain", room));
    quiet.announce(alice);
    watcher.announce(bob);
    await waitForPeople(watcher, [[quiet, alice]]);
    await settle(watcher);
    const before = watcher.of("awareness").length;
    const clockOf = (client: RawClient): number =>
      client
        .of("awareness")
        .flatMap(({ entries }) => entries)
        .filter(({ clientID }) => clientID === quiet.doc.clientID)
        .at(-1)?.clock ?? -1;
    const clock = clockOf(watcher);
    await letTimePass(stub);
    // The heartbeat of y-websocket: the same state with the next clock.
    watcher.announce(bob);
    await vi.waitFor(() => expect(clockOf(watcher)).toBe(clock + 1), waitOptions);
    expect(clockOf(quiet)).toBe(-1);
    // Its own, echoed, and the quiet one's.
    expect(watcher.of("awareness").length).toBe(before + 2);
    watcher.announce(bob);
    await settle(watcher);
    expect(clockOf(watcher)).toBe(clock + 1);
    // What the quiet one says next is heard, though it knows nothing of its new clock.
    quiet.announce(carol);
    await waitForPeople(watcher, [[quiet, carol]]);
  });

  test("[P7] a state that has to be asked for is renewed as well", async () => {
    const room = "renewal of the large";
    const stub = env.PLAIN.getByName(slug(room));
    const quiet = await RawClient.join(roomUrl("plain", room, "?_pk=quiet"));
    quiet.answers = true;
    const watcher = await RawClient.join(roomUrl("plain", room));
    const large = { text: "x".repeat(9_000) };
    quiet.announce(large);
    watcher.announce(bob);
    await waitForPeople(watcher, [[quiet, large]]);
    const count = (): number =>
      watcher
        .of("awareness")
        .flatMap(({ entries }) => entries)
        .filter(({ clientID }) => clientID === quiet.doc.clientID).length;
    const before = count();
    await letTimePass(stub);
    watcher.announce(bob);
    await vi.waitFor(() => expect(count()).toBe(before + 1), waitOptions);
    const clocks = watcher
      .of("awareness")
      .flatMap(({ entries }) => entries)
      .filter(({ clientID }) => clientID === quiet.doc.clientID)
      .map(({ clock }) => clock);
    expect(clocks.at(-1)).toBeGreaterThan(clocks.at(-2) ?? Infinity);
  });
});

describe("ownership", () => {
  scenario("[P3] nobody can overwrite, remove or push the clock of somebody else", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room, "?_pk=a"));
    const b = await RawClient.join(roomUrl("plain", room, "?_pk=b"));
    const mallory = await RawClient.join(roomUrl("plain", room, "?_pk=m"));
    a.announce(alice);
    await waitForPeople(b, [[a, alice]]);
    await step(stub);
    mallory.announce({ user: { name: "Not Alice" } }, a.doc.clientID, 1_000_000);
    await step(stub);
    mallory.announce(null, a.doc.clientID, 2_000_000);
    await settle(mallory);
    await settle(b);
    await waitForPeople(b, [[a, alice]]);
    await step(stub);
    a.announce(bob);
    await waitForPeople(b, [[a, bob]]);
  });

  test("[P4] foreign entries in a frame are dropped and the sender's own relayed", async () => {
    const room = "mixed frame";
    const a = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room));
    const c = await RawClient.join(roomUrl("plain", room));
    a.answers = true;
    a.announce(alice);
    await waitForPeople(c, [[a, alice]]);
    b.send(
      encodeAwareness([
        { clientID: a.doc.clientID, clock: 99, state: { user: { name: "forged" } } },
        { clientID: b.doc.clientID, clock: 1, state: bob },
      ]),
    );
    await waitForPeople(c, [
      [a, alice],
      [b, bob],
    ]);
  });

  test("[P5] a nameless client that claims to be another is refused while the other answers", async () => {
    const room = "contest";
    const a = await RawClient.join(roomUrl("plain", room));
    const watcher = await RawClient.join(roomUrl("plain", room));
    const mallory = await RawClient.join(roomUrl("plain", room));
    a.answers = true;
    a.announce(alice);
    await waitForPeople(watcher, [[a, alice]]);
    mallory.announce({ user: { name: "Not Alice" } }, a.doc.clientID, 50);
    await a.waitFor("query");
    await evict(env.PLAIN.getByName(slug(room)));
    mallory.close(1000);
    await settle(watcher);
    await waitForPeople(watcher, [[a, alice]]);
  });

  test("[P4] a provider that repeats what it heard of others costs the others no frame", async () => {
    const room = "no echo";
    const a = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room));
    a.announce(alice);
    await waitForPeople(b, [[a, alice]]);
    const before = a.of("awareness").length;
    const heard = b.of("awareness").at(-1)?.entries ?? [];
    b.send(encodeAwareness(heard));
    await settle(b);
    await settle(a);
    expect(a.of("awareness").length).toBe(before);
  });
});

describe("cost", () => {
  test.each([2, 10, 50])(
    "[P8] one cursor move in a room of %i is one frame for each of the others",
    async (size) => {
      const room = `cursor in a room of ${size}`;
      // With `_pk`, as y-partyserver's provider: it needs no echo to stay connected.
      const clients = await Promise.all(
        Array.from({ length: size }, (_, i) => RawClient.join(roomUrl("plain", room, `?_pk=${i}`))),
      );
      for (const client of clients) client.announce({ at: 0 });
      await vi.waitFor(() => {
        for (const client of clients) expect(client.people().size).toBe(size - 1);
      }, waitOptions);
      const [mover, ...others] = clients;
      if (mover === undefined) throw new Error("nobody");
      const count = (): number => clients.reduce((sum, client) => sum + client.frames.length, 0);
      const before = count();
      mover.announce({ at: 1 });
      await vi.waitFor(() => {
        for (const other of others) expect(other.people().get(mover.doc.clientID)).toEqual({ at: 1 });
      }, waitOptions);
      expect(count() - before).toBe(size - 1);
    },
  );

  test("[P8] a client without _pk gets its own move back, so that it knows that the line is alive", async () => {
    const room = "plain echo";
    const a = await RawClient.join(roomUrl("plain", room));
    const b = await RawClient.join(roomUrl("plain", room));
    a.announce({ at: 0 });
    await vi.waitFor(() => expect(b.people().size).toBe(1), waitOptions);
    await settle(a);
    const before = [a.of("awareness").length, b.of("awareness").length];
    a.announce({ at: 1 }, a.doc.clientID, 10);
    await vi.waitFor(() => expect(b.people().get(a.doc.clientID)).toEqual({ at: 1 }), waitOptions);
    await settle(a);
    expect([a.of("awareness").length, b.of("awareness").length]).toEqual(before.map((n) => n + 1));
  });

  test("[H13, P1] three quiet clients leave no timer behind: the object hibernates", async () => {
    const room = "quiet";
    const stub = env.PLAIN.getByName(slug(room));
    const clients = await Promise.all([1, 2, 3].map(() => RawClient.join(roomUrl("plain", room))));
    for (const client of clients) client.announce(alice);
    clients[0]?.type("a word");
    await settle(clients[0] ?? (await RawClient.join(roomUrl("plain", room))));
    await evict(stub);
    clients[1]?.type("!");
    await vi.waitFor(() => expect(clients[2]?.text).toContain("!"), waitOptions);
  });
});

describe("document.awareness", () => {
  scenario("[P11] the server can be a person, and stays one through hibernation", async (step, room) => {
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    const setState = (state: Record<string, unknown> | null): Promise<void> =>
      runInDurableObject(stub, (instance) => instance.document.awareness.setLocalState(state));
    await setState({ user: { name: "Robot" } });
    await vi.waitFor(
      () => expect([...a.people().values()]).toEqual([{ user: { name: "Robot" } }]),
      waitOptions,
    );
    await step(stub);
    const b = await RawClient.join(roomUrl("plain", room));
    await vi.waitFor(
      () => expect([...b.people().values()]).toEqual([{ user: { name: "Robot" } }]),
      waitOptions,
    );
    await step(stub);
    await setState({ user: { name: "Robot" }, busy: true });
    await vi.waitFor(
      () => expect([...a.people().values()]).toEqual([{ user: { name: "Robot" }, busy: true }]),
      waitOptions,
    );
    await step(stub);
    await setState(null);
    await vi.waitFor(() => expect([a.people().size, b.people().size]).toEqual([0, 0]), waitOptions);
  });

  test("[P11] it shows everybody in the room", async () => {
    const room = "facade";
    const stub = env.PLAIN.getByName(slug(room));
    const a = await RawClient.join(roomUrl("plain", room));
    a.announce(alice);
    await settle(a);
    const states = (): Promise<unknown[]> =>
      runInDurableObject(stub, ({ document }) => [...document.awareness.getStates().values()]);
    expect(await states()).toEqual([alice]);
    a.announce(bob);
    await settle(a);
    expect(await states()).toEqual([bob]);
    a.close(1000);
    await vi.waitFor(async () => expect(await states()).toEqual([]), waitOptions);
  });
});
