// What a room says to Dormouse's own clients beside the messages of y-protocols: who it is, which of their updates are
// stored, what was refused. Nothing of this is sent to anybody who has not said hello.
import { digest } from "lib0/hash/sha256";
import type { DocumentLog } from "../document/document-log.js";
import type { AwarenessEntry } from "../protocol/awareness.js";
import { CloseCode } from "../protocol/close-code.js";
import {
  controlVersion,
  decodeClientControl,
  encodeServerControl,
  isControlFrame,
  maxFrameBytes,
  type AccessLevel,
  type ClientHello,
  type NumberedUpdate,
  type Part,
} from "../protocol/control.js";
import { ProtocolError } from "../protocol/protocol-error.js";
import { ConnectionFlag } from "./attachment.js";
import type { Connections, RoomConnection } from "./connections.js";
import { readOnlyReason, type UpdateOutcome } from "./document-sync.js";
import { encodeShortHash } from "./short-hash.js";

/** What the control frames need of a room. */
export interface OwnClientsHost {
  /** @throws StorageError when the document cannot be read */
  log(): DocumentLog;
  readonly connections: Connections;
  /** The largest frame that may be put together from parts, in bytes. */
  readonly maxAssembledBytes: number;
  accessOf(connection: RoomConnection): AccessLevel;
  handleUpdate(from: RoomConnection, kind: "update" | "step2", update: Uint8Array): UpdateOutcome;
  handleAwareness(from: RoomConnection, entries: readonly AwarenessEntry[]): void;
  /** Handles a frame that was put together from parts. */
  handleFrame(from: RoomConnection, frame: Uint8Array): void;
}

/** A frame that is still coming in, in parts. */
interface Assembly {
  readonly count: number;
  readonly pieces: Uint8Array[];
  bytes: number;
}

/** The control frames of one room. */
export class OwnClients {
  readonly #host: OwnClientsHost;
  readonly #assemblies = new WeakMap<RoomConnection, Assembly>();

  constructor(host: OwnClientsHost) {
    this.#host = host;
  }

  /** Handles a control frame. @throws ProtocolError, StorageError */
  handle(from: RoomConnection, frame: Uint8Array): void {
    const message = decodeClientControl(frame);
    if (message.type !== "hello" && !from.has(ConnectionFlag.own)) {
      throw new ProtocolError(CloseCode.badFrame, "no hello");
    }
    switch (message.type) {
      case "hello":
        this.#handleHello(from, message);
        break;
      case "update":
        this.#handleUpdate(from, message);
        break;
      case "part":
        this.#handlePart(from, message);
        break;
    }
  }

  /** A frame came that is no part. @throws ProtocolError when it came between two parts */
  checkNoPart(from: RoomConnection): void {
    if (this.#assemblies.has(from)) throw new ProtocolError(CloseCode.badFrame, "a frame between two parts");
  }

  /** Something was stored: tells everybody what of his is saved, and up to where he has everything. */
  handleFlushed(): void {
    const { head } = this.#host.log();
    // The first flush of a document settles its epoch: whoever is here was told that there is none.
    if (head === 1) for (const connection of this.#own()) this.#sendHello(connection);
    for (const connection of this.#own()) {
      if (!connection.has(ConnectionFlag.answered)) continue;
      connection.saved = connection.accepted;
      this.#sendAck(connection, head);
    }
  }

  /** Tells a connection what it may do from now on. */
  tellAccess(connection: RoomConnection, access: AccessLevel): void {
    if (connection.has(ConnectionFlag.own)) connection.send(encodeServerControl({ type: "access", access }));
  }

  #handleHello(from: RoomConnection, hello: ClientHello): void {
    // From now on it is told why, should it be closed.
    from.mark(ConnectionFlag.own);
    const log = this.#host.log();
    const epoch = log.meta?.epoch ?? "";
    if (hello.epoch !== "" && hello.epoch !== epoch) {
      throw new ProtocolError(CloseCode.staleCopy, "this copy is of another life of the document");
    }
    const isResuming = hello.epoch !== "" && hello.cursor <= log.head;
    const secretHash = hello.secret === "" ? from.secretHash : hashSecret(hello.secret);
    from.greet(secretHash, isResuming ? hello.cursor : 0);
    this.#sendHello(from);
  }

  #handleUpdate(from: RoomConnection, message: NumberedUpdate): void {
    const { number, isWhole, update, awareness } = message;
    if (number <= from.accepted) throw new ProtocolError(CloseCode.badFrame, "update numbered twice");
    // Whatever the update is, the presence that came with it is worth telling.
    const outcome = this.#host.handleUpdate(from, isWhole ? "step2" : "update", update);
    if (awareness.length > 0) this.#host.handleAwareness(from, awareness);
    if (outcome === "incomplete") {
      from.isBehind = true;
      return;
    }
    if (outcome === "denied") {
      from.send(encodeServerControl({ type: "denied", number, reason: readOnlyReason }));
    }
    if (isWhole) from.isBehind = false;
    if (from.isBehind) return;
    from.accepted = number;
    const log = this.#host.log();
    // Nothing of it was new, or it is stored already: there will be no flush to tell of it.
    if (log.pendingBytes === 0) {
      from.saved = number;
      this.#sendAck(from, log.head);
    }
  }

  #handlePart(from: RoomConnection, { index, count, piece }: Part): void {
    const assembly = this.#assemblies.get(from) ?? { count, pieces: [], bytes: 0 };
    if (index !== assembly.pieces.length || count !== assembly.count) {
      // The first ones may have been lost with a hibernation: the client sends again when it is back.
      throw new ProtocolError(CloseCode.tryAgain, "a part is missing");
    }
    assembly.pieces.push(piece);
    assembly.bytes += piece.byteLength;
    if (assembly.bytes > this.#host.maxAssembledBytes) {
      throw new ProtocolError(CloseCode.tooLarge, "frame too large");
    }
    this.#assemblies.set(from, assembly);
    if (assembly.pieces.length < count) return;
    this.#assemblies.delete(from);
    const frame = join(assembly);
    if (isControlFrame(frame) && decodeClientControl(frame).type === "part") {
      throw new ProtocolError(CloseCode.badFrame, "a part of parts");
    }
    this.#host.handleFrame(from, frame);
  }

  #sendHello(to: RoomConnection): void {
    const log = this.#host.log();
    to.send(
      encodeServerControl({
        type: "hello",
        version: controlVersion,
        epoch: log.meta?.epoch ?? "",
        head: log.head,
        access: this.#host.accessOf(to),
        maxFrameBytes,
      }),
    );
  }

  #sendAck(to: RoomConnection, head: number): void {
    to.send(encodeServerControl({ type: "ack", accepted: to.accepted, saved: to.saved, head }));
  }

  *#own(): Generator<RoomConnection, void> {
    for (const connection of this.#host.connections) {
      if (connection.has(ConnectionFlag.own)) yield connection;
    }
  }
}

function hashSecret(secret: string): string {
  return encodeShortHash(digest(new TextEncoder().encode(secret)));
}

function join({ pieces, bytes }: Assembly): Uint8Array {
  const frame = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    frame.set(piece, at);
    at += piece.byteLength;
  }
  return frame;
}
