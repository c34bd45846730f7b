// Random histories through a closed log, each compared with real Y.Docs. The log here is a model without storage.
import * as prng from "lib0/prng";
import { expect, test, vi } from "vitest";
import * as Y from "yjs";
import { decodeStateVector } from "../../src/document/state-vector.js";
import { contentsOf, documentFrom, isPending } from "./document-contents.js";
import { ModelLog } from "./model-log.js";
import { runHistory, type HistoryOutcome } from "./random-history.js";
import { forSeeds, propertyTimeoutMs } from "./seeds.js";

vi.setConfig({ testTimeout: propertyTimeoutMs });

test("[LOG 1.7, LOG 3] after any history the log, its clients and a Y.Doc hold the same", () => {
  forSeeds(250, (random) => {
    const log = new ModelLog(prng.int32(random, 2, 12));
    const outcome = runHistory(random, log, {
      steps: prng.int32(random, 20, 200),
      clients: prng.int32(random, 2, 5),
    });
    expectEverybodyEqual(log, outcome);
    expectJoinsEqual(log, outcome);
    expectReconnectsChangeNothing(log, outcome);
  });
});

function expectEverybodyEqual(log: ModelLog, { clients, reference }: HistoryOutcome): void {
  const contents = contentsOf(reference);
  for (const { doc } of clients) {
    expect(isPending(doc)).toBe(false);
    expect(contentsOf(doc)).toBe(contents);
  }
  expect(decodeStateVector(log.stateVector())).toEqual(decodeStateVector(Y.encodeStateVector(reference)));
  expect(contentsOf(documentFrom(log.updates))).toBe(contents);
  expect(contentsOf(documentFrom(log.updates, false))).toBe(contents);
}

/** Somebody who comes with any older state, and somebody who comes with none. */
function expectJoinsEqual(log: ModelLog, { reference, oldStates }: HistoryOutcome): void {
  const contents = contentsOf(reference);
  for (const state of [Y.encodeStateAsUpdate(new Y.Doc()), ...oldStates.map(({ update }) => update)]) {
    const doc = new Y.Doc();
    Y.applyUpdate(doc, state);
    for (const update of log.answer(Y.encodeStateVector(doc))) Y.applyUpdate(doc, update);
    expect(isPending(doc)).toBe(false);
    expect(contentsOf(doc)).toBe(contents);
  }
}

function expectReconnectsChangeNothing(log: ModelLog, { clients }: HistoryOutcome): void {
  for (const { doc } of clients) {
    const answers = [Y.encodeStateAsUpdate(doc, log.stateVector()), Y.encodeStateAsUpdate(doc)];
    for (const update of answers) {
      expect(log.receive(update, "step2")).toEqual({ relay: null, complete: true });
    }
  }
}
