// Our own provider over real sockets: in our room, alone and among unmodified clients, through a crash; and at servers of
// others, where the extras are off.
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { YProvider } from "../../client/index.ts";
import type { ProviderError, ProviderOptions } from "../../client/index.ts";
import { DemoServer } from "../support/demo-server.ts";
import { Line } from "../support/line.ts";
import { PartyServer, WebsocketServer } from "../support/peer-servers.ts";
import { Client, clientKinds } from "./client.ts";
import type { ClientKind } from "./client.ts";

const soon = { timeout: 15_000, interval: 50 };

// Each stock provider in Node listens for the end of the process.
process.setMaxListeners(0);

/** Our provider with a name, and what it told. */
class Own {
  readonly name: string;
  readonly provider: YProvider;
  readonly errors: ProviderError[] = [];
  readonly closed: number[] = [];
  connectCount = 0;

  constructor(name: string, port: number, room: string, options: ProviderOptions = {}) {
    this.name = name;
    this.provider = new YProvider(`127.0.0.1:${port}`, room, undefined, options);
    this.provider.awareness.setLocalStateField("user", { name });
    this.provider.on("error", (error) => this.errors.push(error));
    this.provider.on("closed", ({ code }) => this.closed.push(code));
    this.provider.on("status", ({ status }) => {
      if (status === "connected") this.connectCount += 1;
    });
  }

  get text(): string {
    return this.provider.doc.getText("text").toJSON();
  }

  get people(): string[] {
    const states = [...this.provider.awareness.getStates().values()];
    return states.map((state) => String((state["user"] as { name?: unknown } | undefined)?.name)).sort();
  }

  get isSynced(): boolean {
    return this.provider.synced;
  }

  write(text: string): void {
    const shared = this.provider.doc.getText("text");
    shared.insert(shared.length, text);
  }

  destroy(): void {
    this.provider.destroy();
  }
}

interface Member {
  readonly text: string;
  readonly people: string[];
  readonly isSynced: boolean;
  write(text: string): void;
  destroy(): void;
}

async function expectAll<T>(
  members: readonly Member[],
  view: (member: Member) => T,
  expected: T,
): Promise<void> {
  await expect.poll(() => members.map(view), soon).toEqual(members.map(() => expected));
}

/** Stock clients of all kinds. */
function createStock(port: number, room: string): Map<ClientKind, Client> {
  return new Map(
    clientKinds.map((kind) => [kind, new Client({ kind, name: kind, port, room, disableBc: true })]),
  );
}

test("[C6] in our room: text, presence and saved, among all kinds of clients, through a crash", async () => {
  const complaints = vi.spyOn(console, "error");
  await using server = await DemoServer.start();
  const room = `own ${randomUUID()}`;
  const own = [new Own("own 1", server.port, room), new Own("own 2", server.port, room)];
  await expectAll(own, (member) => member.isSynced, true);
  own[0]?.write("alone; ");
  await expectAll(own, (member) => member.text, "alone; ");
  await own[0]?.provider.whenSaved();
  expect(await server.hasStored("alone; ")).toBe(true);

  const stock = [...createStock(server.port, encodeURIComponent(room)).values()];
  const all: Member[] = [...own, ...stock];
  const names = [...own.map(({ name }) => name), ...clientKinds].sort();
  await expectAll(all, (member) => member.people, names);
  for (const [index, member] of all.entries()) member.write(`${index}; `);
  await expectAll(all, (member) => member.text.length, 7 + 3 * all.length);
  await expectAll(all, (member) => member.text, own[0]?.text ?? "");
  await Promise.all(own.map(({ provider }) => provider.whenSaved()));
  const [epoch] = own.map(({ provider }) => provider.epoch);
  expect(epoch).toMatch(/./);

  await server.kill();
  await expectAll(own, (member) => member.isSynced, false);
  for (const [index, member] of all.entries()) member.write(`offline ${index}; `);
  expect(own.map(({ provider }) => provider.saved)).toEqual([false, false]);
  await server.restart();
  await expectAll(all, (member) => member.isSynced, true);
  await expectAll(all, (member) => member.text.length, 7 + (3 + 11) * all.length);
  await expectAll(all, (member) => member.text, own[0]?.text ?? "");
  await expectAll(all, (member) => member.people, names);
  await Promise.all(own.map(({ provider }) => provider.whenSaved()));
  expect(own.map(({ provider }) => provider.epoch)).toEqual([epoch, epoch]);

  for (const member of all.splice(1)) member.destroy();
  await expect.poll(() => own[0]?.people, soon).toEqual(["own 1"]);
  expect(own.flatMap(({ errors, closed }) => [...errors, ...closed])).toEqual([]);
  own[0]?.destroy();
  await server.kill();
  await server.restart();
  const later = new Own("later", server.port, room);
  await expect.poll(() => later.text.length, soon).toBe(7 + 14 * 5);
  later.destroy();
  expect(server.takeUnexpectedLines()).toEqual([]);
  expect(complaints.mock.calls).toEqual([]);
  complaints.mockRestore();
});

