// Decides whether a piece of UTF-8 is JSON that `JSON.parse` takes, without making the value or even the string. Formats
// of rich text come as thousands of tiny JSON strings; decoding and parsing them makes its scan three times as slow.
import { badFrame } from "./faults.js";

const Byte = {
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  E: 0x45,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  e: 0x65,
  u: 0x75,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

const utf8 = new TextEncoder();
const words = ["true", "false", "null"].map((word) => utf8.encode(word));
const escapes = new Set(utf8.encode('"\\/bfnrt'));

/**
 * Checks the bytes [from, end), which must be valid UTF-8. Grammar of RFC 8259, which is `JSON.parse`'s. `maxDepth`
 * counts arrays and objects.
 * @throws ProtocolError 4400
 */
export function checkJson(bytes: Uint8Array, from: number, end: number, maxDepth: number): void {
  const pos = skipSpace(bytes, skipValue(bytes, skipSpace(bytes, from, end), end, maxDepth), end);
  if (pos !== end) throw notJson();
}

function skipValue(bytes: Uint8Array, pos: number, end: number, depth: number): number {
  const byte = pos < end ? bytes[pos] : undefined;
  if (byte === Byte.quote) return skipText(bytes, pos, end);
  if (byte === Byte.openObject) return skipObject(bytes, pos, end, depth);
  if (byte === Byte.openArray) return skipArray(bytes, pos, end, depth);
  for (const word of words) {
    if (byte === word[0]) return skipWord(bytes, pos, end, word);
  }
  return skipNumber(bytes, pos, end);
}

function skipArray(bytes: Uint8Array, from: number, end: number, depth: number): number {
  if (depth <= 0) throw badFrame("value nested too deep");
  let pos = skipSpace(bytes, from + 1, end);
  if (isAt(bytes, pos, end, Byte.closeArray)) return pos + 1;
  for (;;) {
    pos = skipSpace(bytes, skipValue(bytes, skipSpace(bytes, pos, end), end, depth - 1), end);
    if (isAt(bytes, pos, end, Byte.closeArray)) return pos + 1;
    pos = expect(bytes, pos, end, Byte.comma);
  }
}

function skipObject(bytes: Uint8Array, from: number, end: number, depth: number): number {
  if (depth <= 0) throw badFrame("value nested too deep");
  let pos = skipSpace(bytes, from + 1, end);
  if (isAt(bytes, pos, end, Byte.closeObject)) return pos + 1;
  for (;;) {
    pos = skipSpace(bytes, skipText(bytes, skipSpace(bytes, pos, end), end), end);
    pos = skipSpace(bytes, expect(bytes, pos, end, Byte.colon), end);
    pos = skipSpace(bytes, skipValue(bytes, pos, end, depth - 1), end);
    if (isAt(bytes, pos, end, Byte.closeObject)) return pos + 1;
    pos = expect(bytes, pos, end, Byte.comma);
  }
}

function skipText(bytes: Uint8Array, from: number, end: number): number {
  let pos = expect(bytes, from, end, Byte.quote);
  while (pos < end) {
    const byte = bytes[pos]!;
    if (byte === Byte.quote) return pos + 1;
    if (byte < 0x20) throw notJson();
    pos = byte === Byte.backslash ? skipEscape(bytes, pos, end) : pos + 1;
  }
  throw notJson();
}

function skipEscape(bytes: Uint8Array, from: number, end: number): number {
  if (from + 2 > end) throw notJson();
  const letter = bytes[from + 1]!;
  if (letter !== Byte.u) {
    if (!escapes.has(letter)) throw notJson();
    return from + 2;
  }
  if (from + 6 > end) throw notJson();
  for (let pos = from + 2; pos < from + 6; pos++) {
    if (!isHexDigit(bytes[pos]!)) throw notJson();
  }
  return from + 6;
}

function skipNumber(bytes: Uint8Array, from: number, end: number): number {
  let pos = isAt(bytes, from, end, Byte.minus) ? from + 1 : from;
  pos = isAt(bytes, pos, end, Byte.zero) ? pos + 1 : skipDigits(bytes, pos, end);
  if (isAt(bytes, pos, end, Byte.point)) pos = skipDigits(bytes, pos + 1, end);
  if (isAt(bytes, pos, end, Byte.e) || isAt(bytes, pos, end, Byte.E)) {
    pos++;
    if (isAt(bytes, pos, end, Byte.plus) || isAt(bytes, pos, end, Byte.minus)) pos++;
    pos = skipDigits(bytes, pos, end);
  }
  return pos;
}

/** One digit at least. */
function skipDigits(bytes: Uint8Array, from: number, end: number): number {
  let pos = from;
  while (pos < end && bytes[pos]! >= Byte.zero && bytes[pos]! <= Byte.nine) pos++;
  if (pos === from) throw notJson();
  return pos;
}

function skipWord(bytes: Uint8Array, from: number, end: number, word: Uint8Array): number {
  let pos = from;
  for (const byte of word) pos = expect(bytes, pos, end, byte);
  return pos;
}

function skipSpace(bytes: Uint8Array, from: number, end: number): number {
  let pos = from;
  while (pos < end && isSpace(bytes[pos]!)) pos++;
  return pos;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function isHexDigit(byte: number): boolean {
  const letter = byte | 0x20;
  return (byte >= Byte.zero && byte <= Byte.nine) || (letter >= 0x61 && letter <= 0x66);
}

function isAt(bytes: Uint8Array, pos: number, end: number, byte: number): boolean {
  return pos < end && bytes[pos] === byte;
}

function expect(bytes: Uint8Array, pos: number, end: number, byte: number): number {
  if (!isAt(bytes, pos, end, byte)) throw notJson();
  return pos + 1;
}

function notJson(): Error {
  return badFrame("invalid JSON");
}
