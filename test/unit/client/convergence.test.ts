// Several providers in one room, over a line that delivers late, breaks, and a room that crashes.
import * as prng from "lib0/prng";
import { expect, test, vi } from "vitest";
import * as Y from "yjs";
import { FakeRoom } from "./fake-room.ts";
import { pass, setUp, useFakeTimers } from "./provider-fixture.ts";
import type { Setup } from "./provider-fixture.ts";

useFakeTimers();

const seedCount = 25 * Number(process.env["DORMOUSE_FUZZ"] ?? "1");
const steps = 400;

function edit(random: prng.PRNG, doc: Y.Doc): void {
  const text = doc.getText("text");
  const map = doc.getMap("map");
  doc.transact(() => {
    const at = prng.int32(random, 0, text.length);
    const kind = prng.int32(random, 0, 5);
    if (kind === 0) map.set(prng.word(random, 1, 1), prng.int32(random, 0, 99));
    else if (kind === 1 && text.length > 0) {
      text.delete(Math.min(at, text.length - 1), 1);
    } else text.insert(at, prng.word(random, 1, kind === 5 ? 900 : 5));
  });
}

/** What is saved must be stored, whatever happens: all that this provider's own client wrote. */
function checkSaved({ provider }: Setup, room: FakeRoom): void {
  if (!provider.saved) return;
  const { clientID } = provider.doc;
  const stored = Y.getState(room.readStored().store, clientID);
  expect(stored).toBeGreaterThanOrEqual(Y.getState(provider.doc.store, clientID));
}

async function act(random: prng.PRNG, room: FakeRoom, setups: readonly Setup[]): Promise<void> {
  const setup = prng.oneOf(random, [...setups]);
  const dice = prng.int32(random, 0, 99);
  if (dice < 20) edit(random, setup.provider.doc);
  else if (dice < 24) setup.provider.awareness.setLocalStateField("at", prng.int32(random, 0, 99));
  else if (dice < 28) room.flush();
  else if (dice < 31) room.cut();
  else if (dice < 32) room.crash();
  else if (dice < 34) setup.provider.disconnect();
  else if (dice < 38) void setup.provider.connect();
  else room.step();
  await pass(prng.int32(random, 0, 60));
  for (const one of setups) checkSaved(one, room);
}

async function settle(room: FakeRoom, setups: readonly Setup[]): Promise<void> {
  for (const { provider } of setups) void provider.connect();
  for (let i = 0; i < 10_000; i++) {
    for (let k = 0; k < 20; k++) room.step();
    await pass(50);
    room.flush();
    if (room.isQuiet && setups.every(({ provider }) => provider.saved && provider.synced)) return;
  }
  throw new Error(`Not settled: ${setups.map(({ told }) => told.slice(-5).join(" ")).join(" | ")}`);
}

function contentsOf(doc: Y.Doc): unknown {
  const vector = [...Y.decodeStateVector(Y.encodeStateVector(doc))].toSorted(([a], [b]) => a - b);
  return { text: doc.getText("text").toJSON(), map: doc.getMap("map").toJSON(), vector };
}

test.each(Array.from({ length: seedCount }, (_, index) => index + 1))(
  "[Y5] all come to the same, and what was saved is stored at every moment (seed %i)",
  async (seed) => {
    const random = prng.create(seed);
    vi.spyOn(Math, "random").mockImplementation(() => prng.real53(random));
    const room = new FakeRoom(random);
    const { network } = room;
    const setups = [1, 2, 3].map(() => setUp({ network }));
    await pass();
    for (let i = 0; i < steps; i++) await act(random, room, setups);
    await settle(room, setups);
    const expected = contentsOf(room.readStored());
    for (const { provider, errors } of setups) {
      expect(contentsOf(provider.doc)).toEqual(expected);
      expect(provider.doc.store.pendingStructs).toBe(null);
      expect(errors).toEqual([]);
    }
  },
);