test("[C6] in our room: who comes back over a new line is there once, and what was written meanwhile arrives", async () => {
  await using server = await DemoServer.start();
  const room = `line ${randomUUID()}`;
  const line = await Line.open(server.port);
  const walker = new Own("walker", line.port, room);
  const watcher = new Own("watcher", server.port, room);
  await expectAll([walker, watcher], (member) => member.people, ["walker", "watcher"]);
  walker.write("before; ");
  await walker.provider.whenSaved();
  line.cutNearEnd();
  await expect.poll(() => walker.isSynced, soon).toBe(false);
  walker.write("meanwhile; ");
  watcher.write("watching; ");
  line.mend();
  await expectAll([walker, watcher], (member) => member.text.length, 29);
  await expectAll([walker, watcher], (member) => member.people, ["walker", "watcher"]);
  line.endFarEnd();
  await walker.provider.whenSaved();
  await setTimeout(500);
  expect(watcher.people).toEqual(["walker", "watcher"]);
  walker.destroy();
  await expect.poll(() => watcher.people, soon).toEqual(["watcher"]);
  watcher.destroy();
  await line.close();
});

test("[C6] in our room: frames over the limit, and a name that cannot be", async () => {
  await using server = await DemoServer.start();
  const room = `large ${randomUUID()}`;
  const one = new Own("one", server.port, room);
  const two = new Own("two", server.port, room);
  await Promise.all([one.provider.whenSynced(), two.provider.whenSynced()]);
  one.write("x".repeat(18_000_000));
  await one.provider.whenSaved();
  await expect.poll(() => two.text.length, soon).toBe(18_000_000);
  const refused = new Own("refused", server.port, "a\nb");
  await expect.poll(() => refused.closed, soon).toEqual([4400]);
  for (const member of [one, two, refused]) member.destroy();
  expect([...one.errors, ...two.errors]).toEqual([]);
});

test("[C7] at a stock y-websocket server: text and presence, no noise, nobody lost in 40 quiet seconds", async () => {
  await using server = await WebsocketServer.start();
  const room = `own-${randomUUID()}`;
  // Stock clients of y-partyserver use the same path; those of y-websocket do in `Client`.
  const own = [new Own("own 1", server.port, room), new Own("own 2", server.port, room)];
  const stock = [...createStock(server.port, room).values()];
  const all: Member[] = [...own, ...stock];
  const names = [...own.map(({ name }) => name), ...clientKinds].sort();
  await expectAll(all, (member) => member.people, names);
  for (const [index, member] of all.entries()) member.write(`${index}; `);
  await expectAll(all, (member) => member.text.length, 3 * all.length);
  await expectAll(all, (member) => member.text, own[0]?.text ?? "");
  expect(own.map(({ provider }) => [provider.saved, provider.access, provider.epoch])).toEqual([
    [false, null, null],
    [false, null, null],
  ]);
  await expect(own[0]?.provider.whenSaved()).rejects.toThrow("does not say");

  await setTimeout(40_000);
  const people = all.slice(0, 4).map((member) => member.people.filter((name) => name !== "y-partyserver"));
  // y-partyserver's own clients renew nothing, and are dropped here.
  const staying = names.filter((name) => name !== "y-partyserver");
  expect(people).toEqual(people.map(() => staying));
  expect(own.map(({ connectCount }) => connectCount)).toEqual([1, 1]);

  await server.kill();
  await expectAll(own, (member) => member.isSynced, false);
  own[0]?.write("offline; ");
  await server.restart();
  await expectAll(all, (member) => member.text.length, 3 * all.length + 9);
  await expectAll(all, (member) => member.text, own[0]?.text ?? "");
  for (const member of all) member.destroy();
  expect(server.takeComplaints()).toEqual([]);
  expect(own.flatMap(({ errors, closed }) => [...errors, ...closed])).toEqual([]);
}, 120_000);

test("[C7] at a stock y-partyserver room: text, presence and messages, no noise", async () => {
  await using server = await PartyServer.start();
  const room = `own-${randomUUID()}`;
  const own = [new Own("own 1", server.port, room), new Own("own 2", server.port, room)];
  const messages: string[] = [];
  own[1]?.provider.on("custom-message", (message) => messages.push(message));
  const stock = [...createStock(server.port, room).values()];
  const all: Member[] = [...own, ...stock];
  const names = [...own.map(({ name }) => name), ...clientKinds].sort();
  await expectAll(all, (member) => member.people, names);
  for (const [index, member] of all.entries()) member.write(`${index}; `);
  await expectAll(all, (member) => member.text.length, 3 * all.length);
  await expectAll(all, (member) => member.text, own[0]?.text ?? "");
  for (const client of stock) client.destroy();
  await expectAll(own, (member) => member.people, ["own 1", "own 2"]);
  own[0]?.provider.sendMessage("hello");
  await expect.poll(() => messages, soon).toEqual(["hello"]);
  for (const member of own) member.destroy();
  expect(server.complaints).toEqual([]);
  expect(own.flatMap(({ errors, closed }) => [...errors, ...closed])).toEqual([]);
});
