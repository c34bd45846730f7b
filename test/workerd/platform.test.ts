import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";

async function ask(stub: DurableObjectStub): Promise<unknown> {
  return (await stub.fetch("http://probe/")).json();
}

test("an eviction drops memory and keeps storage and sockets", async () => {
  const stub = env.PROBE.getByName("evicted");
  await ask(stub);
  const response = await stub.fetch("http://probe/", { headers: { upgrade: "websocket" } });
  const socket = response.webSocket;
  expect(socket).not.toBeNull();
  if (socket === null) return;
  socket.accept();
  await evictDurableObject(stub);
  const answer = new Promise<unknown>((resolve) => {
    socket.addEventListener("message", (event) => resolve(JSON.parse(String(event.data))), { once: true });
  });
  socket.send("after");
  expect(await answer).toEqual({ message: "after", inMemory: 1, attachment: { greeted: 1 } });
  expect(await ask(stub)).toEqual({ inMemory: 2, stored: 2 });
  expect(await runInDurableObject(stub, (_, state) => state.getWebSockets().length)).toBe(1);
});

test("an abort drops memory and sockets and keeps storage", async () => {
  const stub = env.PROBE.getByName("aborted");
  await ask(stub);
  await abortAllDurableObjects();
  expect(await ask(env.PROBE.getByName("aborted"))).toEqual({ inMemory: 1, stored: 2 });
});
