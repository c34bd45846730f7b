// A room between the runtime and the application: when it starts, who gets in, which frames are whose. Everything that
// goes wrong on the way is turned into a refusal or a close here, without a stack for the client.
import debounce from "lodash.debounce";
import type { Connection, Server, WSMessage } from "partyserver";
import { encodeStateAsUpdate } from "yjs";
import type { RoomDocument } from "../document/lazy-document.js";
import { CloseCode } from "../protocol/close-code.js";
import { customMessagePrefix, isKnownFrame } from "../protocol/message.js";
import { ProtocolError } from "../protocol/protocol-error.js";
import { decodeRoomName, encodeRoomName } from "../protocol/room-name.js";
import { Admission } from "./admission.js";
import { ConnectionFlag, isolateState, readAttachment } from "./attachment.js";
import { authorize, type Access } from "./authorization.js";
import { readPartyId, readProps, skipNameRecord } from "./party-server.js";
import { refuse, refuseForNow, refuseReadably } from "./refusal.js";
import { report } from "./report.js";
import { RoomCore, closeSocket, type RoomOptions } from "./room-core.js";
import type { CallbackOptions, RoomInstance } from "./room-hooks.js";
import { takeOverHooks, type ApplicationHooks, type ServerHooks } from "./server-hooks.js";
import { StartQueue } from "./start-queue.js";

/** What the shell needs of the class around it. */
export interface RoomShellHost {
  readonly ctx: DurableObjectState;
  readonly server: Server & RoomInstance;
  readonly roomOptions: RoomOptions;
  readonly callbackOptions: CallbackOptions;
  /** Whether the base class has a `fetch` of its own, which wants to see requests. */
  readonly hasFetch: boolean;
  /** Whether the application wrote its own `onLoad` or `onSave`. Asked after the constructors have run. */
  has(hook: "onLoad" | "onSave"): boolean;
}

/** Passes a call on to PartyServer. */
type PassOn<Result> = () => Promise<Result>;

const normalClosure = 1000;
const noStatusReceived = 1005;

/** The runtime callbacks of a room. */
export class RoomShell {
  /** The room's name as people write it; null when the object was not addressed by a valid name. */
  readonly room: string | null;
  readonly #host: RoomShellHost;
  readonly #core: RoomCore;
  readonly #admission: Admission;
  readonly #queue = new StartQueue(() => this.#ensureStarted());
  readonly #handedOut = new WeakSet<WebSocket>();
  readonly #saveLater: ReturnType<typeof debounce<() => Promise<void>>>;
  #application: ApplicationHooks | null = null;
  #saving: Promise<void> = Promise.resolve();
  #seeding: "needed" | "running" | "done" = "needed";
  #warnedOfCustomMessage = false;

