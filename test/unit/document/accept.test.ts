// The rules of the closed log, one by one, on small updates.
import * as encoding from "lib0/encoding";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { acceptUpdate, type AcceptedUpdate } from "../../../src/document/accept.js";
import { scanUpdate } from "../../../src/document/scan.js";
import { deleted, gc, item, rawUpdate, skip, text, type RawReferences } from "./raw-update.js";

type Clocks = readonly (readonly [client: number, clock: number])[];
type Deletes = readonly (readonly [client: number, ranges: readonly number[]])[];

function accept(bytes: Uint8Array, vector: Clocks = [], known: Deletes | null = []): AcceptedUpdate {
  return acceptUpdate(scanUpdate(bytes), new Map(vector), known === null ? null : new Map(known));
}

/** An update of client 7 with `structs` from `clock` on. */
function of7(clock: number, ...structs: Parameters<typeof rawUpdate>[0][number]["structs"]): Uint8Array {
  return rawUpdate([{ client: 7, clock, structs }]);
}

describe("[LOG 1.2] what the vector covers", () => {
  test("is left out, and a struct that it covers in part is cut", () => {
    const bytes = of7(0, text("abc"), text("de", { origin: [7, 2] }));
    const { fresh, complete } = accept(bytes, [[7, 1]]);
    expect(complete).toBe(true);
    expect(fresh?.bytes).toEqual(of7(1, text("bc", { origin: [7, 0] }), text("de", { origin: [7, 2] })));
  });

  test("is cut as Yjs cuts it inside a surrogate pair", () => {
    const { fresh } = accept(of7(0, text("a😀b")), [[7, 2]]);
    expect(fresh?.bytes).toEqual(of7(2, text("\ufffdb", { origin: [7, 1] })));
  });

  test("is cut between the values of an item", () => {
    const values = (list: readonly string[], references?: RawReferences) =>
      item(
        2,
        (encoder) => {
          encoding.writeVarUint(encoder, list.length);
          for (const value of list) encoding.writeVarString(encoder, value);
        },
        references,
      );
    const { fresh } = accept(of7(0, values(["1", "undefined", "[2]"], { right: [3, 4] })), [
      [7, 1],
      [3, 5],
    ]);
    expect(fresh?.bytes).toEqual(of7(1, values(["undefined", "[2]"], { origin: [7, 0], right: [3, 4] })));
  });

  test("leaves nothing when it is everything", () => {
    expect(accept(of7(0, text("abc")), [[7, 3]])).toEqual({ fresh: null, complete: true });
    expect(accept(Uint8Array.of(0, 0))).toEqual({ fresh: null, complete: true });
  });

  test("may bridge a gap", () => {
    const { fresh, complete } = accept(of7(0, text("a"), skip(3), text("b")), [[7, 4]]);
    expect(complete).toBe(true);
    expect(fresh?.bytes).toEqual(of7(4, text("b")));
  });
});

describe("[LOG 1.3] the closed part", () => {
  test("is the update itself when everything follows", () => {
    const bytes = of7(3, text("abc", { origin: [3, 4] }));
    const update = scanUpdate(bytes);
    const { fresh, complete } = acceptUpdate(
      update,
      new Map([
        [7, 3],
        [3, 5],
      ]),
      new Map(),
    );
    expect(fresh).toBe(update);
    expect(complete).toBe(true);
  });

  test("has nothing of a client whose earlier clocks are missing", () => {
    expect(accept(of7(3, text("abc")), [[7, 2]])).toEqual({ fresh: null, complete: false });
  });

  test("ends at a gap", () => {
    const { fresh, complete } = accept(of7(0, text("a"), skip(3), text("b")));
    expect(fresh?.bytes).toEqual(of7(0, text("a")));
    expect(complete).toBe(false);
  });

  test.each([
    ["origin", { origin: [3, 5] }],
    ["right origin", { right: [3, 5] }],
    ["parent", { parent: [3, 5] }],
  ] as const)("ends before a struct whose %s is not known", (_what, references) => {
    const bytes = of7(0, text("a"), text("b", references), text("c"));
    const { fresh, complete } = accept(bytes, [[3, 5]]);
    expect(fresh?.bytes).toEqual(of7(0, text("a")));
    expect(complete).toBe(false);
    expect(accept(bytes, [[3, 6]]).fresh?.bytes).toEqual(bytes);
  });

  test("has clients that refer to each other in turns", () => {
    const bytes = rawUpdate([
      {
        client: 9,
        clock: 0,
        structs: [text("a"), text("c", { origin: [3, 0] }), text("e", { origin: [3, 1] })],
      },
      { client: 3, clock: 0, structs: [text("b", { origin: [9, 0] }), text("d", { origin: [9, 1] })] },
    ]);
    expect(accept(bytes)).toMatchObject({ fresh: { bytes }, complete: true });
  });

  test("has nothing of clients that wait for each other in a circle, and of those who wait for them", () => {
    const bytes = rawUpdate([
      { client: 9, clock: 0, structs: [text("a"), text("x", { origin: [3, 1] })] },
      { client: 5, clock: 0, structs: [text("b"), text("y", { origin: [9, 1] })] },
      { client: 3, clock: 0, structs: [text("c"), text("z", { origin: [9, 1] })] },
    ]);
    const { fresh, complete } = accept(bytes);
    expect(fresh?.sections.map(({ client, end }) => [client, end])).toEqual([
      [9, 1],
      [5, 1],
      [3, 1],
    ]);
    expect(complete).toBe(false);
  });

  test("goes on behind what was known already", () => {
    const bytes = rawUpdate([
      { client: 9, clock: 0, structs: [text("a"), text("b", { origin: [3, 0] })] },
      { client: 3, clock: 0, structs: [text("c"), text("d", { origin: [9, 1] })] },
    ]);
    const { fresh, complete } = accept(bytes, [
      [9, 1],
      [3, 1],
    ]);
    expect(complete).toBe(true);
    expect(fresh?.sections).toMatchObject([
      { client: 9, clock: 1, end: 2 },
      { client: 3, clock: 1, end: 2 },
    ]);
  });
});

