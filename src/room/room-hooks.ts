// What an application can override and use: the public face of a room class. Types and defaults only.
import type { Connection, WSMessage } from "partyserver";
import type { Doc } from "yjs";
import type { RoomDocument } from "../document/lazy-document.js";
import type { Access, Authorization } from "./authorization.js";
import type { RoomOptions } from "./room-core.js";

/** When `onSave` is called, in milliseconds. Names and defaults as in y-partyserver. */
export interface CallbackOptions {
  /** After the last flush; 2 000 by default. */
  debounceWait?: number;
  /** At the latest after the first flush; 10 000 by default. */
  debounceMaxWait?: number;
  /** Accepted for compatibility; nothing is timed out. */
  timeout?: number;
}

/** What a room adds to an instance of its class. */
export interface RoomInstance {
  /**
   * The document as a `Y.Doc`, built from storage on first use; a room that only relays never builds it. Changes made to
   * it are stored and reach every connection. `document.awareness` is the room's presence.
   * @throws StorageError when the document cannot be read
   * @throws Error in a new room with an `onLoad` that has not run: reach the room through `getRoom()`
   */
  readonly document: RoomDocument;

  /**
   * Decides who may connect, before a socket is accepted and before a request is answered. Without it everybody may
   * write. A throw refuses, for now. Do not read the body of `request`.
   */
  onAuthorize?(request: Request): Authorization | Response | Promise<Authorization | Response>;

  /**
   * Seeds or imports a document that is new, which means that nothing was ever stored in it. Return a `Y.Doc` or a V1
   * update, or change `this.document`; it is stored before anybody is let in, and then never asked for again. A throw
   * refuses everybody, for now, and stores nothing.
   */
  onLoad(): Promise<Doc | Uint8Array | void>;

  /** Copies the document elsewhere. Called after flushes (see {@link RoomStatic.callbackOptions}) and when the last connection leaves. */
  onSave(): Promise<void>;

  /** Whether a connection may not change the document. Asked at each of its writes. */
  isReadOnly(connection: Connection): boolean;

  /**
   * Changes what a connection may do from now on, through hibernation: it is told, and one that may write now is asked for
   * what it wrote meanwhile. `none` closes it with 4403.
   */
  setAccess(connection: Connection, access: Access): void;

  /** A connection sent an application message: a text frame behind `__YPS:`. */
  onCustomMessage(connection: Connection, message: string): void | Promise<void>;

  /** Sends an application message, unless the connection is one that does not understand text frames. */
  sendCustomMessage(connection: Connection, message: string): void;

  /** Sends an application message to every connection that understands text frames, except `excludeConnection`. */
  broadcastCustomMessage(message: string, excludeConnection?: Connection): void;

  /**
   * Handles one frame of the room's own protocol. The room calls it; an application that wraps frames in its own
   * protocol may call it from `onMessage`, which gets only what is not the room's. A frame that breaks the protocol
   * closes the connection.
   */
  handleMessage(connection: Connection, message: WSMessage): void;

  /** Stores now what is pending. @throws what SQLite throws; everything is then still pending */
  flush(): void;
}

/** What a room adds to its class. */
export interface RoomStatic {
  /** When updates are stored and how large they may be. */
  roomOptions: RoomOptions;
  /** When `onSave` is called. */
  callbackOptions: CallbackOptions;
}
