// Random histories of a room: clients that edit, undo, leave, come back, tell each other things behind the room's back,
// and a network that loses, repeats and reorders. The log of the room is whatever is put behind `LogUnderTest`; the
// clients are real Y.Docs. A history ends with everybody online and everything delivered.
import * as prng from "lib0/prng";
import * as Y from "yjs";
import { rootsOf } from "./document-contents.js";
import { editRandomly } from "./random-edits.js";

/** What a history needs of the log of a room. */
export interface LogUnderTest {
  /**
   * Takes in a V1 update of a client; `step2` answers the room's sync step 1. Returns what is relayed to the others, and
   * whether nothing was left out (else the client is asked again).
   */
  receive(update: Uint8Array, kind: "update" | "step2"): { relay: Uint8Array | null; complete: boolean };
  /** The encoded state vector, as the room's sync step 1 carries it. */
  stateVector(): Uint8Array;
  /** The V1 updates with which the room answers a client's sync step 1, in order. */
  answer(vector: Uint8Array): Uint8Array[];
  /** Called between two steps: a time to flush, fold, compact or sleep. */
  rest(random: prng.PRNG): void;
}

/** The state in which a client was at some time: somebody who comes back later with it must end up like everybody else. */
export interface OldState {
  readonly update: Uint8Array;
  readonly client: HistoryClient;
}

/** How a history ended. */
export interface HistoryOutcome {
  /** The clients, all in sync with the log. */
  readonly clients: readonly HistoryClient[];
  /** A document with everything that the clients have. */
  readonly reference: Y.Doc;
  /** States of clients that are still there. */
  readonly oldStates: readonly OldState[];
}

/** How long and with how many clients. */
export interface HistoryOptions {
  readonly steps: number;
  readonly clients: number;
}

type Frame =
  | { readonly type: "step1"; readonly vector: Uint8Array }
  | { readonly type: "update" | "step2"; readonly update: Uint8Array };

/** One client: a document and a connection that may be down. */
export interface HistoryClient {
  readonly doc: Y.Doc;
  readonly undo: Y.UndoManager;
  /** Its own updates, newest last, to be sent once more, merged. */
  readonly sent: Uint8Array[];
  isOnline: boolean;
  toRoom: Frame[];
  toClient: Frame[];
}

const local = Symbol("local");
const fromRoom = Symbol("from the room");
const fromPeer = Symbol("from a peer");

/** Lets a random history happen to `log`. @throws Error when the clients do not come to rest at the end */
export function runHistory(random: prng.PRNG, log: LogUnderTest, options: HistoryOptions): HistoryOutcome {
  const history = new History(random, log);
  for (let i = 0; i < options.clients; i++) history.addClient(null);
  for (let i = 0; i < options.steps; i++) history.step();
  history.settle();
  return history.outcome();
}

class History {
  readonly #random: prng.PRNG;
  readonly #log: LogUnderTest;
  #clients: HistoryClient[] = [];
  #oldStates: OldState[] = [];

  constructor(random: prng.PRNG, log: LogUnderTest) {
    this.#random = random;
    this.#log = log;
  }

  /** A new client, empty or, as after a reload of a page that stores its document, with a copy of `state`. */
  addClient(state: Uint8Array | null): void {
    const random = this.#random;
    const doc = new Y.Doc({ gc: prng.int32(random, 0, 3) > 0 });
    doc.clientID = prng.bool(random) ? prng.uint32(random, 1, 0xffff_ffff) : prng.int32(random, 1, 1_000_000);
    if (state !== null) Y.applyUpdate(doc, state, fromPeer);
    const { text, map, array, xml } = rootsOf(doc);
    const undo = new Y.UndoManager([text, map, array, xml], {
      captureTimeout: 0,
      trackedOrigins: new Set([local]),
    });
    const client: HistoryClient = { doc, undo, sent: [], isOnline: false, toRoom: [], toClient: [] };
    // some providers relay what reached the document on another way, some do not
    const relaysPeers = prng.bool(random);
    doc.on("update", (update: Uint8Array, origin: unknown) => {
      if (origin === fromRoom || (origin === fromPeer && !relaysPeers)) return;
      client.sent.push(update);
      if (client.isOnline) client.toRoom.push({ type: "update", update });
    });
    this.#clients.push(client);
    if (prng.int32(random, 0, 4) > 0) this.#connect(client);
  }

