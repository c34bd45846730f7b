// Delete sets: which clocks of which clients are deleted. Owns their arithmetic and their encoding, which is that of the
// last part of a V1 update. Everything here is linear in the ranges, except where unsorted ranges come in.
import * as decoding from "lib0/decoding";
import { ByteWriter } from "./byte-writer.js";
import { badFrame, tooLarge } from "./faults.js";
import { readStored } from "./stored-bytes.js";
import { readCount, readVarUint } from "./strict-decoding.js";
import { maxClock } from "./struct-reader.js";

/**
 * Deleted clocks per client: `[start, end, start, end, …]`, ends exclusive, ascending, with a gap between two ranges, and
 * never empty. A set that a function here returns shares no array with what it was made from.
 */
export type DeleteSet = Map<number, number[]>;

/** A {@link DeleteSet} to look at. */
export type ReadonlyDeleteSet = ReadonlyMap<number, readonly number[]>;

/** How many ranges a set has. */
export function countDeletes(set: ReadonlyDeleteSet): number {
  let count = 0;
  for (const ranges of set.values()) count += ranges.length / 2;
  return count;
}

/** Adds the deletes of `added` to `set`, in place. A few ranges cost time by their own number, not by that of the set. */
export function addDeletes(set: DeleteSet, added: ReadonlyDeleteSet): void {
  for (const [client, ranges] of added) {
    const known = set.get(client);
    if (known === undefined) set.set(client, [...ranges]);
    else if (ranges.length * 8 > known.length) set.set(client, uniteRanges(known, ranges));
    else for (let i = 0; i < ranges.length; i += 2) insertRange(known, ranges[i]!, ranges[i + 1]!);
  }
}

/** What is deleted in one or the other. */
export function uniteDeletes(a: ReadonlyDeleteSet, b: ReadonlyDeleteSet): DeleteSet {
  const set: DeleteSet = new Map();
  addDeletes(set, a);
  addDeletes(set, b);
  return set;
}

/** What is deleted in `set` and not in `known`. */
export function subtractDeletes(set: ReadonlyDeleteSet, known: ReadonlyDeleteSet): DeleteSet {
  const left: DeleteSet = new Map();
  for (const [client, ranges] of set) {
    const without = known.get(client);
    const rest = without === undefined ? [...ranges] : subtractRanges(ranges, without);
    if (rest.length > 0) left.set(client, rest);
  }
  return left;
}

/** What is deleted below the clock that `end` names for each client. */
export function clipDeletes(set: ReadonlyDeleteSet, end: (client: number) => number): DeleteSet {
  const inside: DeleteSet = new Map();
  for (const [client, ranges] of set) {
    const clipped = clipRanges(ranges, 0, end(client));
    if (clipped.length > 0) inside.set(client, clipped);
  }
  return inside;
}

/** What is deleted in any of `sets`. Linear in the sets, n log n in the ranges of one client. */
export function mergeDeletes(sets: Iterable<ReadonlyDeleteSet>): DeleteSet {
  const gathered = new Map<number, (readonly number[])[]>();
  for (const set of sets) {
    for (const [client, ranges] of set) {
      const lists = gathered.get(client);
      if (lists === undefined) gathered.set(client, [ranges]);
      else lists.push(ranges);
    }
  }
  const merged: DeleteSet = new Map();
  for (const [client, lists] of gathered) merged.set(client, mergeRanges(lists));
  return merged;
}

/** Whether both delete the same. */
export function equalDeletes(a: ReadonlyDeleteSet, b: ReadonlyDeleteSet): boolean {
  if (a.size !== b.size) return false;
  for (const [client, ranges] of a) {
    const others = b.get(client);
    if (others === undefined || others.length !== ranges.length) return false;
    if (others !== ranges && ranges.some((clock, i) => others[i] !== clock)) return false;
  }
  return true;
}