  constructor(host: RoomShellHost) {
    this.#host = host;
    this.room = readRoomName(host.ctx.id.name);
    const { debounceWait = 2_000, debounceMaxWait = 10_000 } = host.callbackOptions;
    this.#saveLater = debounce(() => this.#save(), debounceWait, { maxWait: debounceMaxWait });
    this.#core = new RoomCore({
      ctx: host.ctx,
      room: this.#label,
      options: host.roomOptions,
      isReadOnly: (socket) => host.server.isReadOnly(socket as Connection),
      onFlushed: () => {
        if (host.has("onSave")) void this.#saveLater();
      },
    });
    this.#admission = new Admission({
      ctx: host.ctx,
      core: this.#core,
      room: this.#label,
      application: () => this.prepare(),
      ensureStarted: (request) => this.#ensureStarted(request),
      handOut: (connection) => this.handOut(connection),
    });
    skipNameRecord(host.ctx);
    host.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  /** @throws StorageError when it cannot be read; Error when the application's `onLoad` has still to run */
  get document(): RoomDocument {
    if (this.#host.has("onLoad") && this.#seeding === "needed" && this.#core.log.isNew) {
      throw new Error("The document is not loaded yet: reach the room through getRoom().");
    }
    return this.#core.document;
  }

  /** Takes the hooks over, once. To be called at the start of every way in. Returns what the application wrote. */
  prepare(): ApplicationHooks {
    return (this.#application ??= takeOverHooks(this.#host.server, this.#createHooks()));
  }

  /** Answers a request or accepts a socket. Whatever fails is refused, without a stack. */
  async fetch(request: Request, passOn: (request: Request) => Promise<Response>): Promise<Response> {
    return refuseReadably(request, await this.#respond(request, passOn));
  }

  async #respond(request: Request, passOn: (request: Request) => Promise<Response>): Promise<Response> {
    const application = this.prepare();
    if (this.room === null) return refuse(400, "A room needs a valid name.");
    const { server } = this.#host;
    const hook = server.onAuthorize === undefined ? null : (asked: Request) => server.onAuthorize?.(asked);
    const authorization = await authorize(hook, request, this.#label);
    if (authorization instanceof Response) return authorization;
    try {
      if (request.headers.get("Upgrade")?.toLowerCase() === "websocket") {
        return await this.#admission.admit(request, authorization, passOn);
      }
      if (application.onRequest === undefined && !this.#host.hasFetch) return refuseUnanswered();
      await this.#ensureStarted(request);
      return await passOn(request);
    } catch (error) {
      report("error", this.#label, "a request could not be served", error);
      return refuseForNow("The room cannot be opened now. Try again later.");
    }
  }

  /** A frame came in. */
  async webSocketMessage(socket: WebSocket, message: WSMessage, passOn: PassOn<void>): Promise<void> {
    this.prepare();
    // A socket that the application accepted by itself.
    if (!this.isConnected(socket) && readPartyId(socket) === null) return passOn();
    return this.#queue.run((failure) => {
      // A connection that was closed or refused: what still arrives from it does not count.
      if (!this.isConnected(socket)) return;
      if (failure === null) return this.#dispatch(this.#connectionOver(socket, passOn), message);
      this.#core.fail(socket, failure.error);
    });
  }

  /** A socket closed; perhaps that is what woke the room. */
  async webSocketClose(socket: WebSocket, code: number, passOn: PassOn<void>): Promise<void> {
    this.prepare();
    if (readPartyId(socket) === null) return passOn();
    await this.#queue.run(() => this.#core.disconnect(socket));
    // PartyServer answers a close, but not one without a code (1005): the client would wait for it in vain.
    if (code === noStatusReceived) closeSocket(socket, normalClosure, "");
    if (isRefused(socket)) return;
    await passOn();
    if (this.#host.has("onSave") && this.#core.connections.size === 0) await this.#saveLater.flush();
  }

  /** A socket broke. The platform may not call close after it. */
  async webSocketError(socket: WebSocket, passOn: PassOn<void>): Promise<void> {
    const application = this.prepare();
    if (readPartyId(socket) === null) return passOn();
    await this.#queue.run(() => this.#core.disconnect(socket));
    if (application.onError !== undefined && !isRefused(socket)) await passOn();
  }

  /** Handles one frame of the room's protocol. */
  handleMessage(connection: Connection, message: WSMessage): void {
    const known = this.#core.connections.get(connection);
    if (known === undefined) return;
    try {
      if (typeof message === "string") this.#handleText(connection, message);
      else this.#core.handleFrame(known, toBytes(message));
    } catch (error) {
      this.#core.fail(connection, error);
    }
  }

  /**
   * What the application gets to see of a connection: its own state, and a `close` after which nothing that still comes
   * from it counts.
   */
  handOut<T extends Connection>(connection: T): T {
    this.#handedOut.add(connection);
    connection.server = this.#label;
    return isolateState(connection, () => this.#core.disconnect(connection));
  }

  setAccess(connection: Connection, access: Access): void {
    this.#core.setAccess(connection, access);
  }

  /** Sends a text frame, unless it could crash the client. */
  sendText(connection: Connection, text: string): void {
    const known = this.#core.connections.get(connection);
    if (known?.has(ConnectionFlag.text) === true) known.send(text);
  }

  broadcastText(text: string, except?: Connection): void {
    for (const connection of this.#core.connections) {
      if (connection.socket !== except && connection.has(ConnectionFlag.text)) connection.send(text);
    }
  }

  /** Whether a socket of PartyServer's is one that was let in. */
  isConnected(socket: WebSocket): boolean {
    return this.#core.connections.get(socket) !== undefined;
  }

  flush(): void {
    this.#core.flush();
  }

  /** The application did not write `onCustomMessage`: said once, since it is most likely forgotten. */
  ignoreCustomMessage(): void {
    if (this.#warnedOfCustomMessage) return;
    this.#warnedOfCustomMessage = true;
    report("warn", this.#label, "a custom message came in, and onCustomMessage is not implemented");
  }

  /** For log lines. */
  get #label(): string {
    return this.room ?? "";
  }

  #createHooks(): ServerHooks {
    return {
      onStart: (props) => this.#start(props),
      getConnectionTags: (connection) => this.#admission.tag(connection),
      onConnect: (connection) => this.#admission.connect(connection),
      onMessage: () => {},
      onClose: (connection, ...rest) => this.prepare().onClose?.(this.handOut(connection), ...rest),
      onError: (connection, error) => this.prepare().onError?.(this.handOut(connection), error),
      onRequest: (request) => this.#answer(request),
      onAlarm: () => this.prepare().onAlarm?.(),
    };
  }

  /** `request` is the one that PartyServer may have sent props with. */
  async #ensureStarted(request?: Request): Promise<void> {
    // Throws what opening the storage threw: nothing is served that was not loaded.
    void this.#core.log;
    const { server, ctx } = this.#host;
    const props = request === undefined ? undefined : readProps(request);
    if (props === undefined || ctx.id.name === undefined) await server.__unsafe_ensureInitialized();
    else await server.setName(ctx.id.name, props);
  }

  /** PartyServer calls it once per instance, and lets nothing else in meanwhile. */
  async #start(props?: Record<string, unknown>): Promise<void> {
    if (this.#host.has("onLoad") && this.#seeding !== "done" && this.#core.log.isNew) await this.#seed();
    await this.prepare().onStart?.(props);
  }

  async #seed(): Promise<void> {
    this.#seeding = "running";
    try {
      await this.#core.storeAsOne(async () => {
        // Classes written in JavaScript may well return null.
        const seed = (await this.#host.server.onLoad()) ?? null;
        if (seed instanceof Uint8Array) this.#core.applyServerUpdate(seed);
        else if (seed !== null) this.#core.applyServerUpdate(encodeStateAsUpdate(seed));
      });
      this.#seeding = "done";
    } catch (error) {
      this.#seeding = "needed";
      throw error;
    }
  }

  /** One after the other: a slow one must not overwrite what a later one has saved. */
  #save(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#saveNow());
    return this.#saving;
  }

  async #saveNow(): Promise<void> {
    try {
      await this.#host.server.onSave();
    } catch (error) {
      report("error", this.#label, "onSave failed", error);
    }
  }

  /** Gives a frame to the room or to the application. Returns what the application is still doing about it. */
  #dispatch(connection: Connection, message: WSMessage): void | Promise<void> {
    if (typeof message === "string") this.#core.connections.get(connection)?.mark(ConnectionFlag.text);
    if (isOurs(message)) this.#host.server.handleMessage(connection, message);
    else return this.#passToApplication(connection, message);
  }

  /**
   * PartyServer's connection over a socket. It makes one of the socket itself, at once, when it is told of a frame; our
   * `onMessage`, which it calls later, does nothing.
   */
  #connectionOver(socket: WebSocket, passOn: PassOn<void>): Connection {
    const connection = socket as Connection;
    if (this.#handedOut.has(socket)) return connection;
    void passOn();
    return this.handOut(connection);
  }

  async #passToApplication(connection: Connection, message: WSMessage): Promise<void> {
    const { onMessage } = this.prepare();
    if (onMessage === undefined) {
      this.#core.fail(connection, new ProtocolError(CloseCode.badFrame, "unknown message"));
      return;
    }
    try {
      await onMessage(connection, message);
    } catch (error) {
      report("error", this.#label, "onMessage failed", error);
    }
  }

  #handleText(connection: Connection, text: string): void {
    if (!text.startsWith(customMessagePrefix)) {
      throw new ProtocolError(CloseCode.badFrame, "unknown text message");
    }
    void this.#handleCustomMessage(connection, text.slice(customMessagePrefix.length));
  }

  async #handleCustomMessage(connection: Connection, message: string): Promise<void> {
    try {
      await this.#host.server.onCustomMessage(connection, message);
    } catch (error) {
      report("error", this.#label, "onCustomMessage failed", error);
    }
  }

  async #answer(request: Request): Promise<Response> {
    try {
      const response = await this.prepare().onRequest?.(request);
      return response ?? refuseUnanswered();
    } catch (error) {
      report("error", this.#label, "onRequest failed", error);
      return refuse(500, "The room failed to answer this request.");
    }
  }
}

function refuseUnanswered(): Response {
  return refuse(404, "There is nothing here for this request.");
}

function isOurs(message: WSMessage): boolean {
  if (typeof message === "string") return message.startsWith(customMessagePrefix);
  return isKnownFrame(toBytes(message));
}

function toBytes(message: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (message instanceof ArrayBuffer) return new Uint8Array(message);
  return new Uint8Array(message.buffer, message.byteOffset, message.byteLength);
}

function isRefused(socket: WebSocket): boolean {
  const attachment = readAttachment(socket);
  return attachment === null || (attachment.flags & ConnectionFlag.refused) !== 0;
}

/** The name behind an object's; null when there is none, or none that a URL could spell. */
function readRoomName(objectName: string | undefined): string | null {
  if (objectName === undefined) return null;
  try {
    const name = decodeRoomName(objectName);
    encodeRoomName(name);
    return name;
  } catch {
    return null;
  }
}
