// Ties a Y.Doc and its Awareness to a room: what is made here goes out, what comes is applied, and the application is told.
// The line is connection.ts', what is said over it conversation.ts', what is unsaved outbox.ts'.
import { ObservableV2 } from "lib0/observable";
import { uuidv4 } from "lib0/random";
import type { Awareness } from "y-protocols/awareness";
import { applyUpdate, Doc } from "yjs";
import { CloseCode } from "../src/protocol/close-code.js";
import type { AccessLevel } from "../src/protocol/control.js";
import { Channel } from "./channel.js";
import { Connection, frameTooLarge, type Refusal } from "./connection.js";
import { Conversation, type CopyState } from "./conversation.js";
import { Outbox } from "./outbox.js";
import { Pace } from "./pace.js";
import { hasPage, listenToPage, type PageEvent } from "./page.js";
import { createAwareness, Presence, stopInterval } from "./presence.js";
import type { ProviderError, ProviderEvents, ProviderOptions } from "./provider-options.js";
import { createAddress, createUrl } from "./url.js";

/** What another tab wrote is sent by that tab; this one does it too when that is not known after so many milliseconds. */
const tabUpdateWithinMs = 3_000;
/** Application messages that may wait for the line … */
const maxQueuedMessages = 128;
/** … and what they may hold together, in UTF-16 units. */
const maxQueuedLength = 1_048_576;

/** Somebody who waits for something to be true. */
interface Waiter {
  readonly what: "synced" | "saved";
  resolve(): void;
  reject(reason: Error): void;
}

