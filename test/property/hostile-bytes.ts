// Bytes that try to break a decoder: real ones with faults put in, and noise.
import * as prng from "lib0/prng";

/** Values that mean something in an update: small counts, infos and tags of kinds, ends of varints. */
const telling = [0, 1, 2, 4, 7, 8, 9, 10, 11, 32, 64, 116, 117, 118, 119, 125, 127, 128, 132, 192, 255];

/** `bytes` with one to three faults. */
export function mutate(random: prng.PRNG, bytes: Uint8Array): Uint8Array {
  let mutant = Uint8Array.from(bytes);
  for (let left = prng.int32(random, 1, 3); left > 0; left--) mutant = putFault(random, mutant);
  return mutant;
}

function putFault(random: prng.PRNG, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (bytes.length === 0) return bytes;
  const at = prng.int32(random, 0, bytes.length - 1);
  switch (prng.int32(random, 0, 7)) {
    case 0:
      return bytes.with(at, prng.int32(random, 0, 255));
    case 1:
      return bytes.with(at, prng.oneOf(random, telling));
    case 2:
      return bytes.with(at, bytes[at]! ^ (1 << prng.int32(random, 0, 7)));
    case 3:
      return bytes.with(at, bytes[at]! + prng.oneOf(random, [1, -1]));
    case 4:
      return bytes.slice(0, at);
    case 5:
      return splice(bytes, at, 0, [prng.oneOf(random, telling)]);
    case 6:
      return splice(bytes, at, 1, []);
    default:
      // a piece of itself, somewhere else
      return splice(bytes, at, 0, bytes.subarray(prng.int32(random, 0, at), at));
  }
}

function splice(
  bytes: Uint8Array,
  at: number,
  removed: number,
  added: Iterable<number>,
): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...bytes.subarray(0, at), ...added, ...bytes.subarray(at + removed)]);
}

/** Noise, half of it small numbers. */
export function noise(random: prng.PRNG, maxLength: number): Uint8Array {
  const bytes = prng.uint8Array(random, prng.int32(random, 0, maxLength));
  return bytes.map((byte) => (byte % 2 === 0 ? byte : byte % 12));
}
