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
import { authorize } from "./authorization.js";
import { refuse, refuseForNow } from "./refusal.js";
import { report } from "./report.js";
import { RoomCore, closeSocket, type RoomOptions } from "./room-core.js";
import type { CallbackOptions, RoomInstance } from "./room-hooks.js";
import { takeOverHooks, type ApplicationHooks } from "./server-hooks.js";

/** What the shell needs of the class around it. */
export interface RoomShellHost {
  readonly ctx: DurableObjectState;
  readonly server: Server & RoomInstance;
  readonly roomOptions: RoomOptions;
  readonly callbackOptions: CallbackOptions;
  /** Whether the application wrote its own. */
  readonly hasOnLoad: boolean;
  readonly hasOnSave: boolean;
}

const normalClosure = 1000;
const noStatusReceived = 1005;

/** Passes a call on to PartyServer. */
type PassOn<Result> = () => Promise<Result>;

/** The runtime callbacks of a room. */
export class RoomShell {
  /** The room's name as people write it; null when the object was not addressed by a valid name. */
  readonly room: string | null;
  readonly #host: RoomShellHost;
  readonly #core: RoomCore;
  readonly #admission: Admission;
  readonly #saveLater: ReturnType<typeof debounce<() => Promise<void>>>;
  #application: ApplicationHooks = {};
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
        if (host.hasOnSave) void this.#saveLater();
      },
    });
    this.#admission = new Admission({
      ctx: host.ctx,
      core: this.#core,
      room: this.#label,
      application: () => this.#application,
      ensureStarted: () => this.#ensureStarted(),
    });
    takeOverHooks(host.server, (application) => {
      this.#application = application;
      return {
        onStart: (props) => this.#start(props),
        getConnectionTags: (connection) => this.#admission.tag(connection),
        onConnect: (connection) => this.#admission.connect(connection),
        onMessage: (connection, message) => this.#receive(connection, message),
        onClose: (connection, ...rest) => application.onClose?.(isolateState(connection), ...rest),
        onError: (connection, error) => application.onError?.(isolateState(connection), error),
        onRequest: (request) => this.#answer(request),
        onAlarm: () => application.onAlarm?.(),
      };
    });
    skipNameRecord(host.ctx);
    host.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  /** @throws StorageError when it cannot be read; Error when the application's `onLoad` has still to run */
  get document(): RoomDocument {
    if (this.#host.hasOnLoad && this.#seeding === "needed" && this.#core.log.isNew) {
      throw new Error("The document is not loaded yet: reach the room through getRoom().");
    }
    return this.#core.document;
  }

  /** Answers a request or accepts a socket. Whatever fails is refused, without a stack. */
  async fetch(request: Request, passOn: (request: Request) => Promise<Response>): Promise<Response> {
    if (this.room === null) return refuse(400, "A room needs a valid name.");
    const { server } = this.#host;
    const hook = server.onAuthorize === undefined ? null : (asked: Request) => server.onAuthorize?.(asked);
    const authorization = await authorize(hook, request, this.#label);
    if (authorization instanceof Response) return authorization;
    try {
      if (request.headers.get("Upgrade")?.toLowerCase() === "websocket") {
        return await this.#admission.admit(request, authorization, passOn);
      }
      if (this.#application.onRequest === undefined) {
        return refuse(404, "There is nothing here for this request.");
      }
      await this.#ensureStarted();
      return await passOn(request);
    } catch (error) {
      report("error", this.#label, "a request could not be served", error);
      return refuseForNow("The room cannot be opened now. Try again later.");
    }
  }

  /** A frame came in. */
  async webSocketMessage(socket: WebSocket, passOn: PassOn<void>): Promise<void> {
    // A connection that was closed or refused: what still arrives from it does not count.
    if (this.#core.connections.get(socket) === undefined) return;
    try {
      await this.#ensureStarted();
    } catch (error) {
      this.#core.fail(socket, error);
      return;
    }
    await passOn();
  }

  /** A socket closed; perhaps that is what woke the room. */
  async webSocketClose(socket: WebSocket, code: number, passOn: PassOn<void>): Promise<void> {
    this.#core.disconnect(socket);
    // PartyServer answers a close, but not one without a code (1005): the client would wait for it in vain.
    if (code === noStatusReceived) closeSocket(socket, normalClosure, "");
    if (isRefused(socket)) return;
    await passOn();
    if (this.#host.hasOnSave && this.#core.connections.size === 0) await this.#saveLater.flush();
  }

  /** A socket broke. The platform may not call close after it. */
  async webSocketError(socket: WebSocket, passOn: PassOn<void>): Promise<void> {
    this.#core.disconnect(socket);
    if (this.#application.onError !== undefined && !isRefused(socket)) await passOn();
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

  /** For log lines. */
  get #label(): string {
    return this.room ?? "";
  }

  async #ensureStarted(): Promise<void> {
    // Throws what opening the storage threw: nothing is served that was not loaded.
    void this.#core.log;
    await this.#host.server.__unsafe_ensureInitialized();
  }

  /** PartyServer calls it once per instance, and lets nothing else in meanwhile. */
  async #start(props?: Record<string, unknown>): Promise<void> {
    if (this.#host.hasOnLoad && this.#seeding !== "done" && this.#core.log.isNew) await this.#seed();
    await this.#application.onStart?.(props);
  }

  async #seed(): Promise<void> {
    this.#seeding = "running";
    try {
      const seed = await this.#host.server.onLoad();
      if (seed instanceof Uint8Array) this.#core.applyServerUpdate(seed);
      else if (seed !== undefined) this.#core.applyServerUpdate(encodeStateAsUpdate(seed));
      this.#core.flush();
      this.#seeding = "done";
    } catch (error) {
      this.#core.discardPending();
      this.#seeding = "needed";
      throw error;
    }
  }

  async #save(): Promise<void> {
    try {
      await this.#host.server.onSave();
    } catch (error) {
      report("error", this.#label, "onSave failed", error);
    }
  }

  async #receive(connection: Connection, message: WSMessage): Promise<void> {
    isolateState(connection);
    if (typeof message === "string") {
      this.#core.connections.get(connection)?.mark(ConnectionFlag.text);
    }
    if (isOurs(message)) {
      this.#host.server.handleMessage(connection, message);
      return;
    }
    if (this.#application.onMessage === undefined) {
      this.#core.fail(connection, new ProtocolError(CloseCode.badFrame, "unknown message"));
      return;
    }
    try {
      await this.#application.onMessage(connection, message);
    } catch (error) {
      report("error", this.#label, "onMessage failed", error);
    }
  }

  #handleText(connection: Connection, text: string): void {
    if (!text.startsWith(customMessagePrefix)) {
      throw new ProtocolError(CloseCode.badFrame, "unknown text message");
    }
    const message = text.slice(customMessagePrefix.length);
    void this.#handleCustomMessage(connection, message);
  }

  async #handleCustomMessage(connection: Connection, message: string): Promise<void> {
    try {
      await this.#host.server.onCustomMessage(connection, message);
    } catch (error) {
      report("error", this.#label, "onCustomMessage failed", error);
    }
  }

  /** The application did not write `onCustomMessage`: said once, since it is most likely forgotten. */
  ignoreCustomMessage(): void {
    if (this.#warnedOfCustomMessage) return;
    this.#warnedOfCustomMessage = true;
    report("warn", this.#label, "a custom message came in, and onCustomMessage is not implemented");
  }

  async #answer(request: Request): Promise<Response> {
    try {
      const response = await this.#application.onRequest?.(request);
      return response ?? refuse(404, "There is nothing here for this request.");
    } catch (error) {
      report("error", this.#label, "onRequest failed", error);
      return refuse(500, "The room failed to answer this request.");
    }
  }
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

/**
 * PartyServer stores the object's name for alarms of old runtimes, which did not know it: 12 KB for every name that
 * anybody tries. Where the platform knows the name, that record is left out.
 */
function skipNameRecord(ctx: DurableObjectState): void {
  if (ctx.id.name === undefined) return;
  const { storage } = ctx;
  const put = storage.put.bind(storage) as (...args: unknown[]) => Promise<void>;
  Object.defineProperty(storage, "put", {
    configurable: true,
    value: (...args: unknown[]): Promise<void> =>
      args[0] === "__ps_name" ? Promise.resolve() : put(...args),
  });
}