/** The ranges of both. */
export function uniteRanges(a: readonly number[], b: readonly number[]): number[] {
  const united: number[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const takeA = j >= b.length || (i < a.length && a[i]! <= b[j]!);
    if (takeA) {
      appendRange(united, a[i]!, a[i + 1]!);
      i += 2;
    } else {
      appendRange(united, b[j]!, b[j + 1]!);
      j += 2;
    }
  }
  return united;
}

/** The ranges of `a` without those of `b`. */
export function subtractRanges(a: readonly number[], b: readonly number[]): number[] {
  const rest: number[] = [];
  let j = 0;
  for (let i = 0; i < a.length; i += 2) {
    let start = a[i]!;
    const end = a[i + 1]!;
    j = firstEndingAfter(b, start, j);
    // a range of b may reach into the next range of a: j stays on it
    for (let k = j; k < b.length && b[k]! < end && start < end; k += 2) {
      if (b[k]! > start) rest.push(start, b[k]!);
      start = b[k + 1]!;
    }
    if (start < end) rest.push(start, end);
  }
  return rest;
}

/** The index, not below `from`, of the first range that ends after `clock`. Gallops: near ones are found at once. */
function firstEndingAfter(ranges: readonly number[], clock: number, from: number): number {
  let low = from / 2;
  let step = 1;
  while ((low + step) * 2 <= ranges.length && ranges[(low + step) * 2 - 1]! <= clock) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, ranges.length / 2);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle * 2 + 1]! <= clock) low = middle + 1;
    else high = middle;
  }
  return low * 2;
}

/** Adds [start, end) to ranges, in place. */
function insertRange(ranges: number[], start: number, end: number): void {
  // what touches is joined: a range that ends at `start` counts as one to be joined
  const first = firstEndingAfter(ranges, start - 1, 0);
  let next = first;
  while (next < ranges.length && ranges[next]! <= end) next += 2;
  if (first === next) {
    ranges.splice(first, 0, start, end);
    return;
  }
  const joinedStart = Math.min(start, ranges[first]!);
  const joinedEnd = Math.max(end, ranges[next - 1]!);
  ranges.splice(first, next - first, joinedStart, joinedEnd);
}

/** The ranges inside [from, to). */
export function clipRanges(ranges: readonly number[], from: number, to: number): number[] {
  const inside: number[] = [];
  for (let i = 0; i < ranges.length; i += 2) {
    const start = Math.max(ranges[i]!, from);
    const end = Math.min(ranges[i + 1]!, to);
    if (start < end) inside.push(start, end);
  }
  return inside;
}

/** Adds [start, end) to ranges none of which begins after `start`, in place. */
export function appendRange(ranges: number[], start: number, end: number): void {
  const last = ranges.length - 1;
  if (last < 0 || ranges[last]! < start) ranges.push(start, end);
  else if (ranges[last]! < end) ranges[last] = end;
}

/** Joins lists of ranges, which may be unsorted and overlap. */
export function mergeRanges(lists: readonly (readonly number[])[]): number[] {
  const [first, second] = lists;
  if (first === undefined) return [];
  if (lists.length === 2 && second !== undefined) {
    if (isNormal(first) && isNormal(second)) return uniteRanges(first, second);
  } else if (lists.length === 1 && isNormal(first)) {
    return [...first];
  }
  return sweep(lists);
}

/**
 * Starts and ends are sorted apart from each other: what is covered is where more ranges have begun than have ended, and
 * for that it does not matter which end belongs to which start.
 */
function sweep(lists: readonly (readonly number[])[]): number[] {
  let count = 0;
  for (const ranges of lists) count += ranges.length / 2;
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  let n = 0;
  for (const ranges of lists) {
    for (let i = 0; i < ranges.length; i += 2) {
      starts[n] = ranges[i]!;
      ends[n++] = ranges[i + 1]!;
    }
  }
  starts.sort();
  ends.sort();
  const joined: number[] = [];
  let from = 0;
  for (let i = 0; i < count; i++) {
    // the i-th end closes a range if all the starts up to it are its own and the next one lies behind it
    if (i + 1 < count && starts[i + 1]! <= ends[i]!) continue;
    joined.push(starts[from]!, ends[i]!);
    from = i + 1;
  }
  return joined;
}

