// The machinery of one room behind the runtime's callbacks: storage, connections, presence, sync, the lazy document and
// its persistence, put together. PartyServer and the application's hooks are with-room.ts' business.
import type { Awareness } from "y-protocols/awareness";
import { DocumentLog } from "../document/document-log.js";
import { LazyDocument, type RoomDocument } from "../document/lazy-document.js";
import { defaultUpdateLimits, type UpdateLimits } from "../document/update-limits.js";
import type { AwarenessEntry } from "../protocol/awareness.js";
import { CloseCode } from "../protocol/close-code.js";
import { encodeServerControl, isControlFrame } from "../protocol/control.js";
import { decodeClientMessage, encodeAwareness, encodeQueryAwareness } from "../protocol/message.js";
import { ProtocolError } from "../protocol/protocol-error.js";
import { createDurableDatabase, type Database } from "../storage/database.js";
import { ConnectionFlag } from "./attachment.js";
import type { Access } from "./authorization.js";
import { Connections, type RoomConnection } from "./connections.js";
import { Contests } from "./contests.js";
import { Introductions } from "./introductions.js";
import { applyAwarenessEntries, connectAwareness } from "./document-awareness.js";
import { DocumentSync } from "./document-sync.js";
import { OwnClients } from "./own-clients.js";
import { Persistence, defaultPersistence, type PersistenceOptions } from "./persistence.js";
import { Presence, type PresenceNews } from "./presence.js";
import { Penalties } from "./refusal.js";
import { report } from "./report.js";
import { ServerPeople } from "./server-people.js";

/** What an application can set. */
export interface RoomOptions {
  /** When updates are stored. */
  readonly persistence?: Partial<PersistenceOptions>;
  /** How much one update may hold. */
  readonly limits?: Partial<UpdateLimits>;
}

/** What the core needs of the class around it. */
export interface RoomCoreHost {
  readonly ctx: DurableObjectState;
  readonly room: string;
  readonly options: RoomOptions;
  /** Asks the application's `isReadOnly`. */
  isReadOnly(socket: WebSocket): boolean;
  /** Something was stored. */
  onFlushed(): void;
}

/** Who a new connection is. */
export interface Newcomer {
  readonly access: Access;
  readonly subject: string | null;
  readonly secretHash: string | null;
  readonly origin: string;
  /** Whether it is known to understand text frames. */
  readonly takesText: boolean;
}

