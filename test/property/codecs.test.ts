// The small codecs and the arithmetic of the log, each against something slower that is obviously right.
import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import * as prng from "lib0/prng";
import { describe, expect, test, vi } from "vitest";
import * as Y from "yjs";
import {
  addDeletes,
  clipDeletes,
  countDeletes,
  decodeDeletes,
  encodeDeletes,
  equalDeletes,
  isNormal,
  mergeDeletes,
  mergeRanges,
  readDeletes,
  subtractDeletes,
  uniteDeletes,
  type DeleteSet,
} from "../../src/document/delete-set.js";
import { checkJson } from "../../src/document/json-check.js";
import {
  decodeClockRanges,
  decodeStateVector,
  encodeClockRanges,
  encodeStateVector,
  type ClockRange,
} from "../../src/document/state-vector.js";
import { readVarUint, skipAny, skipVarString } from "../../src/document/strict-decoding.js";
import { ProtocolError } from "../../src/protocol/protocol-error.js";
import { mutate, noise } from "./hostile-bytes.js";
import { forSeeds, propertyTimeoutMs } from "./seeds.js";

vi.setConfig({ testTimeout: propertyTimeoutMs });

/** What `read` returns, or null if it refuses. Anything but a ProtocolError gets through. */
function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}

describe("delete sets", () => {
  test("[LOG 1.6] arithmetic on ranges is arithmetic on sets of clocks", () => {
    forSeeds(1000, (random) => {
      const [a, b] = [randomDeletes(random), randomDeletes(random)];
      const [as, bs] = [clocksOf(a), clocksOf(b)];
      expect(clocksOf(uniteDeletes(a, b))).toEqual(new Set([...as, ...bs]));
      expect(clocksOf(mergeDeletes([a, b, a]))).toEqual(new Set([...as, ...bs]));
      expect(clocksOf(subtractDeletes(a, b))).toEqual(new Set([...as].filter((name) => !bs.has(name))));
      const end = prng.int32(random, 0, 60);
      const below = [...as].filter((name) => Number(name.split(":")[1]) < end);
      expect(clocksOf(clipDeletes(a, () => end))).toEqual(new Set(below));
      expect(equalDeletes(a, b)).toBe(as.size === bs.size && [...as].every((name) => bs.has(name)));
    });
  });

  test("[LOG 1.6] adding deletes one by one gives what adding them at once gives, and changes nothing else", () => {
    forSeeds(200, (random) => {
      const set: DeleteSet = new Map();
      const added: DeleteSet[] = [];
      for (let i = 0; i < 20; i++) {
        const more = randomDeletes(random, 400, 3);
        const copy = structuredClone(more);
        addDeletes(set, more);
        expect(more).toEqual(copy);
        added.push(more);
      }
      expect([...set.values()].every(isNormal)).toBe(true);
      expect(equalDeletes(set, mergeDeletes(added))).toBe(true);
    });
  });

  test("[LOG 1.1] unsorted, overlapping and repeated ranges are read as the set they mean", () => {
    forSeeds(500, (random) => {
      const encoder = encoding.createEncoder();
      const clocks = new Set<string>();
      const clients = prng.int32(random, 0, 5);
      encoding.writeVarUint(encoder, clients);
      for (let i = 0; i < clients; i++) {
        const client = prng.int32(random, 1, 3);
        const ranges = prng.int32(random, 0, 6);
        encoding.writeVarUint(encoder, client);
        encoding.writeVarUint(encoder, ranges);
        for (let k = 0; k < ranges; k++) {
          const [clock, length] = [prng.int32(random, 0, 30), prng.int32(random, 1, 10)];
          encoding.writeVarUint(encoder, clock);
          encoding.writeVarUint(encoder, length);
          for (let at = clock; at < clock + length; at++) clocks.add(`${client}:${at}`);
        }
      }
      const bytes = encoding.toUint8Array(encoder);
      const { deletes, isNormalForm } = readDeletes(decoding.createDecoder(bytes), Infinity);
      expect(clocksOf(deletes)).toEqual(clocks);
      expect([...deletes.values()].every(isNormal)).toBe(true);
      expect(isNormalForm).toBe(Buffer.compare(encodeDeletes(deletes), bytes) === 0);
    });
  });

  test("[LOG 2] a stored delete set comes back, and damage to it is an Error that blames no peer", () => {
    forSeeds(200, (random) => {
      const set = randomDeletes(random);
      const bytes = encodeDeletes(set);
      expect(equalDeletes(decodeDeletes(bytes), set)).toBe(true);
      const damaged = mutate(random, bytes);
      try {
        const read = decodeDeletes(damaged);
        expect(countDeletes(read)).toBeGreaterThanOrEqual(read.size);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toBeInstanceOf(ProtocolError);
      }
    });
  });
});