  step(): void {
    const random = this.#random;
    const client = prng.oneOf(random, this.#clients);
    switch (prng.int32(random, 0, 19)) {
      case 0:
        return client.isOnline ? this.#disconnect(client) : this.#connect(client);
      case 1:
        return this.#tellPeer(client, prng.oneOf(random, this.#clients));
      case 2:
        return this.#sendMergedSubset(client);
      case 3:
        return this.#disturb(prng.bool(random) ? client.toRoom : client.toClient);
      case 4:
        this.#oldStates.push({ update: Y.encodeStateAsUpdate(client.doc), client });
        return;
      case 5:
        return prng.int32(random, 0, 3) === 0 ? this.#reload(client) : undefined;
      case 6:
        client.undo.undo();
        return;
      case 7:
        client.undo.redo();
        return;
      case 8:
        return this.#log.rest(random);
      case 9:
      case 10:
      case 11:
      case 12:
        return this.#deliver(client, prng.int32(random, 1, 5));
      default:
        return editRandomly(random, client.doc, local);
    }
  }

  /** Everybody reconnects and everything is delivered, until a round changes nothing in the log. */
  settle(): void {
    for (let round = 0; round < 20; round++) {
      const relayed = this.#relays;
      for (const client of this.#clients) {
        this.#disconnect(client);
        this.#connect(client);
        this.#deliverAll();
      }
      this.#log.rest(this.#random);
      if (this.#relays === relayed) return;
    }
    throw new Error("the clients do not come to rest");
  }

  outcome(): HistoryOutcome {
    const reference = new Y.Doc();
    for (const { doc } of this.#clients) Y.applyUpdate(reference, Y.encodeStateAsUpdate(doc));
    const oldStates = this.#oldStates.filter(({ client }) => this.#clients.includes(client));
    return { clients: this.#clients, reference, oldStates };
  }

  #relays = 0;

  #connect(client: HistoryClient): void {
    client.isOnline = true;
    client.toRoom.push({ type: "step1", vector: Y.encodeStateVector(client.doc) });
    client.toClient.push({ type: "step1", vector: this.#log.stateVector() });
  }

  #disconnect(client: HistoryClient): void {
    client.isOnline = false;
    client.toRoom = [];
    client.toClient = [];
  }

  #deliverAll(): void {
    while (this.#clients.some(({ toRoom, toClient }) => toRoom.length + toClient.length > 0)) {
      for (const client of this.#clients) this.#deliver(client, 100);
    }
  }

  /** Delivers up to `count` frames in each direction. */
  #deliver(client: HistoryClient, count: number): void {
    for (const frame of client.toRoom.splice(0, count)) this.#handleInRoom(client, frame);
    for (const frame of client.toClient.splice(0, count)) this.#handleInClient(client, frame);
  }

  #handleInRoom(client: HistoryClient, frame: Frame): void {
    if (frame.type === "step1") {
      for (const update of this.#log.answer(frame.vector)) client.toClient.push({ type: "step2", update });
      return;
    }
    const { relay, complete } = this.#log.receive(frame.update, frame.type);
    if (!complete) client.toClient.push({ type: "step1", vector: this.#log.stateVector() });
    if (relay === null) return;
    this.#relays++;
    for (const other of this.#clients) {
      if (other !== client && other.isOnline) other.toClient.push({ type: "update", update: relay });
    }
  }

  #handleInClient(client: HistoryClient, frame: Frame): void {
    if (frame.type !== "step1") return Y.applyUpdate(client.doc, frame.update, fromRoom);
    client.toRoom.push({ type: "step2", update: Y.encodeStateAsUpdate(client.doc, frame.vector) });
  }

  /** Brings one document up to date from another, as tabs of one browser and direct connections do. */
  #tellPeer(from: HistoryClient, to: HistoryClient): void {
    if (from === to) return;
    Y.applyUpdate(to.doc, Y.encodeStateAsUpdate(from.doc, Y.encodeStateVector(to.doc)), fromPeer);
  }

  /** Sends some of the own updates once more, merged: with gaps where others are missing. */
  #sendMergedSubset(client: HistoryClient): void {
    const some = client.sent.filter(() => prng.int32(this.#random, 0, 2) > 0);
    if (!client.isOnline || some.length === 0) return;
    client.toRoom.push({ type: "update", update: Y.mergeUpdates(some) });
  }

  /** Loses, repeats or moves one update on its way. */
  #disturb(frames: Frame[]): void {
    if (frames.length === 0) return;
    const at = prng.int32(this.#random, 0, frames.length - 1);
    const frame = frames[at]!;
    const to = prng.int32(this.#random, 0, frames.length - 1);
    switch (prng.int32(this.#random, 0, 2)) {
      case 0:
        frames.splice(at, 1);
        return;
      case 1:
        frames.splice(to, 0, frame);
        return;
      default:
        frames.splice(at, 1);
        frames.splice(to, 0, frame);
    }
  }

  /** The page is loaded again, with a new client id: with its stored document or, what was not sent being lost, without. */
  #reload(client: HistoryClient): void {
    const state = prng.bool(this.#random) ? Y.encodeStateAsUpdate(client.doc) : null;
    this.#clients = this.#clients.filter((other) => other !== client);
    client.undo.destroy();
    client.doc.destroy();
    this.addClient(state);
  }
}
