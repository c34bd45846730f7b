// Real typing through a closed log: recorded keystrokes of people who wrote at the same time.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import * as Y from "yjs";
import { expect, test } from "vitest";
import { decodeStateVector } from "../../src/document/state-vector.js";
import { documentFrom } from "./document-contents.js";
import { ModelLog } from "./model-log.js";

interface Transaction {
  readonly agent: number;
  readonly parents: readonly number[];
  readonly patches: readonly (readonly [position: number, deleted: number, inserted: string])[];
}

interface Trace {
  readonly numAgents: number;
  readonly txns: readonly Transaction[];
  readonly endContent: string;
}

test.each(["friendsforever", "clownschool"])(
  "[LOG 3] a log fed with the recorded typing of %s holds its text",
  (name) => {
    const trace = readTrace(name);
    const log = new ModelLog();
    const reference = new Y.Doc();
    for (const [i, update] of typeTrace(trace)) {
      expect(log.receive(update, "update")).toEqual({ relay: update, complete: true });
      if (i % 100 === 99) log.flush();
      Y.applyUpdate(reference, update);
    }
    log.flush();
    const doc = documentFrom(log.updates);
    expect(doc.getText("text").toJSON()).toBe(trace.endContent);
    expect(decodeStateVector(log.stateVector())).toEqual(decodeStateVector(Y.encodeStateVector(reference)));
    expect(log.receive(Y.encodeStateAsUpdate(reference), "step2").relay).toBeNull();
  },
);

function readTrace(name: string): Trace {
  const file = new URL(`../fixtures/traces/${name}.json.gz`, import.meta.url);
  return JSON.parse(gunzipSync(readFileSync(file)).toString()) as Trace;
}

/** Types the trace, each agent in a document of his own that holds what he had seen. Yields the update of each transaction. */
function* typeTrace({ numAgents, txns }: Trace): Generator<readonly [index: number, update: Uint8Array]> {
  const agents = Array.from({ length: numAgents }, (_, agent) => createAgent(agent));
  const updates: Uint8Array[] = [];
  for (const [i, { agent, parents, patches }] of txns.entries()) {
    const { doc, seen } = agents[agent]!;
    for (const ancestor of unseen(txns, parents, seen)) {
      Y.applyUpdate(doc, updates[ancestor]!);
      seen.add(ancestor);
    }
    const update = edit(doc, patches);
    updates.push(update);
    seen.add(i);
    yield [i, update];
  }
}

function createAgent(agent: number): { readonly doc: Y.Doc; readonly seen: Set<number> } {
  const doc = new Y.Doc();
  doc.clientID = agent + 1;
  return { doc, seen: new Set() };
}

/** The transactions that lead to `parents` and were not seen, in order. */
function unseen(txns: Trace["txns"], parents: readonly number[], seen: ReadonlySet<number>): number[] {
  const missing = new Set<number>();
  const stack = [...parents];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (seen.has(at) || missing.has(at)) continue;
    missing.add(at);
    stack.push(...txns[at]!.parents);
  }
  return [...missing].sort((a, b) => a - b);
}

function edit(doc: Y.Doc, patches: Transaction["patches"]): Uint8Array {
  const text = doc.getText("text");
  let update: Uint8Array | null = null;
  doc.once("update", (bytes: Uint8Array) => (update = bytes));
  doc.transact(() => {
    for (const [position, deleted, inserted] of patches) {
      if (deleted > 0) text.delete(position, deleted);
      if (inserted !== "") text.insert(position, inserted);
    }
  });
  if (update === null) throw new Error("a transaction changed nothing");
  return update;
}
