import * as prng from "lib0/prng";
import { describe, expect, test } from "vitest";
import { Awareness, encodeAwarenessUpdate as encodeTheirs } from "y-protocols/awareness";
import * as sync from "y-protocols/sync";
import * as encoding from "lib0/encoding";
import * as Y from "yjs";
import { decodeAwarenessUpdate, encodeAwarenessUpdate } from "../../../src/protocol/awareness.js";
import {
  decodeClientMessage,
  encodeAwareness,
  encodePermissionDenied,
  encodeQueryAwareness,
  encodeSyncStep1,
  encodeSyncStep2,
  encodeUpdate,
} from "../../../src/protocol/message.js";
import { ProtocolError } from "../../../src/protocol/protocol-error.js";

function framed(type: number, write: (encoder: encoding.Encoder) => void): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, type);
  write(encoder);
  return encoding.toUint8Array(encoder);
}

const doc = new Y.Doc();
doc.getText("text").insert(0, "hello");

describe("frames", () => {
  test("[M1] are those of y-protocols, byte for byte", () => {
    const update = Y.encodeStateAsUpdate(doc);
    expect(encodeSyncStep1(Y.encodeStateVector(doc))).toEqual(framed(0, (e) => sync.writeSyncStep1(e, doc)));
    expect(encodeSyncStep2(update)).toEqual(framed(0, (e) => sync.writeSyncStep2(e, doc)));
    expect(encodeUpdate(update)).toEqual(framed(0, (e) => sync.writeUpdate(e, update)));
    const awareness = new Awareness(doc);
    awareness.setLocalState({ name: "Zoë 🐭" });
    const [[clientID, { clock }] = [0, { clock: 0 }]] = [...awareness.meta];
    const entries = [{ clientID, clock, state: JSON.stringify(awareness.getLocalState()) }];
    expect(encodeAwarenessUpdate(entries)).toEqual(encodeTheirs(awareness, [clientID]));
    awareness.destroy();
    expect(encodeQueryAwareness()).toEqual(Uint8Array.of(3));
    expect(encodePermissionDenied("no")).toEqual(Uint8Array.of(2, 0, 2, 110, 111));
  });

  test("[M1] read back as they were written", () => {
    const update = Y.encodeStateAsUpdate(doc);
    expect(decodeClientMessage(encodeSyncStep1(update))).toEqual({ type: "step1", vector: update });
    expect(decodeClientMessage(encodeSyncStep2(update))).toEqual({ type: "step2", update });
    expect(decodeClientMessage(encodeUpdate(update))).toEqual({ type: "update", update });
    expect(decodeClientMessage(encodeQueryAwareness())).toEqual({ type: "queryAwareness" });
    const entries = [
      { clientID: 1, clock: 0, state: '{"a":[1,{"b":"\\"}]"}]}' },
      { clientID: 2 ** 32, clock: 2 ** 31, state: "null" },
    ];
    expect(decodeClientMessage(encodeAwareness(entries))).toEqual({ type: "awareness", entries });
  });

  test("[M1] of any other bytes are refused with 4400 and nothing else", () => {
    const random = prng.create(4_711);
    const frames = [
      encodeSyncStep1(Y.encodeStateVector(doc)),
      encodeUpdate(Y.encodeStateAsUpdate(doc)),
      encodeAwareness([{ clientID: 7, clock: 3, state: '{"user":{"name":"Zoë"}}' }]),
    ];
    const tryDecode = (bytes: Uint8Array): void => {
      try {
        decodeClientMessage(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
        expect(error).toMatchObject({ closeCode: 4400 });
      }
    };
    for (const frame of frames) {
      for (let end = 0; end < frame.length; end++) {
        expect(() => decodeClientMessage(frame.subarray(0, end))).toThrow(ProtocolError);
        for (let bit = 0; bit < 8; bit++) {
          const flipped = frame.slice();
          flipped[end] = (flipped[end] ?? 0) ^ (1 << bit);
          tryDecode(flipped);
        }
      }
    }
    for (let i = 0; i < 5_000; i++) {
      tryDecode(prng.uint8Array(random, prng.int32(random, 0, 40)));
    }
  });

  test.each([
    ["a number past 2^53", Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)],
    ["a number of nine bytes", Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1)],
    ["a length past the end", Uint8Array.of(3, 0, 10, 1)],
    [
      "a length past the end of a view into a longer buffer",
      new Uint8Array([0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]).subarray(0, 4),
    ],
  ])("[M1] %s is refused", (_, bytes) => {
    expect(() => decodeClientMessage(bytes)).toThrow(ProtocolError);
  });

  test("[M1] presence nested so deep that copying it overflows a stack is refused", () => {
    const deep = `{"a":${"[".repeat(101)}${"]".repeat(101)}}`;
    const bytes = encodeAwarenessUpdate([{ clientID: 1, clock: 1, state: deep }]);
    expect(() => decodeAwarenessUpdate(bytes)).toThrow(/nested too deep/);
  });
});