function randomDeletes(random: prng.PRNG, maxClock = 50, maxRanges = 8): DeleteSet {
  const set: DeleteSet = new Map();
  for (let client = 1; client <= 3; client++) {
    const ranges: number[] = [];
    for (let left = prng.int32(random, 0, maxRanges); left > 0; left--) {
      const start = prng.int32(random, 0, maxClock);
      ranges.push(start, start + prng.int32(random, 1, 8));
    }
    if (ranges.length > 0) set.set(client, mergeRanges([ranges]));
  }
  return set;
}

function clocksOf(set: ReadonlyMap<number, readonly number[]>): Set<string> {
  const clocks = new Set<string>();
  for (const [client, ranges] of set) {
    for (let i = 0; i < ranges.length; i += 2) {
      for (let clock = ranges[i]!; clock < ranges[i + 1]!; clock++) clocks.add(`${client}:${clock}`);
    }
  }
  return clocks;
}

describe("state vectors", () => {
  test("[LOG 2] are encoded as Yjs encodes them, and decoded back", () => {
    forSeeds(300, (random) => {
      const vector = randomVector(random);
      const bytes = encodeStateVector(vector);
      expect(bytes).toEqual(Y.encodeStateVector(vector));
      expect(decodeStateVector(bytes)).toEqual(vector);
    });
  });

  test("[LOG 1.1] hostile ones are refused with a ProtocolError or read as Yjs reads them", () => {
    forSeeds(3000, (random) => {
      const bytes = prng.bool(random)
        ? noise(random, 20)
        : mutate(random, encodeStateVector(randomVector(random)));
      const vector = orNull(() => decodeStateVector(bytes));
      if (vector === null) return;
      const theirs = [...Y.decodeStateVector(bytes)].filter(([, clock]) => clock > 0);
      expect(vector).toEqual(new Map(theirs));
    });
  });

  test("[LOG 2] the clock ranges of a row come back", () => {
    forSeeds(200, (random) => {
      const ranges = [...randomVector(random)].map(([client, to]): ClockRange => [
        client,
        prng.int53(random, 0, to),
        to,
      ]);
      expect(decodeClockRanges(encodeClockRanges(ranges))).toEqual(ranges);
    });
  });
});

function randomVector(random: prng.PRNG): Map<number, number> {
  const vector = new Map<number, number>();
  for (let left = prng.int32(random, 0, 6); left > 0; left--) {
    vector.set(randomNumber(random), prng.int32(random, 1, 0x7fff_ffff));
  }
  return vector;
}

function randomNumber(random: prng.PRNG): number {
  return prng.uint53(random, 0, 2 ** prng.int32(random, 1, 53) - 1);
}

