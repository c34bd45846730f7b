// A client that speaks the wire with bare hands: it sees every frame, and does nothing that it was not told to.
import * as encoding from "lib0/encoding";
import * as decoding from "lib0/decoding";
import { exports } from "cloudflare:workers";
import { expect, vi } from "vitest";
import * as Y from "yjs";
import { decodeServerControl, encodeClientControl, type ServerControl } from "../../src/protocol/control.js";

/** A frame that came in, decoded. */
export type Frame =
  | { type: "step1"; bytes: Uint8Array }
  | { type: "step2"; bytes: Uint8Array }
  | { type: "update"; bytes: Uint8Array }
  | { type: "awareness"; entries: { clientID: number; clock: number; state: unknown }[] }
  | { type: "denied"; reason: string }
  | { type: "query" }
  | { type: "control"; message: ServerControl }
  | { type: "text"; text: string };

/** The URL of a room in the test Worker. */
export function roomUrl(party: string, room: string, query = ""): string {
  return `http://rooms.test/parties/${party}/${slug(room)}${query}`;
}

/** A name that is spelled alike in a URL and as the name of an object. */
export function slug(name: string): string {
  return name.replace(/\W+/g, "-");
}

/** Asks for an upgrade through the Worker. */
export function upgrade(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return exports.default.fetch(url, { headers: { Upgrade: "websocket", ...headers } });
}

/** One open socket. */
export class RawClient {
  readonly doc: Y.Doc = new Y.Doc();
  readonly frames: Frame[] = [];
  closed: { code: number; reason: string } | null = null;
  /** Whether it answers when it is asked where it is, as providers do. */
  answers = false;
  readonly socket: WebSocket;
  readonly #own = new Map<number, { clock: number; state: unknown }>();

  private constructor(socket: WebSocket, options?: { allowHalfOpen: boolean }) {
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(decodeFrame(data)));
    socket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
    });
    socket.accept(options);
  }

  /** Opens a socket and sends nothing. */
  static async open(url: string, headers: Record<string, string> = {}): Promise<RawClient> {
    return RawClient.over(await upgrade(url, headers));
  }

  /** Takes the socket of an accepted upgrade. */
  static async over(response: Response, options?: { allowHalfOpen: boolean }): Promise<RawClient> {
    expect(response.status).toBe(101);
    if (response.webSocket === null) throw new Error("There is no socket.");
    response.webSocket.binaryType = "arraybuffer";
    return new RawClient(response.webSocket, options);
  }

  /** Opens a socket and syncs, as a provider does: step 1, the answer to the room's step 1, and what it sends. */
  static async join(url: string): Promise<RawClient> {
    const client = await RawClient.open(url);
    client.sendStep1();
    await client.waitFor("step2");
    await client.waitFor("step1");
    client.sendStep2();
    client.applyFrames();
    return client;
  }

  send(frame: Uint8Array | string): void {
    this.socket.send(frame);
  }

  sendStep1(vector: Uint8Array = Y.encodeStateVector(this.doc)): void {
    this.send(encodeSync(0, vector));
  }

  sendStep2(update: Uint8Array = Y.encodeStateAsUpdate(this.doc)): void {
    this.send(encodeSync(1, update));
  }

  /** Says hello, as our own client does. */
  sendHello({ epoch = "", cursor = 0, secret = "" } = {}): void {
    this.send(encodeClientControl({ type: "hello", version: 1, epoch, cursor, secret }));
  }

  /** Control frames of one type. */
  control<Type extends ServerControl["type"]>(type: Type): Extract<ServerControl, { type: Type }>[] {
    return this.of("control")
      .map(({ message }) => message)
      .filter((message): message is Extract<ServerControl, { type: Type }> => message.type === type);
  }

  sendUpdate(update: Uint8Array): void {
    this.send(encodeSync(2, update));
  }

  /** Makes a change and sends it. Returns the update. */
  edit(change: (text: Y.Text) => void): Uint8Array {
    const before = Y.encodeStateVector(this.doc);
    change(this.doc.getText("text"));
    const update = Y.encodeStateAsUpdate(this.doc, before);
    this.sendUpdate(update);
    return update;
  }

  type(text: string): Uint8Array {
    return this.edit((target) => target.insert(target.length, text));
  }

  /** Announces itself, or somebody else. */
  announce(state: unknown, clientID = this.doc.clientID, clock = this.#nextClock(clientID)): void {
    this.#own.set(clientID, { clock, state });
    this.send(encodeAwareness([{ clientID, clock, state }]));
  }

  /** Takes in every update that came so far. */
  applyFrames(): void {
    for (const frame of this.frames) {
      if (frame.type === "update" || frame.type === "step2") Y.applyUpdate(this.doc, frame.bytes);
    }
  }

  get text(): string {
    this.applyFrames();
    return this.doc.getText("text").toJSON();
  }

  /** Frames of one type. */
  of<Type extends Frame["type"]>(type: Type): Extract<Frame, { type: Type }>[] {
    return this.frames.filter((frame): frame is Extract<Frame, { type: Type }> => frame.type === type);
  }

  /** Who is in the room as far as this client was told, by clientID; itself it knows anyway. */
  people(): Map<number, unknown> {
    const clocks = new Map<number, number>();
    const people = new Map<number, unknown>();
    for (const { clientID, clock, state } of this.of("awareness").flatMap(({ entries }) => entries)) {
      const known = clocks.get(clientID) ?? -1;
      if (clock < known || (clock === known && state !== null)) continue;
      clocks.set(clientID, clock);
      if (state === null) people.delete(clientID);
      else people.set(clientID, state);
    }
    return people;
  }

  /** Waits until a frame of a type has come, and returns the last one. */
  async waitFor<Type extends Frame["type"]>(type: Type, count = 1): Promise<Extract<Frame, { type: Type }>> {
    await vi.waitFor(() => expect(this.of(type).length).toBeGreaterThanOrEqual(count), waitOptions);
    const frame = this.of(type).at(-1);
    if (frame === undefined) throw new Error("There is no such frame.");
    return frame;
  }

  /** Waits until the room closed the socket. */
  async waitForClose(): Promise<{ code: number; reason: string }> {
    await vi.waitFor(() => expect(this.closed).not.toBeNull(), waitOptions);
    if (this.closed === null) throw new Error("It is open.");
    return this.closed;
  }

  close(code?: number, reason?: string): void {
    this.socket.close(code, reason);
  }

  #nextClock(clientID: number): number {
    return (this.#own.get(clientID)?.clock ?? 0) + 1;
  }

  /** As an Awareness instance does, it takes on the clock under which it is known. */
  #receive(frame: Frame): void {
    this.frames.push(frame);
    if (frame.type === "query" && this.answers) {
      const entries = Array.from(this.#own, ([clientID, own]) => ({ clientID, ...own }));
      this.send(encodeAwareness(entries));
    }
    if (frame.type !== "awareness") return;
    for (const { clientID, clock } of frame.entries) {
      const own = this.#own.get(clientID);
      if (own !== undefined && own.clock < clock) own.clock = clock;
    }
  }
}