/** One room in memory. Everything that matters is in storage and in the attachments. */
export class RoomCore {
  readonly connections: Connections;
  readonly penalties: Penalties = new Penalties();
  readonly #contests = new Contests((claimant, contest) => {
    this.#tell(this.#presence.settle(claimant, contest, Date.now()), claimant);
  });
  readonly #introductions = new Introductions((newcomer, isAskedFor) =>
    this.#introduce(newcomer, isAskedFor),
  );
  readonly #host: RoomCoreHost;
  readonly #persistence: Persistence;
  readonly #own: OwnClients;
  readonly #presence: Presence;
  readonly #serverPeople: ServerPeople;
  readonly #sync: DocumentSync;
  readonly #document: LazyDocument;
  readonly #opened: { readonly log: DocumentLog } | { readonly error: unknown };

  constructor(host: RoomCoreHost) {
    this.#host = host;
    const sockets = host.ctx.getWebSockets();
    const database = createDurableDatabase(host.ctx.storage);
    this.#opened = openLog(database, host.room);
    this.connections = new Connections(() => host.ctx.getWebSockets());
    this.#serverPeople = new ServerPeople(database, sockets.length > 0);
    this.#presence = new Presence(this.connections, this.#serverPeople);
    this.#document = this.#createDocument();
    this.#sync = this.#createSync();
    this.#own = this.#createOwnClients();
    this.#persistence = this.#createPersistence();
  }

  /** The document's log. @throws what opening it threw: a room that cannot read its storage serves nothing */
  get log(): DocumentLog {
    if ("error" in this.#opened) throw this.#opened.error;
    return this.#opened.log;
  }

  /** The `Y.Doc`, built on first use. @throws StorageError when it cannot be read */
  get document(): RoomDocument {
    return this.#document.get();
  }

  /** Lets a socket in: asks it for what it has and tells it who is here. @throws StorageError */
  connect(socket: WebSocket, newcomer: Newcomer): void {
    const { access, subject, secretHash, origin, takesText } = newcomer;
    const flags = (access === "read" ? ConnectionFlag.readOnly : 0) | (takesText ? ConnectionFlag.text : 0);
    const connection = this.connections.add(socket, {
      flags,
      subject,
      secretHash,
      origin,
      cursor: 0,
      people: new Map(),
    });
    this.#sync.start(connection);
    this.#introductions.begin(connection);
  }

  /** Changes what a connection may do. @throws StorageError */
  setAccess(socket: WebSocket, access: Access): void {
    const connection = this.connections.get(socket);
    if (connection === undefined) return;
    if (access === "none") {
      this.fail(socket, new ProtocolError(CloseCode.forbidden, "access was taken away"));
      return;
    }
    const mayWrite = access !== "read";
    connection.mark(ConnectionFlag.readOnly, !mayWrite);
    connection.mark(ConnectionFlag.told, false);
    this.#own.tellAccess(connection, access);
    if (mayWrite) this.#sync.start(connection);
  }

  /** Handles a binary frame. What it throws is to be given to {@link fail}. @throws ProtocolError, StorageError */
  handleFrame(connection: RoomConnection, frame: Uint8Array): void {
    this.#contests.hear(connection);
    if (isControlFrame(frame)) {
      this.#own.handle(connection, frame);
      return;
    }
    this.#own.checkNoPart(connection);
    const message = decodeClientMessage(frame);
    switch (message.type) {
      case "step1":
        this.#sync.handleStep1(connection, message.vector);
        break;
      case "step2":
      case "update":
        this.#sync.handleUpdate(connection, message.type, message.update);
        break;
      case "awareness":
        this.#handleAwareness(connection, message.entries);
        break;
      case "queryAwareness":
        this.#introductions.stop(connection);
        this.#introduce(connection, (owner) => owner !== connection);
        break;
    }
  }

  /** Closes a connection that broke a rule, or that cannot be served now. One line in the log; nobody else notices. */
  fail(socket: WebSocket, error: unknown): void {
    const { code, reason } = closeReason(error);
    const isTheirs = error instanceof ProtocolError;
    const isFinal = code < CloseCode.tryAgain;
    if (isTheirs) report("warn", this.#host.room, `closed a connection: ${code} ${reason}`);
    else report("error", this.#host.room, `closed a connection: ${code} ${reason}`, error);
    const connection = this.connections.get(socket);
    if (connection?.has(ConnectionFlag.own) === true) {
      connection.send(encodeServerControl({ type: "closing", code, reason }));
    } else if (isFinal && connection !== undefined) {
      this.penalties.add(connection, code, Date.now());
    }
    try {
      this.disconnect(socket);
    } finally {
      closeSocket(socket, code, reason);
    }
  }

  /** Cleans up after a socket that is gone, or is about to be closed. Doing it twice changes nothing. */
  disconnect(socket: WebSocket): void {
    const connection = this.connections.remove(socket);
    if (connection === undefined) return;
    this.#sync.stop(connection);
    this.#introductions.stop(connection);
    this.#broadcastPresence(this.#presence.leave(connection), null);
    this.#contests.leave(connection);
    if (this.connections.size === 0) this.#persistence.flush();
  }

  /** Stores everything that is pending. @throws what SQLite throws */
  flush(): void {
    // Throws what opening the storage threw.
    void this.log;
    this.#persistence.flushOrThrow();
  }

  /** Takes a V1 update of the server's own into the document. @throws ProtocolError, StorageError */
  applyServerUpdate(update: Uint8Array): void {
    this.#sync.handleServerUpdate(update);
    this.#document.apply(update, null);
  }

  /** Stores nothing while `work` is under way, and all of it at the end; nothing when it fails. */
  async storeAsOne(work: () => Promise<void>): Promise<void> {
    this.#persistence.suspend();
    try {
      await work();
    } catch (error) {
      this.discardPending();
      throw error;
    } finally {
      this.#persistence.resume();
    }
    try {
      this.flush();
    } catch (error) {
      this.discardPending();
      throw error;
    }
  }

  /** Forgets everything that was not stored. */
  discardPending(): void {
    this.#persistence.cancel();
    this.log.discardPending();
    this.#document.drop();
  }

  #handleAwareness(from: RoomConnection, entries: readonly AwarenessEntry[]): void {
    const news = this.#presence.receive(from, entries, Date.now());
    this.#tell(news, from);
    this.#introductions.complete(from);
    for (const contest of news.contested) {
      if (this.#contests.add(from, contest)) contest.owner.send(encodeQueryAwareness());
    }
  }

  #tell({ others, sender, renewed, ask }: PresenceNews, from: RoomConnection): void {
    this.#broadcastPresence(others, from);
    if (sender.length > 0) from.send(encodeAwareness(sender));
    for (const { owner, entry } of renewed) this.#broadcastPresence([entry], owner);
    for (const owner of ask) owner.send(encodeQueryAwareness());
  }

  #broadcastPresence(entries: readonly AwarenessEntry[], except: RoomConnection | null): void {
    if (entries.length === 0) return;
    const frame = encodeAwareness(entries);
    for (const connection of this.connections) {
      if (connection !== except) connection.send(frame);
    }
    const doc = this.#document.built;
    if (doc?.hasAwareness !== true) return;
    try {
      applyAwarenessEntries(doc.awareness, entries);
    } catch (error) {
      report("error", this.#host.room, "an observer of document.awareness failed", error);
    }
  }

  /** Tells a connection of everybody whose owner is asked for. */
  #introduce(connection: RoomConnection, isAskedFor: (owner: RoomConnection) => boolean): void {
    const { entries, ask } = this.#presence.everybody(isAskedFor);
    if (entries.length > 0) connection.send(encodeAwareness(entries));
    for (const owner of ask) owner.send(encodeQueryAwareness());
  }

  #connectAwareness(awareness: Awareness): void {
    connectAwareness(awareness, {
      everybody: () => this.#presence.everybody(() => true).entries,
      serverPeople: () => this.#serverPeople.entries(),
      onServerEntries: (entries) => {
        this.#broadcastPresence(this.#presence.receiveFromServer(entries, Date.now()), null);
      },
    });
  }

  #createDocument(): LazyDocument {
    return new LazyDocument({
      updates: () => this.log.updates(),
      onUpdate: (update) => this.#sync.handleServerUpdate(update),
      onAwareness: (awareness) => this.#connectAwareness(awareness),
      onError: (error) => {
        report("error", this.#host.room, "an update could not be applied to room.document", error);
      },
    });
  }

  #createSync(): DocumentSync {
    return new DocumentSync({
      log: () => this.log,
      connections: this.connections,
      limits: this.#host.options.limits ?? {},
      isReadOnly: (connection) => this.#isReadOnly(connection),
      onAccepted: (update, from) => {
        if (from !== null) this.#document.apply(update, from.socket);
        this.#persistence.schedule();
      },
    });
  }

  #createOwnClients(): OwnClients {
    const maxBytes = this.#host.options.limits?.maxBytes ?? defaultUpdateLimits.maxBytes;
    return new OwnClients({
      log: () => this.log,
      connections: this.connections,
      // The update and what stands around it.
      maxAssembledBytes: maxBytes + 65_536,
      accessOf: (connection) => (this.#isReadOnly(connection) ? "read" : "write"),
      handleUpdate: (from, kind, update) => this.#sync.handleUpdate(from, kind, update),
      handleAwareness: (from, entries) => this.#handleAwareness(from, entries),
      handleFrame: (from, frame) => this.handleFrame(from, frame),
    });
  }

  #isReadOnly(connection: RoomConnection): boolean {
    return connection.has(ConnectionFlag.readOnly) || this.#host.isReadOnly(connection.socket);
  }

  #createPersistence(): Persistence {
    const { room, ctx } = this.#host;
    const options = { ...defaultPersistence, ...this.#host.options.persistence };
    const host = {
      pendingBytes: () => ("log" in this.#opened ? this.#opened.log.pendingBytes : 0),
      flush: () => "log" in this.#opened && this.#opened.log.flush(),
      onFlushed: () => {
        this.#own.handleFlushed();
        this.#host.onFlushed();
      },
      onFlushFailed: (error: unknown, attempt: number) => {
        report("error", room, `storing failed, attempt ${attempt}; trying again`, error);
      },
      onGiveUp: (error: unknown) => {
        report("error", room, "storing failed for good; giving up this instance", error);
        ctx.abort("The document could not be stored.");
      },
    };
    return new Persistence(host, options);
  }
}

function openLog(database: Database, room: string): { log: DocumentLog } | { error: unknown } {
  try {
    return { log: new DocumentLog(database, room) };
  } catch (error) {
    return { error };
  }
}

function closeReason(error: unknown): { code: CloseCode; reason: string } {
  if (error instanceof ProtocolError) return { code: error.closeCode, reason: error.reason };
  return { code: CloseCode.cannotLoad, reason: "the document cannot be served now" };
}

/** Closes a socket that may be closed already. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  try {
    socket.close(code, reason);
  } catch {
    // It was closed in the meantime, which is what was wanted.
  }
}