describe("values", () => {
  test("[LOG 1.1] a number is read as lib0 reads it, in no other form than the one lib0 writes", () => {
    forSeeds(2000, (random) => {
      const encoder = encoding.createEncoder();
      encoding.writeVarUint(encoder, randomNumber(random));
      const bytes = prng.bool(random) ? encoding.toUint8Array(encoder) : noise(random, 10);
      const decoder = decoding.createDecoder(bytes);
      const value = orNull(() => readVarUint(decoder));
      if (value === null) return;
      const again = encoding.createEncoder();
      encoding.writeVarUint(again, value);
      expect(encoding.toUint8Array(again)).toEqual(bytes.subarray(0, decoder.pos));
      expect(value).toBe(decoding.readVarUint(decoding.createDecoder(bytes)));
    });
  });

  test("[LOG 1.1] a string is measured in UTF-16 units, and refused exactly when a strict decoder throws", () => {
    const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const corners = [
      0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff,
    ];
    forSeeds(5000, (random) => {
      const text = new TextEncoder().encode(
        prng.utf16String(random, 6) + prng.oneOf(random, ["", "é", "한", "😀"]),
      );
      const bytes = prng.bool(random)
        ? mutate(random, text)
        : Uint8Array.from({ length: prng.int32(random, 0, 5) }, () => prng.oneOf(random, corners));
      const encoder = encoding.createEncoder();
      encoding.writeVarUint8Array(encoder, bytes);
      const units = orNull(() => skipVarString(decoding.createDecoder(encoding.toUint8Array(encoder))));
      let expected: number | null = null;
      try {
        expected = strict.decode(bytes).length;
      } catch {
        // not UTF-8: to be refused
      }
      expect(units).toBe(expected);
    });
  });

  test("[LOG 1.1] JSON is refused exactly when JSON.parse throws", () => {
    forSeeds(5000, (random) => {
      const text = JSON.stringify(randomJson(random, 3), null, prng.oneOf(random, [0, 0, 1]));
      const bytes = mutateText(random, new TextEncoder().encode(text));
      const decoded = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      const utf8 = new TextEncoder().encode(decoded);
      const accepted = orNull(() => checkJson(utf8, 0, utf8.length, 100) ?? true);
      let parsed: true | null = null;
      try {
        JSON.parse(decoded);
        parsed = true;
      } catch {
        // not JSON: to be refused
      }
      expect([accepted, decoded]).toEqual([parsed, decoded]);
    });
  });

  test("[LOG 1.1] an `any` value that is taken is one that lib0 reads, to the same end", () => {
    forSeeds(3000, (random) => {
      const encoder = encoding.createEncoder();
      encoding.writeAny(encoder, randomAny(random));
      const real = encoding.toUint8Array(encoder);
      const untouched = decoding.createDecoder(real);
      skipAny(untouched, 100);
      expect(untouched.pos).toBe(real.length);
      const bytes = prng.bool(random)
        ? mutate(random, real)
        : noise(random, 20).map((byte) => byte | (prng.bool(random) ? 116 : 0));
      const decoder = decoding.createDecoder(bytes);
      if (orNull(() => skipAny(decoder, 100) ?? true) === null) return;
      const theirs = decoding.createDecoder(bytes);
      decoding.readAny(theirs);
      expect(decoder.pos).toBe(theirs.pos);
    });
  });
});

/** Faults out of the characters that JSON is made of. */
function mutateText(random: prng.PRNG, bytes: Uint8Array): Uint8Array {
  if (prng.bool(random)) return mutate(random, bytes);
  const at = prng.int32(random, 0, bytes.length);
  const marks = '{}[]:,"\\ue1230.-+E tfn\n\t\f\u00a0';
  const fault = new TextEncoder().encode(marks.charAt(prng.int32(random, 0, marks.length - 1)));
  return Uint8Array.from([
    ...bytes.subarray(0, at),
    ...fault,
    ...bytes.subarray(at + prng.int32(random, 0, 1)),
  ]);
}

function randomJson(random: prng.PRNG, depth: number): AnyValue {
  const kind = prng.int32(random, 0, depth > 0 ? 6 : 4);
  if (kind === 5)
    return Array.from({ length: prng.int32(random, 0, 3) }, () => randomJson(random, depth - 1));
  if (kind === 6)
    return { [prng.word(random)]: randomJson(random, depth - 1), "": randomJson(random, depth - 1) };
  return prng.oneOf<AnyValue>(random, [
    null,
    true,
    false,
    0,
    -1.5e-9,
    12e300,
    "",
    '"\\/\b\u0000',
    prng.utf16String(random),
  ]);
}

type AnyValue = Parameters<typeof encoding.writeAny>[1];

function randomAny(random: prng.PRNG): AnyValue {
  const more: AnyValue[] = [
    undefined,
    12n,
    -(2 ** 40),
    2 ** 31,
    -0,
    0.1,
    Uint8Array.of(1, 2),
    { list: [1n, { deep: undefined }] },
  ];
  return prng.bool(random) ? randomJson(random, 3) : prng.oneOf<AnyValue>(random, more);
}
