// The scan against bytes of every kind. Two promises: what is refused is refused with a ProtocolError, and what is taken
// over a closed log can be applied by every client without a throw, a wait, or a loss of what others wrote.
import * as prng from "lib0/prng";
import { describe, expect, test, vi } from "vitest";
import * as Y from "yjs";
import { acceptUpdate } from "../../src/document/accept.js";
import { scanUpdate, visitStructs, type ScannedUpdate } from "../../src/document/scan.js";
import { spliceUpdates } from "../../src/document/splice.js";
import { decodeStateVector } from "../../src/document/state-vector.js";
import { storedUpdateLimits } from "../../src/document/update-limits.js";
import { ProtocolError } from "../../src/protocol/protocol-error.js";
import { documentFrom, isPending } from "./document-contents.js";
import { storeOf } from "./document-store.js";
import { mutate, noise } from "./hostile-bytes.js";
import { editRandomly } from "./random-edits.js";
import { forSeeds, propertyTimeoutMs } from "./seeds.js";

vi.setConfig({ testTimeout: propertyTimeoutMs });

/** A document that several people wrote, as the updates that they sent. */
function writeDocument(random: prng.PRNG, edits: number): Uint8Array[] {
  const updates: Uint8Array[] = [];
  const doc = new Y.Doc({ gc: prng.bool(random) });
  doc.on("update", (update: Uint8Array) => updates.push(update));
  const clients = [1, 77, 40_000, 4_000_000_000, 2 ** 40 + 3];
  for (let i = 0; i < edits; i++) {
    doc.clientID = prng.oneOf(random, clients);
    editRandomly(random, doc, null);
  }
  return updates;
}

/** The scan, or null if it refuses. Anything but a ProtocolError gets through. */
function scanOrRefuse(bytes: Uint8Array): ScannedUpdate | null {
  try {
    return scanUpdate(bytes);
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}

describe("what clients write", () => {
  test("[LOG 1.1] real updates, whole states and merges are in normal form and pass as they are", () => {
    forSeeds(100, (random) => {
      const updates = writeDocument(random, 30);
      const state = Y.encodeStateAsUpdate(documentFrom(updates));
      const some = updates.filter(() => prng.bool(random));
      for (const bytes of [...updates, state, Y.mergeUpdates([...some, state]), Y.mergeUpdates(some)]) {
        expect(scanUpdate(bytes).bytes).toBe(bytes);
      }
    });
  });

  test("[LOG 1.1] the scan finds the clocks, deletes and sizes that Yjs finds", () => {
    forSeeds(100, (random) => {
      const updates = writeDocument(random, 30);
      const some = updates.filter(() => prng.bool(random));
      for (const bytes of [...updates, Y.mergeUpdates(some)]) expectSameAsYjs(bytes);
    });
  });
});

function expectSameAsYjs(bytes: Uint8Array): void {
  const { structs, ds } = Y.decodeUpdate(bytes);
  const scanned = scanUpdate(bytes);
  const found: number[][] = [];
  visitStructs(scanned, ({ client, clock, length }) => found.push([client, clock, length]));
  expect(found).toEqual(structs.map(({ id, length }) => [id.client, id.clock, length]));
  expect(scanned.structs).toBe(structs.length);
  const deletes = [...ds.clients].map(([client, items]) => [
    client,
    items.flatMap(({ clock, len }) => [clock, clock + len]),
  ]);
  expect([...scanned.deletes]).toEqual(deletes);
  const dead = structs.filter(
    (struct) =>
      struct instanceof Y.GC || (struct instanceof Y.Item && struct.content instanceof Y.ContentDeleted),
  );
  expect(countClocks(scanned.dead)).toBe(dead.reduce((sum, { length }) => sum + length, 0));
}

function countClocks(ranges: ScannedUpdate["dead"]): number {
  let count = 0;
  for (const list of ranges.values()) {
    for (let i = 0; i < list.length; i += 2) count += list[i + 1]! - list[i]!;
  }
  return count;
}

describe("what other implementations write", () => {
  test("[LOG 1.1] sections in any order and in pieces, empty ones, and deletes in any form come out as Yjs writes them", () => {
    forSeeds(200, (random) => {
      const updates = writeDocument(random, 20);
      const scanned = scanUpdate(Y.mergeUpdates(updates.filter(() => prng.int32(random, 0, 3) > 0)));
      expect(scanUpdate(disorder(random, scanned)).bytes).toEqual(scanned.bytes);
    });
  });
});

/** The same update, written as badly as possible. */
function disorder(random: prng.PRNG, update: ScannedUpdate): Uint8Array {
  const sections: number[][] = [[...varUint(0), ...varUint(5), ...varUint(0)]];
  let structs: { readonly clock: number; readonly bytes: number[] }[] = [];
  visitStructs(update, ({ client, clock, length, from, to }) => {
    structs.push({ clock, bytes: [...update.bytes.subarray(from, to)] });
    const isLast = update.sections.some(
      (section) => section.client === client && section.end === clock + length,
    );
    if (!isLast && prng.int32(random, 0, 2) > 0) return;
    // a Skip before and after, which says nothing
    const skips = prng.bool(random) && structs[0]!.clock > 0;
    const all = structs.flatMap(({ bytes }) => bytes);
    const start = structs[0]!.clock - (skips ? 1 : 0);
    const body = skips ? [10, 1, ...all, 10, 3] : all;
    sections.push([
      ...varUint(structs.length + (skips ? 2 : 0)),
      ...varUint(client),
      ...varUint(start),
      ...body,
    ]);
    structs = [];
  });
  const deletes: number[][] = [[...varUint(6), 0]];
  for (const [client, ranges] of update.deletes) {
    for (let i = 0; i < ranges.length; i += 2) {
      const [start, end] = [ranges[i]!, ranges[i + 1]!];
      const middle = prng.int32(random, start, end - 1);
      // twice, once in two halves which touch or overlap
      const pieces = [start, end - start, middle, end - middle, start, Math.max(1, middle - start)];
      deletes.push([...varUint(client), 3, ...pieces.flatMap(varUint)]);
    }
  }
  const shuffled = [sections, deletes].map((parts) => [
    ...varUint(parts.length),
    ...shuffle(random, parts).flat(),
  ]);
  return Uint8Array.from(shuffled.flat());
}

function varUint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varUint(Math.floor(value / 128))];
}

