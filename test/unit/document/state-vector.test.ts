// State vectors of peers, and those put together from the rows of the log.
import { describe, expect, test } from "vitest";
import { decodeStateVector, foldClocks, type ClockRange } from "../../../src/document/state-vector.js";
import { CloseCode } from "../../../src/protocol/close-code.js";

describe("[LOG 1.1] a state vector of a peer", () => {
  test.each([
    ["nothing", [], "truncated"],
    ["fewer entries than it says", [2, 1, 1], "truncated"],
    ["bytes left over", [1, 1, 1, 0], "bytes left over"],
    ["a client twice", [2, 1, 1, 1, 2], "client twice"],
    ["a client twice, once at 0", [2, 1, 0, 1, 2], "client twice"],
    ["a number that is not minimal", [1, 1, 0x81, 0], "number not minimal"],
  ])("with %s is refused", (_what, bytes, reason) => {
    expect(() => decodeStateVector(Uint8Array.from(bytes))).toThrow(
      expect.objectContaining({ closeCode: CloseCode.badFrame, reason }),
    );
  });

  test("with too many clients is too large", () => {
    const bytes = Uint8Array.of(3, 1, 1, 2, 1, 3, 1);
    expect(decodeStateVector(bytes, { maxClients: 3 }).size).toBe(3);
    expect(() => decodeStateVector(bytes, { maxClients: 2 })).toThrow(
      expect.objectContaining({ closeCode: CloseCode.tooLarge }),
    );
  });

  test("with clocks at 0 only has nothing", () => {
    expect(decodeStateVector(Uint8Array.of(2, 1, 0, 2, 0)).size).toBe(0);
  });
});

describe("[LOG 2] the clock ranges of rows", () => {
  test("advance the vector of a closed log", () => {
    const vector = new Map([[7, 2]]);
    const ranges: ClockRange[] = [
      [7, 2, 5],
      [3, 0, 4],
      [7, 4, 9],
    ];
    expect(foldClocks(vector, ranges)).toBe(true);
    expect(vector).toEqual(
      new Map([
        [7, 9],
        [3, 4],
      ]),
    );
  });

  test("behind a gap do not count", () => {
    const vector = new Map([[7, 2]]);
    expect(
      foldClocks(vector, [
        [7, 3, 5],
        [3, 0, 4],
      ]),
    ).toBe(false);
    expect(vector).toEqual(
      new Map([
        [7, 2],
        [3, 4],
      ]),
    );
  });
});
