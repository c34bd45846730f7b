// The rules of the scan, one by one, on updates written by hand.
import * as encoding from "lib0/encoding";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { scanUpdate } from "../../../src/document/scan.js";
import { defaultUpdateLimits, type UpdateLimits } from "../../../src/document/update-limits.js";
import { CloseCode } from "../../../src/protocol/close-code.js";
import { ProtocolError } from "../../../src/protocol/protocol-error.js";
import { any, deleted, gc, item, json, rawUpdate, skip, text, type RawStruct } from "./raw-update.js";

/** An update of client 7 from clock 10 on. */
function of7(...structs: readonly RawStruct[]): Uint8Array {
  return rawUpdate([{ client: 7, clock: 10, structs }]);
}

function expectRefused(bytes: Uint8Array, reason: string, closeCode: CloseCode = CloseCode.badFrame): void {
  let error: unknown = null;
  try {
    scanUpdate(bytes);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error).toMatchObject({ closeCode, reason });
}

describe("[LOG 1.1] refuses with 4400", () => {
  const writeString = (value: string) => (encoder: encoding.Encoder) =>
    encoding.writeVarString(encoder, value);
  const writeUint = (value: number) => (encoder: encoding.Encoder) => encoding.writeVarUint(encoder, value);
  const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const cases: readonly (readonly [what: string, bytes: Uint8Array, reason: string])[] = [
    ["nothing at all", new Uint8Array(), "truncated"],
    ["bytes left over", Uint8Array.of(0, 0, 0), "bytes left over"],
    ["a number longer than it must be", Uint8Array.of(0x80, 0, 0), "number not minimal"],
    [
      "a number above 2⁵³ − 1",
      Uint8Array.of(1, 1, 255, 255, 255, 255, 255, 255, 255, 127),
      "number too large",
    ],
    [
      "a number of more than 8 bytes",
      Uint8Array.of(1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 1),
      "number too long",
    ],
    [
      "more structs than bytes",
      rawUpdate([{ client: 7, clock: 0, structs: [gc(1)], count: 9 }]),
      "truncated",
    ],
    ["more sections than bytes", Uint8Array.of(9, 0), "truncated"],
    ["an unknown kind of struct", of7([11, 1]), "unknown kind of struct"],
    ["a GC with flags", of7([0x80, 1]), "unknown kind of struct"],
    ["a Skip with flags", of7([10 | 0x20, 1], gc(1)), "unknown kind of struct"],
    ["an empty GC", of7(gc(0)), "empty struct"],
    ["an empty Skip", of7(gc(1), skip(0), gc(1)), "empty struct"],
    ["an empty string", of7(text("")), "empty struct"],
    ["an item without values", of7(item(8, writeUint(0))), "empty struct"],
    [
      "a string that is not UTF-8",
      of7(item(4, (encoder) => encoding.writeVarUint8Array(encoder, Uint8Array.of(0xed, 0xa0, 0x80)))),
      "invalid UTF-8",
    ],
    ["JSON that does not parse", of7(json("{a:1}")), "invalid JSON"],
    ["JSON with something behind it", of7(json("1 2")), "invalid JSON"],
    ["an embed that is undefined", of7(item(5, writeString("undefined"))), "invalid JSON"],
    ["JSON nested deeper than 100", of7(json(deep(101))), "value nested too deep"],
    [
      "a value nested deeper than 100",
      of7(
        any(
          ...Array<number>(200)
            .fill(1)
            .map((one, i) => (i % 2 === 0 ? 117 : one)),
          126,
        ),
      ),
      "value nested too deep",
    ],
    ["an unknown tag in a value", of7(any(115)), "unknown kind of value"],
    ["more values in an array than bytes", of7(any(117, 200, 1)), "truncated"],
    ["a parent that is neither root nor item", of7([4, 2, 1, 97, 1, 97]), "unknown kind of parent"],
    ["an unknown type", of7(item(7, writeUint(7))), "unknown kind of type"],
    [
      "options of a subdocument that are no object",
      of7(
        item(9, (encoder) => {
          encoding.writeVarString(encoder, "guid");
          encoding.writeAny(encoder, null);
        }),
      ),
      "options are not an object",
    ],
    ["a root name above 4 KiB", of7(text("a", { parent: "x".repeat(4097) })), "name too long"],
    ["a map key above 4 KiB", of7(text("a", { key: "x".repeat(4097) })), "name too long"],
    [
      "a node name above 4 KiB",
      of7(
        item(7, (encoder) => {
          encoding.writeVarUint(encoder, 3);
          encoding.writeVarString(encoder, "x".repeat(4097));
        }),
      ),
      "name too long",
    ],
    ["an origin in itself", of7(text("abc", { origin: [7, 10] })), "reference to itself"],
    ["an own right origin that comes later", of7(text("abc", { right: [7, 99] })), "reference to itself"],
    ["an own parent that comes later", of7(text("abc", { parent: [7, 13] }), gc(1)), "reference to itself"],
    [
      "an origin that is the right origin",
      of7(text("a", { origin: [3, 5], right: [3, 5] })),
      "origin is right origin",
    ],
    [
      "a clock above 2³² − 1",
      rawUpdate([{ client: 7, clock: 2 ** 32 - 2, structs: [gc(2)] }]),
      "clock too large",
    ],
    ["a reference above 2³² − 1", of7(text("a", { origin: [3, 2 ** 32 - 1] })), "clock too large"],
    ["an empty delete", rawUpdate([], [[7, [[3, 0]]]]), "empty delete"],
    ["a delete above 2³² − 1", rawUpdate([], [[7, [[2 ** 32 - 2, 2]]]]), "clock too large"],
    [
      "overlapping sections of one client",
      rawUpdate([
        { client: 7, clock: 0, structs: [gc(5)] },
        { client: 7, clock: 4, structs: [gc(5)] },
      ]),
      "overlapping sections",
    ],
  ];
  test.each(cases)("%s", (_what, bytes, reason) => expectRefused(bytes, reason));

  test("but takes what lies just inside", () => {
    const inside = [
      of7(json(deep(100))),
      of7(json("undefined")),
      of7(text("abc", { origin: [7, 9], right: [3, 5] })),
      of7(text("a", { parent: "x".repeat(4096) })),
      rawUpdate([{ client: 2 ** 53 - 1, clock: 2 ** 32 - 3, structs: [gc(2)] }], [[7, [[0, 2 ** 32 - 1]]]]),
    ];
    for (const bytes of inside) expect(scanUpdate(bytes).bytes).toBe(bytes);
  });
});

