// The recipe of docs/offline.md, as it is printed there.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IDBFactory } from "fake-indexeddb";
import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as Y from "yjs";
import type { YProvider } from "../../../client/index.js";
import { readFences } from "../../../scripts/check-docs.mts";
import { OpenRooms } from "./open-rooms.ts";

interface Recipe {
  openOffline(host: string, room: string, onStale: (old: Y.Doc) => void): Promise<YProvider>;
}

const root = join(import.meta.dirname, "../../..");

/** Runs what a reader would copy, against the source. */
async function importRecipe(): Promise<Recipe> {
  const fences = readFences(readFileSync(join(root, "docs/offline.md"), "utf8"));
  expect(fences).toHaveLength(1);
  const source = fences[0]?.code.replace(`"dormouse/client"`, JSON.stringify(join(root, "client/index.ts")));
  const file = join(root, "dist/doc-examples/offline.ts");
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, source ?? "");
  return (await import(file)) as Recipe;
}

const { openOffline } = await importRecipe();
let rooms: OpenRooms;
let open: YProvider[];
let items: Map<string, string>;
const stale: string[] = [];

beforeEach(() => {
  rooms = new OpenRooms();
  open = [];
  items = new Map();
  stale.length = 0;
  vi.stubGlobal("indexedDB", new IDBFactory());
  vi.stubGlobal("WebSocket", rooms.network.WebSocket);
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  });
});

afterEach(() => {
  for (const provider of open) provider.destroy();
  vi.unstubAllGlobals();
});

async function visit(): Promise<YProvider> {
  const provider = await openOffline("example.com", "a", (old) => stale.push(old.getText("text").toJSON()));
  open.push(provider);
  return provider;
}

/** Closes the tab. */
function close(provider: YProvider): void {
  provider.destroy();
  provider.doc.destroy();
}

function textOf({ doc }: { readonly doc: Y.Doc }): string {
  return doc.getText("text").toJSON();
}

function write({ doc }: { readonly doc: Y.Doc }, text: string): void {
  doc.getText("text").insert(0, text);
}

/** A first visit that has the text "kept" in its copy. */
async function visitFirst(): Promise<void> {
  write(rooms.get("a"), "kept");
  const provider = await visit();
  await vi.waitFor(() => expect(items.size).toBe(1));
  expect(textOf(provider)).toBe("kept");
  close(provider);
}

async function databases(): Promise<(string | undefined)[]> {
  return (await indexedDB.databases()).map(({ name }) => name);
}

test("[I1] a copy is kept once the epoch is known, under that epoch", async () => {
  rooms.get("a").epoch = "";
  const provider = await visit();
  write(provider, "new");
  await vi.waitFor(() => expect(provider.saved).toBe(true));
  expect(await databases()).toEqual([]);
  rooms.get("a").epoch = "e7";
  rooms.network.last.sayHello({ epoch: "e7" });
  await vi.waitFor(() => expect(items.size).toBe(1));
  expect(await databases()).toEqual(["copy of example.com/a#e7"]);
  expect([...items]).toEqual([["copy of example.com/a", "e7"]]);
});

test("[I2] without a network the copy is there, and what is written then outlives the tab and goes out", async () => {
  await visitFirst();
  const { onSocket } = rooms.network;
  rooms.network.onSocket = (socket) => socket.refuse();
  const offline = await visit();
  expect(textOf(offline)).toBe("kept");
  write(offline, "offline, ");
  expect(offline.saved).toBe(false);
  await vi.waitFor(async () => expect(await countUpdates()).toBeGreaterThanOrEqual(2));
  close(offline);
  const stillOffline = await visit();
  expect(textOf(stillOffline)).toBe("offline, kept");
  expect(stillOffline.saved).toBe(false);
  close(stillOffline);
  rooms.network.onSocket = onSocket;
  write(rooms.get("a"), "meanwhile: ");
  const online = await visit();
  await vi.waitFor(() => expect(online.saved).toBe(true));
  expect(textOf(rooms.get("a"))).toContain("offline, ");
  expect(textOf(rooms.get("a"))).toBe(textOf(online));
  expect(textOf(online)).toHaveLength("meanwhile: offline, kept".length);
});

test("[I3] a copy of an earlier life gets into no later one; the application gets it, and starts anew", async () => {
  await visitFirst();
  const room = rooms.get("a");
  room.epoch = "e2";
  room.doc = new Y.Doc();
  write(room, "another life");
  const provider = await visit();
  await vi.waitFor(() => expect(stale).toEqual(["kept"]));
  expect(provider.shouldConnect).toBe(false);
  expect(textOf(room)).toBe("another life");
  expect(textOf(provider)).toBe("kept");
  expect(items.size).toBe(0);
  const again = await visit();
  await vi.waitFor(() => expect(again.saved).toBe(true));
  await vi.waitFor(() => expect(items.size).toBe(1));
  expect(textOf(again)).toBe("another life");
  await vi.waitFor(async () => expect(await databases()).toEqual(["copy of example.com/a#e2"]));
});

test("[I4] a disk that does not answer does not keep the page from the room", async () => {
  await visitFirst();
  vi.stubGlobal("indexedDB", { open: () => ({}) });
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const visiting = visit();
  await vi.advanceTimersByTimeAsync(2_000);
  vi.useRealTimers();
  const provider = await visiting;
  await vi.waitFor(() => expect(provider.saved).toBe(true));
  expect(textOf(provider)).toBe("kept");
});

/** What is in the copy, as y-indexeddb keeps it. */
async function countUpdates(): Promise<number> {
  const database = await settled(indexedDB.open("copy of example.com/a#e1"));
  const keys = await settled(database.transaction("updates").objectStore("updates").getAllKeys());
  database.close();
  return keys.length;
}

function settled<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("failed")));
  });
}
