// What must hold at the end of a random history, whatever keeps the log.
import { expect } from "vitest";
import * as Y from "yjs";
import { decodeStateVector } from "../../src/document/state-vector.js";
import { contentsOf, documentFrom, isPending } from "./document-contents.js";
import type { HistoryOutcome, LogUnderTest } from "./random-history.js";

/** A log that can be read back whole. */
export interface ReadableLog extends LogUnderTest {
  /** Everything, as V1 updates in order. */
  readonly updates: Uint8Array[];
}

/** Everybody and the log hold the same, whoever comes gets it, and coming back changes nothing. */
export function expectConverged(log: ReadableLog, outcome: HistoryOutcome): void {
  expectEverybodyEqual(log, outcome);
  expectJoinsEqual(log, outcome);
  expectReconnectsChangeNothing(log, outcome);
}

function expectEverybodyEqual(log: ReadableLog, { clients, reference }: HistoryOutcome): void {
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
function expectJoinsEqual(log: ReadableLog, { reference, oldStates }: HistoryOutcome): void {
  const contents = contentsOf(reference);
  for (const state of [Y.encodeStateAsUpdate(new Y.Doc()), ...oldStates.map(({ update }) => update)]) {
    const doc = new Y.Doc();
    Y.applyUpdate(doc, state);
    for (const update of log.answer(Y.encodeStateVector(doc))) Y.applyUpdate(doc, update);
    expect(isPending(doc)).toBe(false);
    expect(contentsOf(doc)).toBe(contents);
  }
}

function expectReconnectsChangeNothing(log: ReadableLog, { clients }: HistoryOutcome): void {
  for (const { doc } of clients) {
    const answers = [Y.encodeStateAsUpdate(doc, log.stateVector()), Y.encodeStateAsUpdate(doc)];
    for (const update of answers) {
      expect(log.receive(update, "step2")).toEqual({ relay: null, complete: true });
    }
  }
}