describe("[LOG 1.1] refuses with 4413 above the limit, and not at it,", () => {
  const doc = (encoder: encoding.Encoder) => {
    encoding.writeVarString(encoder, "guid");
    encoding.writeAny(encoder, {});
  };
  const sections = (count: number) =>
    rawUpdate(Array.from({ length: count }, (_, i) => ({ client: count - i, clock: 0, structs: [gc(1)] })));
  const cases: readonly (readonly [
    limit: keyof UpdateLimits,
    reason: string,
    update: (n: number) => Uint8Array,
  ])[] = [
    ["maxStructs", "too many structs", (n) => of7(...Array<RawStruct>(n).fill(gc(1)))],
    ["maxSections", "too many clients", sections],
    [
      "maxDeleteRanges",
      "too many deletes",
      (n) => rawUpdate([], [[7, Array.from({ length: n }, (_, i) => [2 * i, 1] as const)]]),
    ],
    [
      "maxRoots",
      "too many root names",
      (n) => of7(...Array.from({ length: n }, (_, i) => text("a", { parent: `root ${i}` }))),
    ],
    ["maxSubdocuments", "too many subdocuments", (n) => of7(...Array<RawStruct>(n).fill(item(9, doc)))],
    ["maxBytes", "update too large", (n) => of7(text("x".repeat(n - 13)))],
  ];
  test.each(cases)("%s", (limit, reason, update) => {
    const limits = { ...defaultUpdateLimits, [limit]: 30 };
    const scan = (count: number) => scanUpdate(update(count), { limits });
    expect(() => scan(30)).not.toThrow();
    expect(() => scan(31)).toThrow(expect.objectContaining({ closeCode: CloseCode.tooLarge, reason }));
  });

  test("with as many clients as a document sees in years: a copy kept by the browser comes in one update", () => {
    expect(scanUpdate(sections(2_000)).sections).toHaveLength(2_000);
  });

  test("and counts clients with deletes only as ranges: who deletes everything touches every author", () => {
    const bytes = rawUpdate(
      [],
      Array.from({ length: 500 }, (_, i) => [900 - i, [[0, 1]]] as const),
    );
    expect(scanUpdate(bytes).deletes.size).toBe(500);
  });

  test("and counts a root name that is used again once", () => {
    const update = of7(...["a", "b", "a", "b"].map((parent) => text("x", { parent })));
    expect(scanUpdate(update, { limits: { ...defaultUpdateLimits, maxRoots: 2 } }).roots).toEqual(
      new Set(["a", "b"]),
    );
  });
});