describe("[LOG 1.4] deletes", () => {
  test("of clocks that are not written yet are clipped off", () => {
    const { fresh, complete } = accept(
      rawUpdate(
        [],
        [
          [
            7,
            [
              [0, 2],
              [4, 4],
            ],
          ],
          [3, [[0, 1]]],
        ],
      ),
      [[7, 5]],
    );
    expect(fresh?.bytes).toEqual(
      rawUpdate(
        [],
        [
          [
            7,
            [
              [0, 2],
              [4, 1],
            ],
          ],
        ],
      ),
    );
    expect(complete).toBe(false);
  });

  test("of clocks that come with them are kept", () => {
    const bytes = rawUpdate([{ client: 7, clock: 0, structs: [text("abc")] }], [[7, [[1, 1]]]]);
    expect(accept(bytes)).toMatchObject({ fresh: { bytes }, complete: true });
  });

  test("of structs that could not be kept are clipped off with them", () => {
    const bytes = rawUpdate(
      [{ client: 7, clock: 0, structs: [text("a"), skip(1), text("b")] }],
      [[7, [[0, 3]]]],
    );
    expect(accept(bytes).fresh?.bytes).toEqual(
      rawUpdate([{ client: 7, clock: 0, structs: [text("a")] }], [[7, [[0, 1]]]]),
    );
  });
});

describe("[LOG 1.5] structs without content", () => {
  test("count as deletes of their clocks", () => {
    const bytes = of7(0, text("ab"), deleted(2, { origin: [7, 1] }), gc(3));
    const { fresh, complete } = accept(bytes);
    expect(fresh?.deletes).toEqual(new Map([[7, [2, 7]]]));
    expect(fresh?.bytes.subarray(0, fresh.deletesFrom)).toEqual(bytes.subarray(0, -1));
    expect(complete).toBe(true);
  });

  test("count only as far as they are new: known clocks keep the content that the log has", () => {
    const { fresh } = accept(of7(0, gc(5), text("a")), [[7, 3]]);
    expect(fresh?.deletes).toEqual(new Map([[7, [3, 5]]]));
  });

  test("delete what another document would otherwise keep", () => {
    // one client deletes a list, another writes into it, a third relays the writing after it has seen the deletion
    const [first, second] = [new Y.Doc(), new Y.Doc()];
    [first.clientID, second.clientID] = [1, 2];
    first.getMap("map").set("list", new Y.Array());
    Y.applyUpdate(second, Y.encodeStateAsUpdate(first));
    first.getMap("map").delete("list");
    (second.getMap("map").get("list") as Y.Array<string>).insert(0, ["item"]);
    const written = Y.encodeStateAsUpdate(second, Y.encodeStateVector(first));
    const relay = new Y.Doc();
    Y.applyUpdate(relay, Y.encodeStateAsUpdate(first));
    let relayed: Uint8Array | null = null;
    relay.on("update", (update: Uint8Array) => (relayed = update));
    Y.applyUpdate(relay, written);
    expect(accept(relayed!, [[1, 1]]).fresh?.deletes).toEqual(new Map([[2, [0, 1]]]));
  });
});

describe("[LOG 1.6] known deletes", () => {
  const bytes = rawUpdate([], [[7, [[0, 4]]]]);

  test("are left out", () => {
    expect(accept(bytes, [[7, 9]], [[7, [1, 3]]]).fresh?.bytes).toEqual(
      rawUpdate(
        [],
        [
          [
            7,
            [
              [0, 1],
              [3, 1],
            ],
          ],
        ],
      ),
    );
  });

  test("leave nothing when all are known", () => {
    expect(accept(bytes, [[7, 9]], [[7, [0, 5]]])).toEqual({ fresh: null, complete: true });
  });

  test("stay when the known ones are not at hand", () => {
    expect(accept(bytes, [[7, 9]], null).fresh?.bytes).toBe(bytes);
  });

  test("that are left out leave the structs as they are", () => {
    const update = rawUpdate([{ client: 7, clock: 4, structs: [text("a")] }], [[7, [[0, 4]]]]);
    expect(accept(update, [[7, 4]], [[7, [0, 4]]]).fresh?.bytes).toEqual(of7(4, text("a")));
  });
});

test("[LOG 1.3] nothing that is handed in is changed", () => {
  const update = scanUpdate(
    rawUpdate(
      [{ client: 7, clock: 0, structs: [gc(2), text("ab"), skip(1), gc(1)] }],
      [
        [7, [[2, 9]]],
        [3, [[0, 3]]],
      ],
    ),
  );
  const vector = new Map([
    [3, 2],
    [7, 1],
  ]);
  const known = new Map([[3, [0, 1]]]);
  const before = structuredClone([update, vector, known]);
  acceptUpdate(update, vector, known);
  expect([update, vector, known]).toEqual(before);
});
