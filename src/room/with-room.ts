// A Durable Object class with a room in it. The runtime's callbacks go to the shell (room-shell.ts), which passes them on
// to PartyServer; the application's hooks have their defaults here.
import { Server, type Connection, type WSMessage } from "partyserver";
import type { Doc } from "yjs";
import type { RoomDocument } from "../document/lazy-document.js";
import { customMessagePrefix } from "../protocol/message.js";
import type { Access } from "./authorization.js";
import type { RoomOptions } from "./room-core.js";
import type { CallbackOptions, RoomInstance, RoomStatic } from "./room-hooks.js";
import { RoomShell } from "./room-shell.js";

/** A class that {@link withRoom} can extend. TypeScript demands `any[]` of the constructor of a mixin's base. */
// oxlint-disable-next-line typescript/no-explicit-any
export type ServerClass = new (...args: any[]) => Server;

/** `Base` with a room in it. */
export type WithRoom<Base extends ServerClass> = Base &
  RoomStatic &
  // oxlint-disable-next-line typescript/no-explicit-any
  (new (...args: any[]) => RoomInstance);

/** Hooks of a room that a base class may have already; the room's defaults then make way. */
const defaultHooks = ["onLoad", "onSave", "isReadOnly", "onCustomMessage"] as const;
/** What a room cannot do without: a base class must not have it. */
const ownMembers = [
  "document",
  "handleMessage",
  "flush",
  "setAccess",
  "sendCustomMessage",
  "broadcastCustomMessage",
] as const;

/**
 * Adds a collaborative document to a class of PartyServer's. Hooks of `base` go on working; its `onMessage` gets what is
 * not a frame of the room's.
 * @throws TypeError when `base` has a member with the name of one that a room adds and cannot do without
 */
export function withRoom<Base extends ServerClass>(base: Base): WithRoom<Base> {
  for (const name of ownMembers) {
    if (name in base.prototype) throw new TypeError(`${base.name} has a member ${name}, and so has a room.`);
  }

  class RoomMixin extends base implements RoomInstance {
    static options = { hibernate: true };
    static roomOptions: RoomOptions = {};
    static callbackOptions: CallbackOptions = {};

    readonly #shell: RoomShell;

    // oxlint-disable-next-line typescript/no-explicit-any
    constructor(...args: any[]) {
      // oxlint-disable-next-line typescript/no-unsafe-argument
      super(...args);
      const { options, roomOptions, callbackOptions } = readStatics(this);
      if (options?.hibernate === false) {
        throw new TypeError("A room hibernates: remove hibernate: false from its options.");
      }
      this.#shell = new RoomShell({
        ctx: this.ctx,
        server: this,
        roomOptions: roomOptions ?? {},
        callbackOptions: callbackOptions ?? {},
        hasFetch: Reflect.get(base.prototype, "fetch") !== Reflect.get(Server.prototype, "fetch"),
        has: (hook) => this[hook] !== defaults.get(hook),
      });
    }

    override get name(): string {
      // A constructor of the base class may ask before there is a room.
      return (#shell in this ? this.#shell.room : null) ?? super.name;
    }

    get document(): RoomDocument {
      return this.#shell.document;
    }

    override fetch(request: Request): Promise<Response> {
      return this.#shell.fetch(request, (inner) => super.fetch(inner));
    }

    override webSocketMessage(socket: WebSocket, message: WSMessage): Promise<void> {
      return this.#shell.webSocketMessage(socket, message, () => super.webSocketMessage(socket, message));
    }

    override webSocketClose(
      socket: WebSocket,
      code: number,
      reason: string,
      wasClean: boolean,
    ): Promise<void> {
      return this.#shell.webSocketClose(socket, code, () =>
        super.webSocketClose(socket, code, reason, wasClean),
      );
    }

    override webSocketError(socket: WebSocket, error: unknown): Promise<void> {
      return this.#shell.webSocketError(socket, () => super.webSocketError(socket, error));
    }

    override async alarm(...info: []): Promise<void> {
      this.#shell.prepare();
      await super.alarm(...info);
    }

    override async setName(name: string, props?: Record<string, unknown>): Promise<void> {
      this.#shell.prepare();
      await super.setName(name, props);
    }

    override async __unsafe_ensureInitialized(): Promise<void> {
      this.#shell.prepare();
      await super.__unsafe_ensureInitialized();
    }

    override getConnection<State = unknown>(id: string): Connection<State> | undefined {
      const connection = super.getConnection<State>(id);
      const isIn = #shell in this && connection !== undefined && this.#shell.isConnected(connection);
      return isIn ? this.#shell.handOut(connection) : undefined;
    }

    override *getConnections<State = unknown>(tag?: string): Generator<Connection<State>, void> {
      if (!(#shell in this)) return;
      for (const connection of super.getConnections<State>(tag)) {
        if (this.#shell.isConnected(connection)) yield this.#shell.handOut(connection);
      }
    }

    async onLoad(): Promise<Doc | Uint8Array | void> {}

    async onSave(): Promise<void> {}

    isReadOnly(_connection: Connection): boolean {
      return false;
    }

    setAccess(connection: Connection, access: Access): void {
      this.#shell.setAccess(connection, access);
    }

    onCustomMessage(_connection: Connection, _message: string): void | Promise<void> {
      this.#shell.ignoreCustomMessage();
    }

    sendCustomMessage(connection: Connection, message: string): void {
      this.#shell.sendText(connection, customMessagePrefix + message);
    }

    broadcastCustomMessage(message: string, excludeConnection?: Connection): void {
      this.#shell.broadcastText(customMessagePrefix + message, excludeConnection);
    }

    handleMessage(connection: Connection, message: WSMessage): void {
      this.#shell.handleMessage(connection, message);
    }

    flush(): void {
      this.#shell.flush();
    }
  }

  const defaults = new Map<string, unknown>();
  for (const name of defaultHooks) {
    defaults.set(name, Reflect.get(RoomMixin.prototype, name));
    if (name in base.prototype) Reflect.deleteProperty(RoomMixin.prototype, name);
  }
  return RoomMixin;
}

/** A room on PartyServer's `Server`: the class to extend when there is no other. */
export const Room: WithRoom<typeof Server> = withRoom(Server);

interface RoomStatics {
  readonly options?: { readonly hibernate?: boolean };
  readonly roomOptions?: RoomOptions;
  readonly callbackOptions?: CallbackOptions;
}

function readStatics(instance: object): RoomStatics {
  return instance.constructor as RoomStatics;
}
