// A room in memory, made of the protocol and a Y.Doc, behind a network that delivers when it is told to, loses lines and
// crashes. It knows what is stored, which is more than a provider does.
import * as prng from "lib0/prng";
import * as Y from "yjs";
import { controlVersion, cutFrame, encodeServerControl } from "../../../src/protocol/control.js";
import type { NumberedUpdate, ServerControl } from "../../../src/protocol/control.js";
import {
  encodeAwareness,
  encodeSyncStep1,
  encodeSyncStep2,
  encodeUpdate,
} from "../../../src/protocol/message.js";
import { decodeSent, FakeNetwork } from "../../support/fake-socket.ts";
import type { FakeSocket, Sent } from "../../support/fake-socket.ts";

/** One line and what is under way on it. */
interface Line {
  readonly socket: FakeSocket;
  readonly up: (Uint8Array | string)[];
  readonly down: (Uint8Array | string)[];
  isOpen: boolean;
  isOwn: boolean;
  isAnswered: boolean;
  isBehind: boolean;
  accepted: number;
  saved: number;
  parts: Uint8Array[];
}

const maxFrameBytes = 1_024;

/** A room that several providers are connected to. */
export class FakeRoom {
  readonly network = new FakeNetwork();
  readonly #random: prng.PRNG;
  #lines: Line[] = [];
  #doc = new Y.Doc();
  #stored: Uint8Array = Y.encodeStateAsUpdate(new Y.Doc());
  #epoch = "";
  #head = 0;
  #isDirty = false;

  constructor(random: prng.PRNG) {
    this.#random = random;
    this.network.onSocket = (socket) => this.#open(socket);
  }

  /** A document with what is stored. */
  readStored(): Y.Doc {
    const doc = new Y.Doc();
    Y.applyUpdate(doc, this.#stored);
    return doc;
  }

  /** Whether nothing is under way. */
  get isQuiet(): boolean {
    return this.#lines.every(({ up, down, isOpen }) => isOpen && up.length === 0 && down.length === 0);
  }

  /** Lets one thing happen. */
  step(): void {
    const line = this.#pick();
    if (line === undefined) return;
    if (!line.isOpen) {
      line.isOpen = true;
      line.socket.accept();
      this.#send(line, encodeSyncStep1(Y.encodeStateVector(this.#doc)));
      return;
    }
    const frames = prng.bool(this.#random) ? line.up : line.down;
    const frame = frames.shift();
    if (frame === undefined) return;
    if (frames === line.down) line.socket.deliver(frame);
    else this.#receive(line, frame);
  }

  /** Ends a line, with all that is under way on it. */
  cut(): void {
    const line = this.#pick();
    if (line !== undefined) this.#drop(line);
  }

  /** Stores what is in memory, and says so. */
  flush(): void {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    this.#stored = Y.encodeStateAsUpdate(this.#doc);
    this.#head += 1;
    const isNew = this.#epoch === "";
    this.#epoch ||= "e1";
    for (const line of this.#lines.filter(({ isOwn }) => isOwn)) {
      if (isNew) this.#sendHello(line);
      line.saved = line.accepted;
      if (line.isAnswered) this.#ack(line);
    }
  }

  /** Loses everything but what is stored. */
  crash(): void {
    this.#doc = this.readStored();
    this.#isDirty = false;
    for (const line of this.#lines) this.#drop(line);
  }

  #open(socket: FakeSocket): void {
    const line: Line = {
      socket,
      up: [],
      down: [],
      isOpen: false,
      isOwn: false,
      isAnswered: false,
      isBehind: false,
      accepted: 0,
      saved: 0,
      parts: [],
    };
    this.#lines.push(line);
    socket.onFrame = (frame) => line.up.push(frame);
    socket.onClientClose = () => {
      // What was sent before the close arrives.
      if (prng.bool(this.#random)) for (const frame of line.up.splice(0)) this.#receive(line, frame);
      this.#lines = this.#lines.filter((one) => one !== line);
    };
  }

  #drop(line: Line): void {
    this.#lines = this.#lines.filter((one) => one !== line);
    line.socket.drop(1006);
  }

  #pick(): Line | undefined {
    return this.#lines[prng.int32(this.#random, 0, Math.max(0, this.#lines.length - 1))];
  }

  #receive(line: Line, frame: Uint8Array | string): void {
    const message = decodeSent(frame);
    if (message.type === "part") this.#receivePart(line, message);
    else this.#handle(line, message);
  }

  #receivePart(line: Line, { index, count, piece }: Extract<Sent, { type: "part" }>): void {
    if (index !== line.parts.length) throw new Error("A part is missing.");
    line.parts.push(piece);
    if (line.parts.length < count) return;
    const frame = Uint8Array.from(line.parts.splice(0).flatMap((one) => [...one]));
    this.#handle(line, decodeSent(frame));
  }

  #handle(line: Line, message: Sent): void {
    switch (message.type) {
      case "hello":
        if (message.epoch !== "" && message.epoch !== this.#epoch) throw new Error("A stale copy.");
        line.isOwn = true;
        this.#sendHello(line);
        break;
      case "step1":
        this.#send(line, encodeSyncStep2(Y.encodeStateAsUpdate(this.#doc, message.vector)));
        line.isAnswered = true;
        break;
      case "step2":
        break;
      case "update":
        if (!("number" in message)) throw new Error("An update without a number.");
        this.#handleUpdate(line, message);
        break;
      case "awareness":
        for (const other of this.#lines) {
          if (other !== line && other.isOpen) this.#send(other, encodeAwareness(message.entries));
        }
        break;
      case "ping":
        this.#send(line, "pong");
        break;
      case "part":
        throw new Error("A part of parts.");
      case "queryAwareness":
      case "text":
        break;
    }
  }

  #handleUpdate(line: Line, { number, isWhole, update }: NumberedUpdate): void {
    if (number <= line.accepted) throw new Error("An update numbered twice.");
    this.#isDirty = true;
    Y.applyUpdate(this.#doc, update);
    for (const other of this.#lines) {
      if (other !== line && other.isAnswered) this.#send(other, encodeUpdate(update));
    }
    const { pendingStructs, pendingDs } = this.#doc.store;
    if (isWhole) line.isBehind = false;
    else if (pendingStructs !== null || pendingDs !== null) {
      line.isBehind = true;
      this.#send(line, encodeSyncStep1(Y.encodeStateVector(this.#doc)));
    }
    if (!line.isBehind) line.accepted = number;
  }

  #sendHello(line: Line): void {
    this.#say(line, {
      type: "hello",
      version: controlVersion,
      epoch: this.#epoch,
      head: this.#head,
      access: "write",
      maxFrameBytes,
    });
  }

  #ack(line: Line): void {
    this.#say(line, { type: "ack", accepted: line.accepted, saved: line.saved, head: this.#head });
  }

  #say(line: Line, message: ServerControl): void {
    this.#send(line, encodeServerControl(message));
  }

  #send(line: Line, frame: Uint8Array | string): void {
    const isLarge = typeof frame !== "string" && frame.byteLength > maxFrameBytes && line.isOwn;
    line.down.push(...(isLarge ? cutFrame(frame, maxFrameBytes) : [frame]));
  }
}