/** For `vi.waitFor`: conditions, not times. */
export const waitOptions: { timeout: number; interval: number } = { timeout: 5_000, interval: 5 };

/** Waits until every frame that was sent to the room was handled, and what it sent came back. */
export async function settle(client: RawClient): Promise<void> {
  const count = client.of("step2").length;
  client.sendStep1();
  await client.waitFor("step2", count + 1);
}

/** Encodes a sync message. */
export function encodeSync(type: 0 | 1 | 2, bytes: Uint8Array): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, 0);
  encoding.writeVarUint(encoder, type);
  encoding.writeVarUint8Array(encoder, bytes);
  return encoding.toUint8Array(encoder);
}

/** Encodes an awareness message. */
export function encodeAwareness(
  entries: readonly { clientID: number; clock: number; state: unknown }[],
): Uint8Array {
  const body = encoding.createEncoder();
  encoding.writeVarUint(body, entries.length);
  for (const { clientID, clock, state } of entries) {
    encoding.writeVarUint(body, clientID);
    encoding.writeVarUint(body, clock);
    encoding.writeVarString(body, JSON.stringify(state));
  }
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, 1);
  encoding.writeVarUint8Array(encoder, encoding.toUint8Array(body));
  return encoding.toUint8Array(encoder);
}

function decodeFrame(data: unknown): Frame {
  if (typeof data === "string") return { type: "text", text: data };
  if (!(data instanceof ArrayBuffer)) throw new Error("Neither text nor bytes.");
  const decoder = decoding.createDecoder(new Uint8Array(data));
  switch (decoding.readVarUint(decoder)) {
    case 0: {
      const type = (["step1", "step2", "update"] as const)[decoding.readVarUint(decoder)];
      if (type === undefined) throw new Error("An unknown sync message.");
      return { type, bytes: decoding.readVarUint8Array(decoder) };
    }
    case 1:
      return { type: "awareness", entries: decodeEntries(decoding.readVarUint8Array(decoder)) };
    case 2:
      decoding.readVarUint(decoder);
      return { type: "denied", reason: decoding.readVarString(decoder) };
    case 3:
      return { type: "query" };
    case 64:
      return { type: "control", message: decodeServerControl(new Uint8Array(data)) };
    default:
      throw new Error("An unknown message.");
  }
}

function decodeEntries(bytes: Uint8Array): { clientID: number; clock: number; state: unknown }[] {
  const decoder = decoding.createDecoder(bytes);
  return Array.from({ length: decoding.readVarUint(decoder) }, () => ({
    clientID: decoding.readVarUint(decoder),
    clock: decoding.readVarUint(decoder),
    state: JSON.parse(decoding.readVarString(decoder)) as unknown,
  }));
}
