import * as prng from "lib0/prng";
import { describe, expect, test } from "vitest";
import {
  cutFrame,
  decodeClientControl,
  decodeServerControl,
  encodeClientControl,
  encodeServerControl,
  isControlFrame,
  type ServerControl,
} from "../../../src/protocol/control.js";
import { encodeAwarenessUpdate } from "../../../src/protocol/awareness.js";
import { ProtocolError } from "../../../src/protocol/protocol-error.js";

const update = Uint8Array.of(0, 0);
const people = [{ clientID: 7, clock: 1, state: '{"at":1}' }];

const fromClient = [
  encodeClientControl({ type: "hello", version: 1, epoch: "0".repeat(32), cursor: 2 ** 40, secret: "ß🐭" }),
  encodeClientControl({ type: "update", number: 1, isWhole: true, update, awareness: null }),
  encodeClientControl({
    type: "update",
    number: 2,
    isWhole: false,
    update,
    awareness: encodeAwarenessUpdate(people),
  }),
  encodeClientControl({ type: "part", index: 1, count: 2, piece: update }),
];

const serverMessages: ServerControl[] = [
  { type: "hello", version: 1, epoch: "", head: 0, access: "admin", maxFrameBytes: 1 },
  { type: "ack", accepted: 5, saved: 4, head: 3 },
  { type: "denied", number: 0, reason: "no" },
  { type: "access", access: "read" },
  { type: "part", index: 0, count: 1, piece: update },
  { type: "closing", code: 4409, reason: "stale" },
];

describe("control frames", () => {
  test("[M1] read back as they were written", () => {
    expect(fromClient.map(decodeClientControl)).toEqual([
      { type: "hello", version: 1, epoch: "0".repeat(32), cursor: 2 ** 40, secret: "ß🐭" },
      { type: "update", number: 1, isWhole: true, update, awareness: [] },
      { type: "update", number: 2, isWhole: false, update, awareness: people },
      { type: "part", index: 1, count: 2, piece: update },
    ]);
    for (const message of serverMessages) {
      expect(decodeServerControl(encodeServerControl(message))).toEqual(message);
    }
  });

  test("[M1] of any other bytes are refused with 4400 and nothing else", () => {
    const random = prng.create(64);
    const frames = [...fromClient, ...serverMessages.map(encodeServerControl)];
    const tryBoth = (bytes: Uint8Array): void => {
      for (const decode of [decodeClientControl, decodeServerControl]) {
        try {
          decode(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }
    };
    for (const frame of frames) {
      for (let at = 0; at < frame.length; at++) {
        tryBoth(frame.subarray(0, at));
        for (let bit = 0; bit < 8; bit++) {
          const flipped = frame.slice();
          flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
          tryBoth(flipped);
        }
      }
      expect(() => decodeClientControl(Uint8Array.of(...frame, 0))).toThrow(ProtocolError);
    }
    for (let i = 0; i < 3_000; i++)
      tryBoth(Uint8Array.of(64, ...prng.uint8Array(random, prng.int32(random, 0, 20))));
  });

  test("[M1] no part lies outside its frame", () => {
    expect(() =>
      decodeClientControl(encodeClientControl({ type: "part", index: 2, count: 2, piece: update })),
    ).toThrow(ProtocolError);
  });

  test("[O13] a frame cut into parts comes together again, and no part is larger than asked for", () => {
    const frame = Uint8Array.from({ length: 10_000 }, (_, i) => i % 256);
    for (const maxBytes of [30, 1_000, 9_999, 20_000]) {
      const parts = cutFrame(frame, maxBytes);
      expect(parts.every((part) => part.byteLength <= maxBytes && isControlFrame(part))).toBe(true);
      const pieces = parts
        .map(decodeClientControl)
        .flatMap((part) => (part.type === "part" ? [...part.piece] : []));
      expect(Uint8Array.from(pieces)).toEqual(frame);
    }
  });
});
