// Brings the document of a room to its connections and their updates into it: answers sync step 1, takes in updates,
// relays what was new, asks again for what did not follow. Never builds a Y.Doc.
import type { DocumentLog } from "../document/document-log.js";
import { decodeStateVector } from "../document/state-vector.js";
import { defaultUpdateLimits, storedUpdateLimits, type UpdateLimits } from "../document/update-limits.js";
import {
  encodePermissionDenied,
  encodeSyncStep1,
  encodeSyncStep2,
  encodeUpdate,
} from "../protocol/message.js";
import { ConnectionFlag } from "./attachment.js";
import type { Connections, RoomConnection } from "./connections.js";

/** A connection whose updates do not follow is asked for everything at most this often, in milliseconds. */
const askAgainMs = 1_000;

/** Shown by stock providers in the console. */
export const readOnlyReason = "This connection may read the document but not change it.";

/** What sync needs of a room. */
export interface DocumentSyncHost {
  /** @throws StorageError when the document cannot be read */
  log(): DocumentLog;
  readonly connections: Connections;
  readonly limits: Partial<UpdateLimits>;
  isReadOnly(connection: RoomConnection): boolean;
  /** An update was accepted and is pending; `from` is null for one of the server. */
  onAccepted(update: Uint8Array, from: RoomConnection | null): void;
}

/** What became of an update. */
export type UpdateOutcome = "accepted" | "denied" | "incomplete";

/** The sync protocol of one room. */
export class DocumentSync {
  readonly #host: DocumentSyncHost;
  readonly #limits: UpdateLimits;
  readonly #askedAt = new WeakMap<RoomConnection, number>();
  readonly #askTimers = new Map<RoomConnection, number>();

  constructor(host: DocumentSyncHost) {
    this.#host = host;
    this.#limits = { ...defaultUpdateLimits, ...host.limits };
  }

  /** Asks a new connection for what it has. @throws StorageError */
  start(connection: RoomConnection): void {
    connection.send(encodeSyncStep1(this.#host.log().encodeStateVector()));
  }

  /**
   * Sends everything that a connection with state vector `vector` lacks; from then on it gets what others send.
   * @throws ProtocolError, StorageError
   */
  handleStep1(connection: RoomConnection, vector: Uint8Array): void {
    const known = decodeStateVector(vector);
    for (const { type, update } of this.#host.log().answer(known, connection.cursor)) {
      connection.send(type === "step2" ? encodeSyncStep2(update) : encodeUpdate(update));
    }
    connection.markAnswered();
  }

  /**
   * Takes in an update of a connection. Returns what became of it: `denied` to a reader, `incomplete` when something in it
   * did not follow and was asked for.
   * @throws ProtocolError, StorageError
   */
  handleUpdate(from: RoomConnection, kind: "update" | "step2", bytes: Uint8Array): UpdateOutcome {
    const limits = this.#limits;
    const isFirstStep2 = kind === "step2" && !from.has(ConnectionFlag.caughtUp);
    if (isFirstStep2) from.mark(ConnectionFlag.caughtUp);
    const isReadOnly = this.#host.isReadOnly(from);
    // The application closed it just now.
    if (from.isGone) return "denied";
    if (isReadOnly) {
      // An up-to-date reader answers our step 1 with nothing new: that is no attempt to write.
      if (!this.#host.log().isNews(bytes, limits)) return "accepted";
      this.#deny(from);
      return "denied";
    }
    const { update, complete } = this.#host.log().accept(bytes, { kind, subject: from.subject, limits });
    if (update !== null) this.#relay(update, from);
    if (complete) return "accepted";
    // The first step 2 of a plain client is still to come and brings everything.
    const isAnswering = !from.has(ConnectionFlag.caughtUp) && !from.has(ConnectionFlag.own);
    if (kind === "update" && !isAnswering) this.#askAgain(from);
    return "incomplete";
  }

  /**
   * Takes in a change that was made to the document on the server.
   * @throws ProtocolError when no client could read it; Error when it does not follow from what is here; StorageError
   */
  handleServerUpdate(bytes: Uint8Array): void {
    const source = { kind: "step2", subject: null, limits: storedUpdateLimits } as const;
    const { update, complete } = this.#host.log().accept(bytes, source);
    if (update !== null) this.#relay(update, null);
    if (!complete) throw new Error("An update of the server's own builds on something that is not here.");
  }

  /** Forgets a connection that closed. */
  stop(connection: RoomConnection): void {
    clearTimeout(this.#askTimers.get(connection) ?? null);
    this.#askTimers.delete(connection);
  }

  #relay(update: Uint8Array, from: RoomConnection | null): void {
    const frame = encodeUpdate(update);
    for (const connection of this.#host.connections) {
      if (connection !== from && connection.has(ConnectionFlag.answered)) connection.send(frame);
    }
    this.#host.onAccepted(update, from);
  }

  #deny(connection: RoomConnection): void {
    // Our own clients are told of each update by its number.
    if (connection.has(ConnectionFlag.told) || connection.has(ConnectionFlag.own)) return;
    connection.mark(ConnectionFlag.told);
    connection.send(encodePermissionDenied(readOnlyReason));
  }

  /** What was left out comes with the answer to a new step 1. Not at once when it was asked for a moment ago. */
  #askAgain(connection: RoomConnection): void {
    if (this.#askTimers.has(connection)) return;
    const wait = (this.#askedAt.get(connection) ?? 0) + askAgainMs - Date.now();
    if (wait <= 0) {
      this.#askedAt.set(connection, Date.now());
      this.start(connection);
      return;
    }
    const timer = setTimeout(() => {
      this.#askTimers.delete(connection);
      this.#askAgain(connection);
    }, wait);
    this.#askTimers.set(connection, timer);
  }
}
