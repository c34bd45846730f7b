// Strict readers of the values inside an update, on a lib0 decoder. lib0's own readers accept numbers that come out as
// NaN or Infinity and build every value they read; these build nothing: they check, measure and move on. They are the
// hot path of the room, so they index bytes directly, and `pos` is written back once per value.
import type { Decoder } from "lib0/decoding";
import { badFrame } from "./faults.js";
import { checkJson } from "./json-check.js";

/** A varint: minimal, at most 8 bytes, at most 2⁵³ − 1. @throws ProtocolError 4400 */
export function readVarUint(decoder: Decoder): number {
  const bytes = decoder.arr;
  let pos = decoder.pos;
  if (pos >= bytes.length) throw badFrame("truncated");
  let byte = bytes[pos++]!;
  if (byte < 0x80) {
    decoder.pos = pos;
    return byte;
  }
  let value = byte & 0x7f;
  let multiplier = 128;
  for (let i = 1; i < 8; i++) {
    if (pos >= bytes.length) throw badFrame("truncated");
    byte = bytes[pos++]!;
    value += (byte & 0x7f) * multiplier;
    if (byte < 0x80) {
      if (byte === 0) throw badFrame("number not minimal");
      if (value > Number.MAX_SAFE_INTEGER) throw badFrame("number too large");
      decoder.pos = pos;
      return value;
    }
    multiplier *= 128;
  }
  throw badFrame("number too long");
}

/** A number of things that take at least one byte each. @throws ProtocolError 4400 when more than bytes are left */
export function readCount(decoder: Decoder): number {
  const count = readVarUint(decoder);
  if (count > decoder.arr.length - decoder.pos) throw badFrame("truncated");
  return count;
}

/** Passes over a byte array behind its length. @throws ProtocolError 4400 */
export function skipVarUint8Array(decoder: Decoder): void {
  const length = readCount(decoder);
  decoder.pos += length;
}

/**
 * Passes over a string. Returns its length in UTF-16 units, which is what Yjs counts clocks in.
 * @throws ProtocolError 4400, also for invalid UTF-8: clients decode strictly and would throw
 */
export function skipVarString(decoder: Decoder): number {
  return skipUtf8(decoder, readCount(decoder));
}

function skipUtf8(decoder: Decoder, length: number): number {
  const bytes = decoder.arr;
  const from = decoder.pos;
  const end = from + length;
  let pos = from;
  while (pos < end && bytes[pos]! < 0x80) pos++;
  const units = pos < end ? pos - from + countUnits(bytes, pos, end) : length;
  decoder.pos = end;
  return units;
}

/** The UTF-16 units of the UTF-8 in [from, end). The ranges are those of table 3-7 of the Unicode Standard. */
function countUnits(bytes: Uint8Array, from: number, end: number): number {
  let pos = from;
  let units = 0;
  while (pos < end) {
    const byte = bytes[pos]!;
    if (byte < 0x80) {
      pos++;
      units++;
      continue;
    }
    const size = byte < 0xc2 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0;
    if (size === 0 || pos + size > end) throw badFrame("invalid UTF-8");
    const second = bytes[pos + 1]!;
    if ((second & 0xc0) !== 0x80) throw badFrame("invalid UTF-8");
    if (size > 2) {
      // overlong forms, lone surrogates, and what lies above U+10FFFF show in the second byte
      if (byte === 0xe0 && second < 0xa0) throw badFrame("invalid UTF-8");
      if (byte === 0xed && second > 0x9f) throw badFrame("invalid UTF-8");
      if (byte === 0xf0 && second < 0x90) throw badFrame("invalid UTF-8");
      if (byte === 0xf4 && second > 0x8f) throw badFrame("invalid UTF-8");
      if ((bytes[pos + 2]! & 0xc0) !== 0x80) throw badFrame("invalid UTF-8");
      if (size === 4 && (bytes[pos + 3]! & 0xc0) !== 0x80) throw badFrame("invalid UTF-8");
    }
    pos += size;
    units += size === 4 ? 2 : 1;
  }
  return units;
}

