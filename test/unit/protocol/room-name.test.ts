import * as prng from "lib0/prng";
import { expect, test } from "vitest";
import { decodeRoomName, encodeRoomName } from "../../../src/protocol/room-name.js";

test("[M2] a name has the spelling that a URL parser gives it, and reads back", () => {
  const random = prng.create(7);
  for (let i = 0; i < 2_000; i++) {
    const codes = Array.from({ length: prng.int32(random, 1, 12) }, () =>
      prng.bool(random) ? prng.int32(random, 0x20, 0x7e) : prng.int32(random, 0xa0, 0x2fff),
    );
    const name = String.fromCodePoint(...codes);
    if (name === "." || name === "..") continue;
    const segment = encodeRoomName(name);
    expect(decodeRoomName(segment)).toBe(name);
    expect(segment).not.toMatch(/[/?#\s]/);
    const url = new URL(`http://host/parties/main/${segment}`);
    expect(url.pathname).toBe(`/parties/main/${segment}`);
    if (!/[/?#%\\]/.test(name)) {
      expect(new URL(`http://host/parties/main/${name}x`).pathname).toBe(
        `/parties/main/${encodeRoomName(`${name}x`)}`,
      );
    }
  }
});

test.each([
  "",
  ".",
  "..",
  "\u0000",
  "a\u001fb",
  "a\u007fb",
  "a\u0085b",
  "x".repeat(513),
  "é".repeat(257),
  "你".repeat(171),
  "\udc00",
])("[M2, R3] no room can be called %j", (name) => {
  expect(() => encodeRoomName(name)).toThrow(RangeError);
});

test.each(["%", "%f", "%ff", "%zz", "%c3%28"])("[M2] the spelling %j is refused", (segment) => {
  expect(() => decodeRoomName(segment)).toThrow(RangeError);
});