/** A document that is kept in step with a room. Nothing happens before it connects, and nothing after `destroy`. */
export class YProvider extends ObservableV2<ProviderEvents<YProvider>> {
  readonly doc: Doc;
  readonly awareness: Awareness;
  /** The name of the room, as it was given. */
  readonly roomname: string;
  /** The label of this client on each of its connections. */
  readonly id: string;
  /** The URL of the latest connection; before the first one without its query. */
  url: string;
  readonly #options: ProviderOptions;
  readonly #address: string;
  readonly #copy: CopyState;
  readonly #outbox = new Outbox();
  readonly #presence: Presence;
  readonly #connection: Connection;
  readonly #secret: string = uuidv4();
  readonly #pace = new Pace(() => {
    this.#conversation?.flush();
    this.#tell();
  });
  #conversation: Conversation | null = null;
  #channel: Channel | null = null;
  /** Stops what listens, where anything does. */
  #stop: (() => void) | null = null;
  readonly #messages: string[] = [];
  readonly #waiters: Waiter[] = [];
  /** Why nothing that is waited for will come to be. */
  #failure = "";
  #isDestroyed = false;
  #status = "disconnected";
  /** What the application was told last. */
  readonly #told: Record<"access" | "epoch" | "synced" | "saved", unknown>;

  /** @throws TypeError, URIError when the address cannot be */
  constructor(host: string, room: string, doc: Doc = new Doc(), options: ProviderOptions = {}) {
    super();
    this.#options = options;
    this.#address = this.url = createAddress(host, room, options);
    this.#copy = { epoch: options.epoch ?? "", cursor: 0, isSynced: false, isRoom: null, access: null };
    this.#told = { access: null, epoch: this.epoch, synced: false, saved: false };
    this.doc = doc;
    this.roomname = room;
    this.id = options.connectionId ?? uuidv4();
    this.awareness = options.awareness ?? createAwareness(doc);
    this.#presence = new Presence(this.awareness, { origin: this, attempt: this.#attempt });
    this.#connection = this.#createConnection();
    if (options.connect ?? true) void this.connect();
  }

  /** The socket; null while there is none. */
  get ws(): WebSocket | null {
    return this.#connection.socket;
  }

  get wsconnected(): boolean {
    return this.#connection.isOpen;
  }

  get wsconnecting(): boolean {
    return this.ws !== null && !this.wsconnected;
  }

  /** Whether it talks to other tabs of this browser. */
  get bcconnected(): boolean {
    return this.#channel !== null;
  }

  /** Whether it connects again when the line is lost. */
  get shouldConnect(): boolean {
    return this.#connection.shouldConnect;
  }

  /** Whether everything that the server had is here. */
  get synced(): boolean {
    return this.#copy.isSynced;
  }

  /** Whether the room has said that all that was made here is stored. Never with a server that does not say so. */
  get saved(): boolean {
    return this.#outbox.isEmpty && !this.#outbox.needsWhole;
  }

  /** Whether something was made since the provider first connected that is not stored; with other servers: not sent. */
  get hasUnsyncedChanges(): boolean {
    return !this.#outbox.isEmpty;
  }

  /** What the room lets this client do; null before it has said so. */
  get access(): AccessLevel | null {
    return this.#copy.access;
  }

  /** The life of the document that this copy is from; null before it is known. */
  get epoch(): string | null {
    return this.#copy.epoch || null;
  }

  /** Connects, and again whenever the line is lost. Returns when there is a socket, or will be later; never throws. */
  async connect(): Promise<void> {
    if (this.#isDestroyed) return;
    this.#failure = "";
    this.#stop ??= this.#start();
    await this.#connection.connect();
  }

  /** Sends what waits, leaves, and stays away until `connect`. */
  disconnect(): void {
    this.#pace.flush();
    this.#leave();
    this.#connection.disconnect();
    this.#setStatus("disconnected");
  }

  /** Disconnects for good and lets go of everything. An awareness that was made here ends as well. */
  override destroy(): void {
    if (this.#isDestroyed) return;
    this.disconnect();
    this.#isDestroyed = true;
    this.#stop?.();
    this.#giveUp("The provider was destroyed.");
    if (this.#options.awareness === undefined) this.#attempt(() => this.awareness.destroy());
    super.destroy();
  }

  /** Sends an application message, after all that was made before it. It waits for the line, within limits. */
  sendMessage(message: string): void {
    const isFull = this.#messages.length >= maxQueuedMessages;
    if (isFull || this.#messages.join("").length + message.length > maxQueuedLength) {
      this.#fail("message-dropped", message);
      return;
    }
    this.#messages.push(message);
    this.#pace.flush();
  }

  /** Waits until everything that the server has is here. Rejects when the server refuses for good, and on `destroy`. */
  whenSynced(): Promise<void> {
    return this.#when("synced");
  }

  /**
   * Waits until all that was made here is stored. Rejects when the server refuses for good or does not say what it
   * stores, and on `destroy`.
   */
  whenSaved(): Promise<void> {
    return this.#when("saved");
  }

  /** Calls every listener: one that throws stops neither the others nor the provider. */
  override emit<Name extends keyof ProviderEvents<YProvider>>(
    name: Name,
    args: Parameters<ProviderEvents<YProvider>[Name]>,
  ): void {
    const listeners = [...(this._observers.get(name) ?? [])] as ((...values: unknown[]) => void)[];
    for (const listener of listeners) {
      try {
        listener(...args);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** Listens to the document, to presence and to the page, from the first connect on. Returns how to stop. */
  #start(): () => void {
    const { doc, awareness } = this;
    const { resyncInterval = 0 } = this.#options;
    const handleDestroy = () => this.destroy();
    stopInterval(awareness);
    doc.on("update", this.#handleUpdate);
    doc.on("destroy", handleDestroy);
    awareness.on("change", this.#handlePresence);
    const stopPage = listenToPage((event) => this.#handlePage(event));
    const resync =
      resyncInterval > 0 ? setInterval(() => this.#conversation?.ask(), resyncInterval) : undefined;
    return () => {
      doc.off("update", this.#handleUpdate);
      doc.off("destroy", handleDestroy);
      awareness.off("change", this.#handlePresence);
      stopPage();
      clearInterval(resync);
      this.#pace.stop();
    };
  }

  readonly #handleUpdate = (update: Uint8Array, origin: unknown): void => {
    if (origin === this) return;
    const isOfTab = origin !== null && origin === this.#channel;
    if (!isOfTab) this.#channel?.publishUpdate(update);
    this.#keep(update, isOfTab ? tabUpdateWithinMs : 0);
  };

  /** Keeps an update until it is saved. */
  #keep(update: Uint8Array, withinMs: number): void {
    this.#outbox.add(update);
    this.#pace.request(withinMs);
    this.#tell();
  }

  readonly #handlePresence = (changes: Record<string, readonly number[]>, origin: unknown): void => {
    if (!Object.values(changes).some((ids) => ids.includes(this.awareness.clientID))) return;
    this.#presence.handleOwnChange(origin);
    this.#announce();
  };

  /** Has others told where one is. */
  #announce(): void {
    this.#channel?.publishPresence(this.#presence.own());
    this.#pace.request();
  }

  #handlePage(event: PageEvent): void {
    const presence = this.#presence;
    if (event.type === "beforeunload") {
      if (this.#options.warnOnClose === true && this.hasUnsyncedChanges) event.preventDefault();
      return;
    }
    this.#pace.flush();
    if (event.type === "pagehide") {
      this.#tellLeft();
      presence.isAway = true;
      return;
    }
    if (presence.isAway && event.type === "pageshow") {
      // The page was kept in memory, and is back.
      presence.isAway = false;
      presence.renew();
      this.#announce();
    }
    this.#connection.hurry();
  }

  #tellLeft(): void {
    const left = this.#presence.own(true);
    this.#conversation?.sendPresence(left);
    this.#channel?.publishPresence(left);
  }

  #leave(): void {
    this.#tellLeft();
    this.#channel?.close();
    this.#channel = null;
  }

  #createConnection(): Connection {
    const { WebSocketPolyfill, maxBackoffTime = 30_000, params = {} } = this.#options;
    return new Connection({
      WebSocket: WebSocketPolyfill ?? (typeof WebSocket === "undefined" ? null : WebSocket),
      maxPauseMs: maxBackoffTime,
      createUrl: async () => {
        const given = typeof params === "function" ? await params() : params;
        return (this.url = createUrl(this.#address, this.id, given));
      },
      onConnecting: () => this.#setStatus("connecting"),
      onOpen: () => {
        this.#conversation = this.#createConversation();
        this.#setStatus("connected");
      },
      onData: (data) => this.#handleData(data),
      onError: (event) => this.emit("connection-error", [event, this]),
      onClose: (event) => this.#handleClose(event),
      onRefused: (refusal) => this.#handleRefused(refusal),
      onFault: (type, cause) => {
        if (type === "socket") this.#giveUp("There is no socket.");
        this.#fail(type, cause);
      },
    });
  }

  #createConversation(): Conversation {
    return new Conversation({
      doc: this.doc,
      copy: this.#copy,
      outbox: this.#outbox,
      presence: this.#presence,
      connection: this.#connection,
      secret: this.#secret,
      messages: this.#messages,
      attempt: this.#attempt,
      apply: (update) => applyUpdate(this.doc, update, this),
      onMessage: (message) => this.emit("custom-message", [message]),
      onDenied: (reason) => this.emit("denied", [{ reason }]),
    });
  }

  #handleData(data: unknown): void {
    try {
      this.#conversation?.receive(data);
    } catch (cause) {
      this.#connection.close();
      this.#fail("protocol", cause);
    }
    this.#tell();
  }

  #handleClose(event: CloseEvent | null): void {
    const wasOpen = this.#conversation !== null;
    this.#conversation?.end();
    this.#conversation = null;
    this.#copy.isSynced = false;
    this.#presence.forgetOthers();
    this.#channel?.askWho();
    this.emit("connection-close", [event, this]);
    this.#tell();
    if (wasOpen || !this.shouldConnect) this.#setStatus("disconnected");
  }

  #handleRefused(refusal: Refusal): void {
    this.#leave();
    this.#setStatus("disconnected");
    this.#giveUp(`The server refused: ${refusal.code} ${refusal.reason}`);
    if (refusal.code === frameTooLarge || refusal.code === CloseCode.tooLarge)
      this.#fail("too-large", refusal);
    this.emit("closed", [refusal, this]);
  }

  /** Meets the other tabs, as soon as it is known which life of the document they must share. */
  #joinChannel(): void {
    const { epoch, isRoom, isSynced } = this.#copy;
    const isUnknown = !isSynced || (isRoom === true && epoch === "");
    const name = isRoom === true ? `${this.#address}#${epoch}` : this.#address;
    if (isUnknown || name === this.#channel?.name || (this.#options.disableBc ?? !hasPage())) return;
    this.#channel?.close();
    this.#channel = new Channel(name, {
      doc: this.doc,
      presence: this.#presence,
      attempt: this.#attempt,
      onTabUpdate: (update, isNew) => {
        // That tab may be gone before it is saved, so it counts as unsaved here. Of a difference only what was new here
        // does; an update is kept as it is, since Yjs may have to wait for what it builds on.
        this.#attempt(() => applyUpdate(this.doc, update, isNew ? this : this.#channel));
        if (isNew) this.#keep(update, tabUpdateWithinMs);
      },
    });
    this.#channel.join();
  }

  /** Tells the application what has changed. */
  #tell(): void {
    for (const name of ["access", "epoch", "synced", "saved"] as const) {
      const value = this[name];
      if (value === this.#told[name]) continue;
      this.#told[name] = value;
      this.emit(name, [value as never]);
      if (name === "synced") this.emit("sync", [this.synced]);
    }
    this.#settle();
    this.#joinChannel();
  }

  #setStatus(status: "connecting" | "connected" | "disconnected"): void {
    if (status === "disconnected" && this.#status === status) return;
    this.#status = status;
    this.emit("status", [{ status }]);
  }

  #when(what: "synced" | "saved"): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ what, resolve, reject });
      this.#settle();
    });
  }

  #giveUp(why: string): void {
    this.#failure = why;
    this.#settle();
  }

  /** Tells those who wait for what is true now, or never will be. */
  #settle(): void {
    for (const waiter of this.#waiters.splice(0)) {
      const isUnknown = waiter.what === "saved" && this.#copy.isRoom === false;
      const failure = this.#failure || (isUnknown ? "This server does not say what it has saved." : "");
      if (this[waiter.what]) waiter.resolve();
      else if (failure) waiter.reject(new Error(failure));
      else this.#waiters.push(waiter);
    }
  }

  /** Does what may throw because of what came, or of an observer of the application. Returns whether it went well. */
  readonly #attempt = (action: () => void): boolean => {
    try {
      action();
      return true;
    } catch (cause) {
      this.#fail("apply", cause);
      return false;
    }
  };

  readonly #fail = (type: ProviderError["type"], cause: unknown): void => {
    this.emit("error", [{ type, cause }]);
  };
}
