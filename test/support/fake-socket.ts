// A network without a network: WebSockets whose far end is held by the test, for providers under fake timers. Frames are
// delivered at once; a `Wire` between socket and server may hold them back.
import {
  controlVersion,
  decodeClientControl,
  encodeServerControl,
  isControlFrame,
} from "../../src/protocol/control.js";
import type { ClientControl, ServerControl, ServerHello } from "../../src/protocol/control.js";
import {
  customMessagePrefix,
  decodeClientMessage,
  encodeSyncStep1,
  encodeSyncStep2,
} from "../../src/protocol/message.js";
import type { ClientMessage } from "../../src/protocol/message.js";

/** The update that holds nothing. */
export const nothing = Uint8Array.of(0, 0);
/** The vector of somebody who has nothing. */
export const nobody = Uint8Array.of(0);

/** What a client sent, decoded strictly. */
export type Sent =
  | ClientMessage
  | ClientControl
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "ping" };

/** One socket: the client's end is the WebSocket, the rest is the server's. */
export class FakeSocket extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;

  readonly url: string;
  readyState = 0;
  binaryType = "blob";
  /** What the client sent, as it came. */
  readonly frames: (Uint8Array | string)[] = [];
  /** Called for each frame of the client. */
  onFrame: ((frame: Uint8Array | string) => void) | null = null;
  /** Called when the client closes. */
  onClientClose: (() => void) | null = null;

  constructor(url: string | URL) {
    super();
    this.url = String(url);
  }

  // The client's end.

  send(data: Uint8Array | string): void {
    if (this.readyState === 0) throw new Error("InvalidStateError: still connecting");
    if (this.readyState > 1) return;
    const frame = typeof data === "string" ? data : Uint8Array.from(data);
    this.frames.push(frame);
    this.onFrame?.(frame);
  }

  close(): void {
    if (this.readyState > 1) return;
    this.readyState = 2;
    this.onClientClose?.();
  }

  // The server's end.

  accept(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }

  /** As when there is no server, or it answers with HTML. */
  refuse(): void {
    this.dispatchEvent(new Event("error"));
    this.drop(1006);
  }

  deliver(data: Uint8Array | string): void {
    if (this.readyState > 1) return;
    const copy = typeof data === "string" ? data : Uint8Array.from(data).buffer;
    this.dispatchEvent(new MessageEvent("message", { data: copy }));
  }

  drop(code: number, reason = ""): void {
    this.readyState = 3;
    this.dispatchEvent(new CloseEvent("close", { code, reason, wasClean: code !== 1006 }));
  }

  say(message: ServerControl): void {
    this.deliver(encodeServerControl(message));
  }

  sayHello(hello: Partial<ServerHello> = {}): void {
    const defaults = { epoch: "e1", head: 0, access: "write", maxFrameBytes: 1_048_576 } as const;
    this.say({ type: "hello", version: controlVersion, ...defaults, ...hello });
  }

  /** Opens as a room does: asks for `vector`, says hello, and has nothing to give but `update`. */
  beRoom(hello: Partial<ServerHello> = {}, vector: Uint8Array = nobody, update: Uint8Array = nothing): void {
    this.accept();
    this.deliver(encodeSyncStep1(vector));
    this.sayHello(hello);
    this.deliver(encodeSyncStep2(update));
  }

  ack(saved: number, head = saved): void {
    this.say({ type: "ack", accepted: saved, saved, head });
  }

  /** What the client sent since the last call. */
  take(): Sent[] {
    return this.frames.splice(0).map(decodeSent);
  }

  /** The kinds of what the client sent since the last call. */
  takeTypes(): string[] {
    return this.take().map(({ type }) => type);
  }
}

/** All sockets that were made. */
export class FakeNetwork {
  readonly sockets: FakeSocket[] = [];
  /** Called for each new socket, after the task that made it. */
  onSocket: ((socket: FakeSocket) => void) | null = null;
  /** To be given to a provider. */
  readonly WebSocket: typeof WebSocket;

  constructor() {
    const { sockets } = this;
    const announce = (socket: FakeSocket) => queueMicrotask(() => this.onSocket?.(socket));
    const Socket = class extends FakeSocket {
      constructor(url: string | URL) {
        super(url);
        sockets.push(this);
        announce(this);
      }
    };
    // A provider uses no more of a WebSocket than this.
    this.WebSocket = Socket as unknown as typeof WebSocket;
  }

  /** The latest socket. */
  get last(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error("No socket was made.");
    return socket;
  }
}

/** Decodes a frame of a client. @throws ProtocolError */
export function decodeSent(frame: Uint8Array | string): Sent {
  if (frame === "ping") return { type: "ping" };
  if (typeof frame === "string") return { type: "text", text: frame.replace(customMessagePrefix, "") };
  return isControlFrame(frame) ? decodeClientControl(frame) : decodeClientMessage(frame);
}