/** Whether the ranges ascend with a gap between two. */
export function isNormal(ranges: readonly number[]): boolean {
  for (let i = 2; i < ranges.length; i += 2) {
    if (ranges[i]! <= ranges[i - 1]!) return false;
  }
  return true;
}

/** Writes a set as the last part of a V1 update, clients descending as Yjs does. */
export function writeDeletes(writer: ByteWriter, set: ReadonlyDeleteSet): void {
  writer.writeVarUint(set.size);
  for (const client of descendingClients(set)) {
    const ranges = set.get(client)!;
    writer.writeVarUint(client);
    writer.writeVarUint(ranges.length / 2);
    for (let i = 0; i < ranges.length; i += 2) {
      writer.writeVarUint(ranges[i]!);
      writer.writeVarUint(ranges[i + 1]! - ranges[i]!);
    }
  }
}

/** The clients of a map in the order in which Yjs writes them. */
export function descendingClients(map: ReadonlyMap<number, unknown>): number[] {
  return [...map.keys()].sort((a, b) => b - a);
}

/** A set as bytes, as {@link writeDeletes} writes them. */
export function encodeDeletes(set: ReadonlyDeleteSet): Uint8Array {
  const writer = new ByteWriter();
  writeDeletes(writer, set);
  return writer.toBytes();
}

/** Reads what {@link encodeDeletes} made. @throws Error when the bytes are damaged */
export function decodeDeletes(bytes: Uint8Array): DeleteSet {
  return readStored("delete set", () => {
    const decoder = decoding.createDecoder(bytes);
    const { deletes } = readDeletes(decoder, Infinity);
    if (decoder.pos !== bytes.length) throw badFrame("bytes left over");
    return deletes;
  });
}

/**
 * Reads the delete set of an update. `isNormalForm` is false when the bytes are not what {@link writeDeletes} would write
 * for it: unsorted, overlapping or touching ranges, clients out of order, twice, or without a range.
 * @throws ProtocolError 4400, and 4413 above `maxRanges`
 */
export function readDeletes(
  decoder: decoding.Decoder,
  maxRanges: number,
): { deletes: DeleteSet; isNormalForm: boolean } {
  const deletes: DeleteSet = new Map();
  const again = new Map<number, number[][]>();
  let isNormalForm = true;
  let left = maxRanges;
  let lastClient = Infinity;
  for (let clients = readCount(decoder); clients > 0; clients--) {
    const client = readVarUint(decoder);
    const count = readCount(decoder);
    left -= count;
    if (left < 0) throw tooLarge("too many deletes");
    if (client >= lastClient || count === 0) isNormalForm = false;
    lastClient = client;
    if (count === 0) continue;
    let ranges = readRanges(decoder, count);
    if (!isNormal(ranges)) {
      isNormalForm = false;
      ranges = mergeRanges([ranges]);
    }
    const known = deletes.get(client);
    if (known === undefined) deletes.set(client, ranges);
    else keepFor(again, client, known, ranges);
  }
  // all at once: uniting them one by one would be quadratic
  for (const [client, lists] of again) deletes.set(client, mergeRanges(lists));
  return { deletes, isNormalForm };
}

function keepFor(again: Map<number, number[][]>, client: number, first: number[], ranges: number[]): void {
  const lists = again.get(client);
  if (lists === undefined) again.set(client, [first, ranges]);
  else lists.push(ranges);
}

function readRanges(decoder: decoding.Decoder, count: number): number[] {
  const ranges: number[] = [];
  for (let i = 0; i < count; i++) {
    const clock = readVarUint(decoder);
    const length = readVarUint(decoder);
    if (length === 0) throw badFrame("empty delete");
    if (clock + length > maxClock) throw badFrame("clock too large");
    ranges.push(clock, clock + length);
  }
  return ranges;
}
