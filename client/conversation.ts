// What is said over one open line: hello, sync, presence, acknowledgement. Finds out what kind of server it is, and keeps
// to the messages of y-protocols with one that has not said hello. A new line is a new conversation.
import * as encoding from "lib0/encoding";
import { encodeStateAsUpdate, encodeStateVector, type Doc } from "yjs";
import { CloseCode } from "../src/protocol/close-code.js";
import {
  controlVersion,
  cutFrame,
  decodeServerControl,
  encodeClientControl,
  isControlFrame,
  type AccessLevel,
  type Part,
  type ServerHello,
} from "../src/protocol/control.js";
import {
  customMessagePrefix,
  encodeSyncStep1,
  encodeSyncStep2,
  encodeUpdate,
  MessageType,
  SyncType,
} from "../src/protocol/message.js";
import { Reader } from "../src/protocol/reader.js";
import type { Connection } from "./connection.js";
import type { Outbox } from "./outbox.js";
import { encodePresenceFrame, type Presence } from "./presence.js";

/** What this copy of the document is, and what the server has said of itself. */
export interface CopyState {
  /** The life of the document that the copy is from; empty for none. */
  epoch: string;
  /** The sequence number up to which the copy has everything, in that life; 0 for none. */
  cursor: number;
  /** Whether everything that the server had is here. */
  isSynced: boolean;
  /** Whether the server is a room, which says hello; null before it is known on this line. */
  isRoom: boolean | null;
  access: AccessLevel | null;
}

/** What a conversation needs of the provider, and what it tells it. */
export interface ConversationHost {
  readonly doc: Doc;
  readonly copy: CopyState;
  readonly outbox: Outbox;
  readonly presence: Presence;
  readonly connection: Connection;
  /** Known to this client alone. */
  readonly secret: string;
  /** Application messages that wait for the line. */
  readonly messages: string[];
  /** Does what may throw because of what came. Returns whether it went well. */
  readonly attempt: (action: () => void) => boolean;
  /** Applies a V1 update of the server. @throws whatever Yjs and observers of the application throw */
  readonly apply: (update: Uint8Array) => void;
  readonly onMessage: (message: string) => void;
  readonly onDenied: (reason: string) => void;
}

/** The update that holds nothing. */
const emptyUpdate = Uint8Array.of(0, 0);
/** No server cuts finer than this, in bytes. */
const minFrameBytes = 1_024;
/** Other servers, and clients there, drop people who are silent for 30 s. In milliseconds. */
const renewEveryMs = 15_000;
/** The largest frame that is put together, in bytes: far above what a room sends. */
const maxAssembledBytes = 268_435_456;

/** What is said over one line, from its opening to its end. */
export class Conversation {
  readonly #host: ConversationHost;
  /** The vector of the server's latest sync step 1. It is not answered before it is known what the server is. */
  #vector: Uint8Array | null = null;
  #hasAnswered = false;
  /** Whether something that came could not be applied. */
  #isBroken = false;
  #head = 0;
  #maxFrameBytes = Infinity;
  /** The frame that comes in in parts. */
  #assembly = encoding.createEncoder();
  #nextPart = 0;
  #renewal: ReturnType<typeof setInterval> | undefined;
  #isOver = false;

  /** Says hello, asks for the document and tells where one is. */
  constructor(host: ConversationHost) {
    this.#host = host;
    const { outbox, presence, secret } = host;
    const { epoch, cursor } = host.copy;
    host.copy.isRoom = null;
    outbox.restart();
    this.#send(encodeClientControl({ type: "hello", version: controlVersion, epoch, cursor, secret }));
    this.ask();
    presence.renew();
    this.sendPresence(presence.take());
  }

  /** The line is gone. */
  end(): void {
    this.#isOver = true;
    clearInterval(this.#renewal);
  }

  /** Asks for what the server has and this copy lacks. */
  ask(): void {
    this.#send(encodeSyncStep1(encodeStateVector(this.#host.doc)));
  }

  /** Sends an awareness update, if there is one. */
  sendPresence(update: Uint8Array | null): void {
    if (update !== null) this.#send(encodePresenceFrame(update));
  }

  /** Handles what came over the line. @throws whatever bytes that cannot be read lead to */
  receive(data: unknown): void {
    if (typeof data !== "string") this.#receiveFrame(new Uint8Array(data as ArrayBuffer));
    else if (data.startsWith(customMessagePrefix)) {
      this.#host.onMessage(data.slice(customMessagePrefix.length));
    }
  }

  /** Sends everything that waits, in order, if it is known how. */
  flush(): void {
    const { copy, outbox, presence, messages, connection } = this.#host;
    if (copy.isRoom !== false && !this.#hasAnswered) return;
    const update = outbox.take();
    const awareness = presence.take();
    if (update !== null && copy.isRoom === true) this.#sendUpdate(update, outbox.number(update), awareness);
    else {
      if (update !== null) this.#send(encodeUpdate(update));
      this.sendPresence(awareness);
    }
    for (const message of messages.splice(0)) connection.send(customMessagePrefix + message);
  }

  #receiveFrame(frame: Uint8Array): void {
    if (isControlFrame(frame)) {
      this.#receiveControl(frame);
      return;
    }
    this.#checkNoPart();
    const { presence, onDenied } = this.#host;
    const reader = new Reader(frame);
    switch (reader.readVarUint()) {
      case MessageType.sync:
        this.#receiveSync(reader.readVarUint(), reader.readVarUint8Array());
        break;
      case MessageType.awareness:
        presence.receive(reader.readVarUint8Array());
        break;
      case MessageType.auth:
        reader.readVarUint();
        onDenied(reader.readVarString());
        break;
      case MessageType.queryAwareness:
        this.sendPresence(presence.own());
        break;
      // Servers may have messages of their own: they are left alone.
    }
  }

  #receiveSync(type: number, bytes: Uint8Array): void {
    const { copy, attempt, apply } = this.#host;
    if (type === SyncType.step1) {
      this.#vector = bytes;
      this.#answer();
      return;
    }
    if (type > SyncType.update) throw new RangeError("unknown sync message");
    if (!attempt(() => apply(bytes))) {
      // This copy does not have everything: the next line is asked for all that it lacks.
      this.#isBroken = true;
      copy.cursor = 0;
    }
    // An observer of the application may have disconnected.
    if (type !== SyncType.step2 || this.#isOver) return;
    copy.isSynced = true;
    this.#moveCursor(this.#head);
    if (copy.isRoom === null) this.#know(false);
  }

  #receiveControl(frame: Uint8Array): void {
    const { copy, outbox, connection, onDenied } = this.#host;
    const message = decodeServerControl(frame);
    if (message.type === "part") {
      this.#receivePart(message);
      return;
    }
    this.#checkNoPart();
    switch (message.type) {
      case "hello":
        this.#receiveHello(message);
        break;
      case "ack":
        outbox.acknowledge(message.saved);
        this.#moveCursor(message.head);
        break;
      case "denied":
        outbox.refuse(message.number);
        onDenied(message.reason);
        break;
      case "access":
        copy.access = message.access;
        this.flush();
        break;
      case "closing":
        connection.close(message.code, message.reason);
        break;
    }
  }

