// Runs a scenario twice: as written, and with the object evicted between every two steps. What can be observed must be
// the same.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { slug } from "./raw-client.js";

/** What a scenario gets: to be called between its steps. */
export type Step = (stub: DurableObjectStub) => Promise<void>;

/** Defines the two tests of a scenario, each in a room of its own. */
export function scenario(name: string, run: (step: Step, room: string) => Promise<void>): void {
  describe(name, () => {
    test("as written", () => run(async () => {}, roomNamed(name, "awake")));
    test("with an eviction between every two steps", () => run(evict, roomNamed(name, "evicted")));
  });
}

/** Instances that were seen before an eviction. */
const seen = new WeakSet<object>();

/** Hibernates an object and proves it: the instance is another one, its sockets are there. */
export async function evict(stub: DurableObjectStub): Promise<void> {
  const before = await runInDurableObject(stub, (instance, state) => {
    seen.add(instance);
    return state.getWebSockets().length;
  });
  await evictDurableObject(stub);
  const after = await runInDurableObject(stub, (instance, state) => ({
    isNew: !seen.has(instance),
    sockets: state.getWebSockets().length,
  }));
  expect(after).toEqual({ isNew: true, sockets: before });
}

function roomNamed(name: string, suffix: string): string {
  return slug(`${name.slice(0, 100)} ${suffix}`);
}