describe("[LOG 1.1] rewrites", () => {
  test("sections that ascend", () => {
    const [seven, three] = [
      { client: 7, clock: 0, structs: [text("seven")] },
      { client: 3, clock: 0, structs: [text("three")] },
    ];
    expect(scanUpdate(rawUpdate([three, seven])).bytes).toEqual(rawUpdate([seven, three]));
  });

  test("sections of one client that do not overlap, with a Skip where clocks are missing between them", () => {
    const update = scanUpdate(
      rawUpdate([
        { client: 7, clock: 9, structs: [gc(2)] },
        { client: 7, clock: 0, structs: [gc(3)] },
        { client: 7, clock: 3, structs: [gc(4)] },
      ]),
    );
    expect(update.bytes).toEqual(
      rawUpdate([{ client: 7, clock: 0, structs: [gc(3), gc(4), skip(2), gc(2)] }]),
    );
    expect(update.sections).toMatchObject([
      { client: 7, clock: 0, end: 11, structs: 4, ranges: [0, 7, 9, 11] },
    ]);
    expect(update.hasSkip).toBe(true);
  });

  test("Skips at the ends of a section, and sections of nothing else", () => {
    const bytes = rawUpdate([
      { client: 9, clock: 0, structs: [skip(5)] },
      { client: 8, clock: 0, structs: [] },
      { client: 7, clock: 2, structs: [skip(3), skip(1), text("ab"), skip(1), text("c"), skip(4)] },
    ]);
    const expected = rawUpdate([{ client: 7, clock: 6, structs: [text("ab"), skip(1), text("c")] }]);
    expect(scanUpdate(bytes).bytes).toEqual(expected);
  });

  test("deletes that are unsorted, overlap, touch, or name a client twice", () => {
    const update = scanUpdate(
      rawUpdate(
        [],
        [
          [
            3,
            [
              [8, 2],
              [0, 3],
              [2, 2],
              [10, 1],
            ],
          ],
          [7, [[1, 1]]],
          [3, [[4, 1]]],
          [9, []],
        ],
      ),
    );
    expect(update.bytes).toEqual(
      rawUpdate(
        [],
        [
          [7, [[1, 1]]],
          [
            3,
            [
              [0, 5],
              [8, 3],
            ],
          ],
        ],
      ),
    );
    expect(update.deletes).toEqual(
      new Map([
        [7, [1, 2]],
        [3, [0, 5, 8, 11]],
      ]),
    );
  });

  test("an update into one that Yjs applies without losing the section that came first", () => {
    const bytes = rawUpdate([
      { client: 7, clock: 0, structs: [text("a")] },
      { client: 7, clock: 1, structs: [text("b", { origin: [7, 0] })] },
    ]);
    const doc = new Y.Doc();
    Y.applyUpdate(doc, scanUpdate(bytes).bytes);
    expect(doc.getText("text").toJSON()).toBe("ab");
  });
});

describe("[LOG 1.1] reports", () => {
  test("where the sections are, and where the deletes begin", () => {
    const { bytes, sections, deletesFrom, structs, hasSkip } = scanUpdate(
      rawUpdate(
        [
          { client: 300, clock: 5, structs: [gc(2), text("é😀")] },
          { client: 7, clock: 0, structs: [gc(1), skip(2), gc(1)] },
        ],
        [[7, [[0, 1]]]],
      ),
    );
    expect(sections).toMatchObject([
      { client: 300, clock: 5, end: 10, structs: 2, pos: 1, from: 5, ranges: null },
      { client: 7, clock: 0, end: 4, structs: 3, ranges: [0, 1, 3, 4] },
    ]);
    expect(sections[0]?.to).toBe(sections[1]?.pos);
    expect(sections[1]?.to).toBe(deletesFrom);
    expect(bytes.subarray(deletesFrom)).toEqual(Uint8Array.of(1, 7, 1, 0, 1));
    expect([structs, hasSkip]).toEqual([5, true]);
  });

  test("references to other clients only, and the highest of each", () => {
    const update = of7(
      text("a", { origin: [3, 5], right: [4, 0] }),
      text("b", { origin: [7, 10], right: [3, 2] }),
      text("c", { parent: [5, 8] }),
    );
    expect(scanUpdate(update).references).toEqual(
      new Map([
        [3, 6],
        [4, 1],
        [5, 9],
      ]),
    );
  });

  test("the clocks without content, joined", () => {
    const update = of7(gc(2), deleted(3), text("x"), gc(1));
    expect(scanUpdate(update).dead).toEqual(new Map([[7, [10, 15, 16, 17]]]));
  });

  test("every struct of the returned bytes to a visitor, and none of an update that is refused", () => {
    const seen: number[][] = [];
    const visit = ({ client, clock, length }: { client: number; clock: number; length: number }) => {
      seen.push([client, clock, length]);
    };
    expect(() => scanUpdate(Uint8Array.of(...of7(gc(1)), 0), { visit })).toThrow(ProtocolError);
    expect(seen).toEqual([]);
    scanUpdate(
      rawUpdate([
        { client: 3, clock: 0, structs: [skip(1), gc(4)] },
        { client: 7, clock: 0, structs: [text("ab")] },
      ]),
      { visit },
    );
    expect(seen).toEqual([
      [7, 0, 2],
      [3, 1, 4],
    ]);
  });
});