  #receivePart({ index, count, piece }: Part): void {
    const assembly = this.#assembly;
    encoding.writeUint8Array(assembly, piece);
    if (index !== this.#nextPart || encoding.length(assembly) > maxAssembledBytes)
      throw new RangeError("parts");
    this.#nextPart += 1;
    if (this.#nextPart < count) return;
    this.#nextPart = 0;
    this.#assembly = encoding.createEncoder();
    this.#receiveFrame(encoding.toUint8Array(assembly));
  }

  #checkNoPart(): void {
    if (this.#nextPart > 0) throw new RangeError("a frame between two parts");
  }

  #receiveHello({ epoch, head, access, maxFrameBytes }: ServerHello): void {
    const { copy, outbox, connection } = this.#host;
    if (copy.epoch !== "" && epoch !== "" && copy.epoch !== epoch) {
      connection.close(CloseCode.staleCopy, "stale copy");
      return;
    }
    const isFirst = copy.isRoom === null;
    // Without an epoch in common it is not known what of this copy the room has.
    if (isFirst && (copy.epoch !== epoch || epoch === "")) outbox.needsWhole = true;
    if (copy.epoch !== epoch) copy.cursor = 0;
    copy.epoch = epoch;
    copy.access = access;
    this.#maxFrameBytes = Math.max(minFrameBytes, maxFrameBytes);
    this.#moveCursor(head);
    if (isFirst) this.#know(true);
  }

  #know(isRoom: boolean): void {
    const { copy, connection, presence } = this.#host;
    copy.isRoom = isRoom;
    connection.trust(isRoom);
    this.#answer();
    this.flush();
    if (isRoom) return;
    this.#renewal = setInterval(() => {
      presence.renew();
      this.sendPresence(presence.take());
    }, renewEveryMs);
  }

  /** Answers sync step 1, once it is known how, and sends what waits. */
  #answer(): void {
    const { doc, copy, outbox } = this.#host;
    const vector = this.#vector;
    if (copy.isRoom === null || vector === null) return;
    if (copy.isRoom) this.#answerRoom(vector);
    else {
      this.#send(encodeSyncStep2(encodeStateAsUpdate(doc, vector)));
      outbox.forget();
    }
  }

  /**
   * A room that is met again in the same life has all that it has called saved: it gets the rest. Otherwise, and when it
   * asks again since something did not follow, it gets everything that it lacks.
   */
  #answerRoom(vector: Uint8Array): void {
    const { doc, outbox } = this.#host;
    const isAgain = this.#hasAnswered;
    this.#hasAnswered = true;
    if (isAgain || outbox.needsWhole) {
      const update = encodeStateAsUpdate(doc, vector);
      if (!isAgain && update.byteLength === emptyUpdate.byteLength) outbox.needsWhole = false;
      else this.#sendUpdate(update, outbox.numberWhole(outbox.take()), null, true);
    }
    this.flush();
    this.#send(encodeSyncStep2(emptyUpdate));
  }

  #sendUpdate(update: Uint8Array, number: number, awareness: Uint8Array | null, isWhole = false): void {
    this.#send(encodeClientControl({ type: "update", number, isWhole, update, awareness }));
  }

  #send(frame: Uint8Array): void {
    const { connection } = this.#host;
    const isTooLarge = frame.byteLength > this.#maxFrameBytes;
    for (const part of isTooLarge ? cutFrame(frame, this.#maxFrameBytes) : [frame]) connection.send(part);
  }

  /** The copy has everything up to `head` as soon as it is synced. */
  #moveCursor(head: number): void {
    this.#head = Math.max(this.#head, head);
    if (this.#host.copy.isSynced && !this.#isBroken) this.#host.copy.cursor = this.#head;
  }
}
