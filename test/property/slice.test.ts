// Cutting structs on bytes against Yjs, which cuts them as objects.
import * as prng from "lib0/prng";
import { expect, test, vi } from "vitest";
import * as Y from "yjs";
import { encodeUpdate } from "../../src/document/normal-form.js";
import { scanUpdate, visitStructs, type ScannedUpdate } from "../../src/document/scan.js";
import { sliceStruct } from "../../src/document/slice-struct.js";
import { encodeStateVector } from "../../src/document/state-vector.js";
import { editRandomly } from "./random-edits.js";
import { forSeeds, propertyTimeoutMs } from "./seeds.js";

vi.setConfig({ testTimeout: propertyTimeoutMs });

test("[LOG 1.2] a struct is cut as Yjs cuts it, wherever", () => {
  forSeeds(40, (random) => {
    const doc = new Y.Doc();
    for (let i = 0; i < 30; i++) {
      doc.clientID = prng.oneOf(random, [1, 77, 2 ** 40 + 3]);
      editRandomly(random, doc, null);
    }
    doc.getArray("array").insert(0, [1, { two: [2] }, "three", null]);
    expectCutsEqual(scanUpdate(Y.encodeStateAsUpdate(doc)));
  });
});

function expectCutsEqual(update: ScannedUpdate): void {
  visitStructs(update, (struct) => {
    const { client, clock, length, from, to } = struct;
    const { bytes } = update;
    const whole = encodeUpdate(
      [[{ client, clock, end: clock + length, structs: 1, bytes, from, to }]],
      new Map(),
    );
    for (let cut = clock + 1; cut < clock + length; cut++) {
      const rest = encodeUpdate([[sliceStruct(bytes, struct, cut)]], new Map());
      expect(scanUpdate(rest).sections).toMatchObject([
        { client, clock: cut, end: clock + length, structs: 1 },
      ]);
      const theirs = Y.diffUpdate(whole, encodeStateVector(new Map([[client, cut]])));
      // decoded: Yjs writes the flag of a map key only where it has read one
      expect(Y.decodeUpdate(rest)).toEqual(Y.decodeUpdate(theirs));
    }
  });
}
