// State vectors, and the clock ranges that a row of the log keeps beside its bytes so that a vector can be put together
// without reading them. Owns both encodings.
import { Reader } from "../protocol/reader.js";
import { ByteWriter } from "./byte-writer.js";
import { descendingClients } from "./delete-set.js";
import { badFrame, tooLarge } from "./faults.js";
import { readStored } from "./stored-bytes.js";

/** Per client the clock up to which everything is known, exclusive. A client that is missing is at 0. */
export type StateVector = Map<number, number>;

/** A {@link StateVector} to look at. */
export type ReadonlyStateVector = ReadonlyMap<number, number>;

/** Limits of a state vector from outside. */
export interface StateVectorLimits {
  /**
   * Clients. Protects memory: some 50 bytes each once decoded, while two on the wire are enough, so that one frame of
   * 32 MiB would take 800 MB. 131 072, as for the sections of a sync step 2.
   */
  readonly maxClients: number;
}

/** Limits of a state vector that a peer sends in its sync step 1. */
export const defaultStateVectorLimits: StateVectorLimits = { maxClients: 131_072 };

/**
 * Decodes a state vector of a peer. Entries at clock 0 say nothing and are left out, so that an empty map means "has
 * nothing".
 * @throws ProtocolError 4400, and 4413 above the limits
 */
export function decodeStateVector(
  bytes: Uint8Array,
  limits: StateVectorLimits = defaultStateVectorLimits,
): StateVector {
  const reader = new Reader(bytes);
  const vector: StateVector = new Map();
  const count = reader.readVarUint();
  if (count > reader.left / 2) throw badFrame("truncated");
  if (count > limits.maxClients) throw tooLarge("too many clients");
  let zeros: number[] | null = null;
  for (let i = 0; i < count; i++) {
    const client = reader.readVarUint();
    const clock = reader.readVarUint();
    if (vector.has(client)) throw badFrame("client twice");
    vector.set(client, clock);
    if (clock === 0) (zeros ??= []).push(client);
  }
  reader.end();
  if (zeros !== null) for (const client of zeros) vector.delete(client);
  return vector;
}

/** Encodes a state vector as Yjs does. */
export function encodeStateVector(vector: ReadonlyStateVector): Uint8Array {
  const writer = new ByteWriter(8 + vector.size * 10);
  writer.writeVarUint(vector.size);
  for (const client of descendingClients(vector)) {
    writer.writeVarUint(client);
    writer.writeVarUint(vector.get(client)!);
  }
  return writer.toBytes();
}

/** The clocks [from, to) of one client. */
export type ClockRange = readonly [client: number, from: number, to: number];

/** Encodes the clock ranges of a row: their number, then client, start and length of each. */
export function encodeClockRanges(ranges: readonly ClockRange[]): Uint8Array {
  const writer = new ByteWriter(8 + ranges.length * 12);
  writer.writeVarUint(ranges.length);
  for (const [client, from, to] of ranges) {
    writer.writeVarUint(client);
    writer.writeVarUint(from);
    writer.writeVarUint(to - from);
  }
  return writer.toBytes();
}

/** Reads what {@link encodeClockRanges} made. @throws Error when the bytes are damaged */
export function decodeClockRanges(bytes: Uint8Array): ClockRange[] {
  return readStored("clock ranges", () => {
    const reader = new Reader(bytes);
    const ranges: ClockRange[] = [];
    for (let left = reader.readVarUint(); left > 0; left--) {
      const client = reader.readVarUint();
      const from = reader.readVarUint();
      ranges.push([client, from, from + reader.readVarUint()]);
    }
    reader.end();
    return ranges;
  });
}

/**
 * Advances `vector` over `ranges`, in place. Returns whether each of them continued what the vector had: in a closed log
 * they do. A range behind a gap, as a row that had to be set aside leaves it, is not counted, so that the vector never
 * claims what is missing.
 */
export function foldClocks(vector: StateVector, ranges: Iterable<ClockRange>): boolean {
  let isClosed = true;
  for (const [client, from, to] of ranges) {
    const known = vector.get(client) ?? 0;
    if (from > known) isClosed = false;
    else if (to > known) vector.set(client, to);
  }
  return isClosed;
}