function shuffle<T>(random: prng.PRNG, items: readonly T[]): T[] {
  return items
    .map((item) => [prng.real53(random), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

describe("hostile bytes", () => {
  test("[LOG 1.1] every proper prefix of an update is refused with a ProtocolError", () => {
    forSeeds(10, (random) => {
      const updates = writeDocument(random, 20);
      for (const bytes of [...updates, Y.mergeUpdates(updates)]) {
        for (let length = 0; length < bytes.length; length++) {
          expect(() => scanUpdate(bytes.subarray(0, length))).toThrow(ProtocolError);
        }
      }
    });
  });

  test("[LOG 1.1] noise is refused with a ProtocolError or taken", () => {
    forSeeds(20, (random) => {
      for (let i = 0; i < 500; i++) expectHarmless([], noise(random, 40));
    });
  });

  test("[LOG 1.1, LOG 1.3] whatever is taken of a mutant can be applied and takes nothing from others", () => {
    let taken = 0;
    forSeeds(60, (random) => {
      const updates = writeDocument(random, 25);
      for (let i = 0; i < 250; i++) {
        const at = prng.int32(random, 0, updates.length - 1);
        // over a log that has what came before it, or all of it, or nothing
        const known = prng.oneOf(random, [updates.slice(0, at), updates.slice(0, at), updates, []]);
        const some = updates.slice(at, at + prng.int32(random, 1, 3));
        if (expectHarmless(known, mutate(random, Y.mergeUpdates(some)))) taken++;
      }
    });
    expect(taken).toBeGreaterThan(5);
  });
});

/** Takes `bytes` over a log of `known` updates. Returns whether anything was taken. */
function expectHarmless(known: readonly Uint8Array[], bytes: Uint8Array): boolean {
  const scanned = scanOrRefuse(bytes);
  if (scanned === null) return false;
  expect(scanUpdate(scanned.bytes).bytes).toBe(scanned.bytes);
  const row = scanUpdate(spliceUpdates(known.map(scanStored)), { limits: storedUpdateLimits });
  const vector = new Map(row.sections.map(({ client, end }) => [client, end]));
  const { fresh } = acceptUpdate(scanned, vector, row.deletes);
  if (fresh === null) return false;
  const doc = documentFrom([row.bytes, fresh.bytes]);
  for (const { client, end } of fresh.sections) vector.set(client, end);
  expect(decodeStateVector(Y.encodeStateVector(doc))).toEqual(vector);
  // one after the other, spliced, merged by Yjs: nothing is missing
  const kept = storeOf(documentFrom([row.bytes, fresh.bytes], false));
  for (const merged of [spliceUpdates([row, fresh]), Y.mergeUpdates([row.bytes, fresh.bytes])]) {
    expect(storeOf(documentFrom([merged], false))).toBe(kept);
    expect(documentFrom([merged]).store.clients.size).toBe(vector.size);
  }
  // a client that has the known part encodes, decodes and goes on
  const client = new Y.Doc();
  Y.applyUpdate(client, Y.encodeStateAsUpdate(doc));
  expect(isPending(client)).toBe(false);
  client.getText("after").insert(0, "still here");
  return true;
}

function scanStored(bytes: Uint8Array): ScannedUpdate {
  return scanUpdate(bytes, { limits: storedUpdateLimits });
}