/** Passes over a name: a root, a map key, a format key, a node. @throws ProtocolError 4400, also above `maxBytes` */
export function skipKey(decoder: Decoder, maxBytes: number): void {
  const length = readCount(decoder);
  if (length > maxBytes) throw badFrame("name too long");
  skipUtf8(decoder, length);
}

/**
 * Passes over a string that holds JSON and checks that `JSON.parse` takes it.
 * @throws ProtocolError 4400, also when it is nested deeper than `maxDepth`
 */
export function skipJson(decoder: Decoder, maxDepth: number): void {
  const length = readCount(decoder);
  const from = decoder.pos;
  skipUtf8(decoder, length); // the check of the grammar relies on valid UTF-8
  checkJson(decoder.arr, from, from + length, maxDepth);
}

const undefinedText = new TextEncoder().encode("undefined");

/** Like {@link skipJson}, for ContentJSON, where Yjs writes the word `undefined` for a missing value. */
export function skipJsonOrUndefined(decoder: Decoder, maxDepth: number): void {
  const start = decoder.pos;
  const length = readCount(decoder);
  if (length === undefinedText.length) {
    const from = decoder.pos;
    if (undefinedText.every((byte, i) => decoder.arr[from + i] === byte)) {
      decoder.pos = from + length;
      return;
    }
  }
  decoder.pos = start;
  skipJson(decoder, maxDepth);
}

/** The tags of lib0's `any` encoding. */
const AnyTag = {
  bytes: 116,
  array: 117,
  object: 118,
  string: 119,
  true: 120,
  false: 121,
  bigint: 122,
  float64: 123,
  float32: 124,
  integer: 125,
  null: 126,
  undefined: 127,
} as const;

/**
 * Passes over one value in lib0's `any` encoding. `depth` is how many more levels it may nest.
 * @throws ProtocolError 4400
 */
export function skipAny(decoder: Decoder, depth: number): void {
  if (depth <= 0) throw badFrame("value nested too deep");
  if (decoder.pos >= decoder.arr.length) throw badFrame("truncated");
  const tag = decoder.arr[decoder.pos++]!;
  switch (tag) {
    case AnyTag.true:
    case AnyTag.false:
    case AnyTag.null:
    case AnyTag.undefined:
      return;
    case AnyTag.integer:
      return skipVarInt(decoder);
    case AnyTag.float32:
      return skipBytes(decoder, 4);
    case AnyTag.float64:
    case AnyTag.bigint:
      return skipBytes(decoder, 8);
    case AnyTag.string:
      skipVarString(decoder);
      return;
    case AnyTag.bytes:
      return skipVarUint8Array(decoder);
    case AnyTag.array:
      for (let left = readCount(decoder); left > 0; left--) skipAny(decoder, depth - 1);
      return;
    case AnyTag.object:
      for (let left = readCount(decoder); left > 0; left--) {
        skipVarString(decoder);
        skipAny(decoder, depth - 1);
      }
      return;
    default:
      throw badFrame("unknown kind of value");
  }
}

/** Passes over an `any` value that must be an object, as the options of a subdocument are. @throws ProtocolError 4400 */
export function skipAnyObject(decoder: Decoder, depth: number): void {
  if (decoder.arr[decoder.pos] !== AnyTag.object) throw badFrame("options are not an object");
  skipAny(decoder, depth);
}

function skipBytes(decoder: Decoder, count: number): void {
  if (count > decoder.arr.length - decoder.pos) throw badFrame("truncated");
  decoder.pos += count;
}

/** A signed varint: the first byte holds a sign and 6 bits. As strict as {@link readVarUint}. */
function skipVarInt(decoder: Decoder): void {
  const bytes = decoder.arr;
  let value = 0;
  let multiplier = 1;
  for (let i = 0; i < 8; i++) {
    if (decoder.pos >= bytes.length) throw badFrame("truncated");
    const byte = bytes[decoder.pos++]!;
    value += (byte & (i === 0 ? 0x3f : 0x7f)) * multiplier;
    if (byte < 0x80) {
      if (byte === 0 && i > 0) throw badFrame("number not minimal");
      if (value > Number.MAX_SAFE_INTEGER) throw badFrame("number too large");
      return;
    }
    multiplier *= i === 0 ? 64 : 128;
  }
  throw badFrame("number too long");
}
