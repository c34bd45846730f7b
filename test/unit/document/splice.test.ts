// Joining updates and telling what somebody lacks of them.
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { diffUpdate } from "../../../src/document/diff.js";
import { scanUpdate, type ScannedUpdate } from "../../../src/document/scan.js";
import { emptyUpdate, spliceUpdates } from "../../../src/document/splice.js";
import { gc, rawUpdate, skip, text, type RawStruct } from "./raw-update.js";

function of7(clock: number, ...structs: readonly RawStruct[]): ScannedUpdate {
  return scanUpdate(rawUpdate([{ client: 7, clock, structs }]));
}

describe("[LOG 2] splice", () => {
  test("joins the structs of a client and the deletes of all", () => {
    const updates = [
      rawUpdate([{ client: 7, clock: 0, structs: [text("ab")] }], [[3, [[4, 1]]]]),
      rawUpdate([{ client: 9, clock: 0, structs: [text("x", { origin: [7, 1] })] }]),
      rawUpdate(
        [{ client: 7, clock: 2, structs: [text("c", { origin: [9, 0] })] }],
        [
          [7, [[0, 1]]],
          [3, [[3, 1]]],
        ],
      ),
    ].map((bytes) => scanUpdate(bytes));
    expect(spliceUpdates(updates)).toEqual(
      rawUpdate(
        [
          { client: 9, clock: 0, structs: [text("x", { origin: [7, 1] })] },
          { client: 7, clock: 0, structs: [text("ab"), text("c", { origin: [9, 0] })] },
        ],
        [
          [7, [[0, 1]]],
          [3, [[3, 2]]],
        ],
      ),
    );
  });

  test("of nothing is an empty update, of one that one", () => {
    expect(spliceUpdates([])).toEqual(emptyUpdate);
    const update = of7(0, text("a"));
    expect(spliceUpdates([update])).toBe(update.bytes);
  });

  test("puts a Skip where clocks are missing, and keeps those that are there", () => {
    const spliced = spliceUpdates([of7(9, gc(1)), of7(0, gc(1), skip(2), gc(1))]);
    expect(spliced).toEqual(of7(0, gc(1), skip(2), gc(1), skip(5), gc(1)).bytes);
  });

  test("takes what lies in two updates once", () => {
    const updates = Array.from({ length: 130 }, (_, i) =>
      of7(i, text("ab", i > 0 ? { origin: [7, i - 1] } : {})),
    );
    const doc = new Y.Doc();
    Y.applyUpdate(doc, spliceUpdates(updates));
    expect(doc.getText("text").toJSON()).toBe("a" + "b".repeat(130));
    expect(Y.decodeStateVector(Y.encodeStateVector(doc))).toEqual(new Map([[7, 131]]));
  });
});

describe("[LOG 3] diff", () => {
  const bytes = rawUpdate(
    [
      { client: 9, clock: 4, structs: [text("x")] },
      { client: 7, clock: 2, structs: [text("abc"), text("de", { origin: [7, 4] })] },
    ],
    [[7, [[2, 1]]]],
  );
  const diff = (...vector: [number, number][]): Uint8Array | null =>
    diffUpdate(scanUpdate(bytes), new Map(vector));

  test("has the sections that the vector does not cover, without deletes", () => {
    expect(diff([9, 5])).toEqual(of7(2, text("abc"), text("de", { origin: [7, 4] })).bytes);
    expect(diff([7, 99])).toEqual(rawUpdate([{ client: 9, clock: 4, structs: [text("x")] }]));
  });

  test("is null when it covers all of them", () => {
    expect(diff([9, 5], [7, 7])).toBeNull();
  });

  test("begins between two structs or inside of one", () => {
    expect(diff([9, 5], [7, 5])).toEqual(of7(5, text("de", { origin: [7, 4] })).bytes);
    expect(diff([9, 5], [7, 3])).toEqual(
      of7(3, text("bc", { origin: [7, 2] }), text("de", { origin: [7, 4] })).bytes,
    );
    expect(diff([9, 5], [7, 6])).toEqual(of7(6, text("e", { origin: [7, 5] })).bytes);
  });

  test("does not begin with a Skip", () => {
    const update = of7(0, text("ab"), skip(3), text("c"), skip(1), text("d"));
    for (const clock of [2, 3, 4, 5]) {
      expect(diffUpdate(update, new Map([[7, clock]]))).toEqual(of7(5, text("c"), skip(1), text("d")).bytes);
    }
    expect(diffUpdate(update, new Map([[7, 1]]))).toEqual(
      of7(1, text("b", { origin: [7, 0] }), skip(3), text("c"), skip(1), text("d")).bytes,
    );
  });
});
