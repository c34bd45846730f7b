// How long a keystroke into a hibernated room takes until the other person sees it, by the size of the document. Runs in
// the real runtime with real evictions; rounds are interleaved, medians are compared.
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { test } from "vitest";
import * as Y from "yjs";
import { RawClient, encodeSync } from "../workerd/raw-client.js";
import type { Storing } from "./worker.js";

const rounds = 9;

/** Paragraphs with a bold word, some 85 bytes each, as one update. */
function structuredDocument(bytes: number): Uint8Array[] {
  const doc = new Y.Doc();
  const paragraphs = Array.from({ length: bytes / 85 }, () => {
    const paragraph = new Y.XmlElement("paragraph");
    const text = new Y.XmlText();
    text.insert(0, "The quick brown fox ");
    text.insert(20, "jumps", { bold: true });
    paragraph.insert(0, [text]);
    return paragraph;
  });
  doc.getXmlFragment("page").insert(0, paragraphs);
  return [Y.encodeStateAsUpdate(doc)];
}

/** One long text, as updates of 10 MB. */
function plainDocument(bytes: number): Uint8Array[] {
  const doc = new Y.Doc();
  const updates: Uint8Array[] = [];
  doc.on("update", (update: Uint8Array) => updates.push(update));
  const text = doc.getText("text");
  for (let at = 0; at < bytes; at += 10_000_000) text.insert(at, "x".repeat(10_000_000));
  return updates;
}

interface Measured {
  readonly name: string;
  readonly stub: DurableObjectStub & Storing;
  readonly writer: RawClient;
  readonly reader: RawClient;
  readonly times: number[];
}

async function open(
  name: string,
  stub: DurableObjectStub & Storing,
  document: readonly Uint8Array[],
): Promise<Measured> {
  for (const update of document) await stub.seed(update);
  await evictDurableObject(stub);
  const connect = async (): Promise<RawClient> => {
    const client = await RawClient.over(
      await stub.fetch("http://bench/", { headers: { Upgrade: "websocket" } }),
    );
    // As somebody who is up to date: the document itself is not sent.
    client.sendStep1(vectorOf(document));
    await client.waitFor("step2");
    client.frames.length = 0;
    return client;
  };
  return { name, stub, writer: await connect(), reader: await connect(), times: [] };
}

function vectorOf(document: readonly Uint8Array[]): Uint8Array {
  return Y.encodeStateVectorFromUpdate(document.at(-1) ?? Uint8Array.of(0, 0));
}

async function keystroke({ stub, writer, reader, times }: Measured): Promise<void> {
  // Wakes one that fell asleep by itself: only what runs can be evicted.
  await stub.store();
  await evictDurableObject(stub);
  const seen = reader.of("update").length;
  const before = Y.encodeStateVector(writer.doc);
  writer.doc.getText("typed").insert(0, "a");
  const frame = encodeSync(2, Y.encodeStateAsUpdate(writer.doc, before));
  const arrived = new Promise<void>((resolve) => {
    reader.socket.addEventListener("message", () => {
      if (reader.of("update").length > seen) resolve();
    });
  });
  const startedAt = performance.now();
  writer.send(frame);
  await arrived;
  times.push(performance.now() - startedAt);
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;
}

test("a keystroke into a hibernated room", { timeout: 600_000 }, async () => {
  console.log(
    `Sizes: ${[10_000, 8_000_000].map((bytes) => structuredDocument(bytes)[0]?.byteLength).join(" and ")} bytes`,
  );
  const small = structuredDocument(10_000);
  const large = structuredDocument(8_000_000);
  const huge = plainDocument(50_000_000);
  const baseline = await open("Dormouse, 10 KB", env.OURS.getByName("small"), small);
  const others = [
    await open("Dormouse, 8 MB structured", env.OURS.getByName("large"), large),
    await open("Dormouse, 50 MB", env.OURS.getByName("huge"), huge),
    await open("y-partyserver, 10 KB", env.PEER.getByName("small"), small),
    await open("y-partyserver, 8 MB structured", env.PEER.getByName("large"), large),
  ];
  const all = [baseline, ...others];
  for (let round = 0; round < rounds; round++) for (const room of all) await keystroke(room);
  const lines = all.map(
    ({ name, times }) =>
      `| ${name} | ${median(times).toFixed(1)} ms | ${(median(times) / median(baseline.times)).toFixed(2)} |`,
  );
  console.log(
    ["| room | keystroke after a hibernation, median | ratio |", "| --- | --- | --- |", ...lines].join("\n"),
  );
});
