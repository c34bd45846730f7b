// What can be given to a provider, and what it tells.
import type { Awareness } from "y-protocols/awareness";
import type { AccessLevel } from "../src/protocol/control.js";
import type { Refusal } from "./connection.js";
import type { AddressOptions, Params } from "./url.js";

/** Everything has a default. Names as in y-partyserver. */
export interface ProviderOptions extends AddressOptions {
  /** Whether to connect at once; true unless it is given. */
  readonly connect?: boolean;
  /** For the query of each connection; a function is asked anew each time, which is the place for a token. */
  readonly params?: Params | (() => Params | Promise<Params>);
  /** One that exists already. Its interval is stopped when the provider first connects. */
  readonly awareness?: Awareness;
  /** The label of this client on each of its connections; made up unless it is given. */
  readonly connectionId?: string;
  /** Where the platform has no WebSocket of its own. */
  readonly WebSocketPolyfill?: typeof WebSocket | null;
  /** Asks the server for what this copy lacks again and again, in milliseconds; never unless it is given. */
  readonly resyncInterval?: number;
  /** The longest pause between two attempts to connect, in milliseconds; 30 000 unless it is given. */
  readonly maxBackoffTime?: number;
  /** Whether tabs of one browser talk only through the server; true where there is no page. */
  readonly disableBc?: boolean;
  /** Whether the browser asks before it closes a page with unsaved changes; false unless it is given. */
  readonly warnOnClose?: boolean;
  /** The epoch of the copy that is in `doc`, where one was kept: a copy of an earlier life is refused with 4409. */
  readonly epoch?: string;
}

/** Something went wrong that the provider could not prevent. */
export interface ProviderError {
  /**
   * - `apply`: an update or presence threw when it was applied, or an observer of the application did. The line stays.
   * - `protocol`: the server sent what cannot be read. The line is given up, and opened again after a pause.
   * - `too-large`: the server refused a frame for its size. No connection is made before the next `connect()`; the edits
   *   are kept and still unsaved.
   * - `params`: `params` threw. It is asked again after a pause.
   * - `socket`: no socket can be made of the URL, or at all. No connection is made before the next `connect()`.
   * - `message-dropped`: too many application messages wait for the line; `cause` is the one that was dropped.
   */
  readonly type: "apply" | "protocol" | "too-large" | "params" | "socket" | "message-dropped";
  readonly cause: unknown;
}

/** What a provider tells, `Provider` being its class. */
export interface ProviderEvents<Provider> {
  status: (event: { readonly status: "connecting" | "connected" | "disconnected" }) => void;
  /** Whether everything that the server had is here. */
  synced: (isSynced: boolean) => void;
  /** The same as `synced`, as in y-websocket. */
  sync: (isSynced: boolean) => void;
  /** Whether all that was made here is stored. */
  saved: (isSaved: boolean) => void;
  /** A socket is gone; `event` is null when it was given up here. */
  "connection-close": (event: CloseEvent | null, provider: Provider) => void;
  "connection-error": (event: Event, provider: Provider) => void;
  "custom-message": (message: string) => void;
  /** The server refused for good. No connection is made before the next `connect()`. */
  closed: (refusal: Refusal, provider: Provider) => void;
  /** A change was refused: it stays unsaved, and goes with the next one and with the next connection. */
  denied: (event: { readonly reason: string }) => void;
  /** What the room lets this client do. */
  access: (access: AccessLevel | null) => void;
  /** The life of the document, as soon as it is known: what a copy in the browser is to be kept under. */
  epoch: (epoch: string | null) => void;
  error: (error: ProviderError) => void;
}
