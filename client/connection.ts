// The line to a server: owns the socket, when to open the next one, whether the line is alive, and which closes are final.
// What is said over it is conversation.ts' business.
import { isOffline } from "./page.js";

/** A close that says not to come back. */
export interface Refusal {
  readonly code: number;
  readonly reason: string;
}

/** What a connection needs, and whom it tells. Whoever is told may connect, disconnect or refuse at once. */
export interface ConnectionHost {
  readonly WebSocket: typeof WebSocket | null;
  /** The longest pause between two attempts, in milliseconds. */
  readonly maxPauseMs: number;
  /** Asked anew for each socket. */
  createUrl(): Promise<string>;
  onConnecting(): void;
  onOpen(): void;
  onData(data: unknown): void;
  onError(event: Event): void;
  /** The socket is gone. `event` is null when it was given up here. */
  onClose(event: CloseEvent | null): void;
  onRefused(refusal: Refusal): void;
  /** No socket could be made: the URL was not to be had, or no socket can be made of it, which is final. */
  onFault(type: "params" | "socket", cause: unknown): void;
}

/** A socket must be open after this, and then every server must answer within this of silence, in milliseconds. */
const answerWithinMs = 25_000;
/** A line to a room that is silent for so long is asked whether it lives, in milliseconds … */
const pingAfterMs = 15_000;
/** … and has so long to answer. */
const pongWithinMs = 10_000;
/** A line that was answered on and lived for so long is a good one, in milliseconds. */
const provenAfterMs = 10_000;
/** The first pause is random up to this, in milliseconds; each further one up to twice that of the one before. */
const firstPauseMs = 1_000;
/** Without a network an attempt is hardly worth it, and few are left for when it is back. */
const offlinePauseMs = 10_000;
/** Never more than so many sockets … */
const maxOpenings = 8;
/** … in a minute, and a second for clocks and timers, unless a good line was among them. In milliseconds. */
const openingsWindowMs = 61_000;

const openState = 1;
/** The frame was larger than the server takes: it would be so again (RFC 6455, 7.4.1). */
export const frameTooLarge = 1009;

/** A line that is kept up, from `connect` to `disconnect`. */
export class Connection {
  shouldConnect = false;
  socket: WebSocket | null = null;
  isOpen = false;
  readonly #host: ConnectionHost;
  /** Counts attempts and ends: what belongs to an older one is ignored. */
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the latest sockets were made, by the clock that is never set. */
  #openings: number[] = [];
  #failures = 0;
  #openedAt = 0;
  #heardAt = 0;
  #isAnswered = false;
  #isRoom = false;
  #isAwaitingPong = false;

  constructor(host: ConnectionHost) {
    this.#host = host;
  }

  /** Connects now, and again whenever the line is lost. Returns when the socket is made, or will be later. */
  async connect(): Promise<void> {
    this.shouldConnect = true;
    if (this.socket === null) await this.#openIn(0);
  }

  /** Closes the line for as long as nobody connects again. */
  disconnect(): void {
    this.shouldConnect = false;
    // What was not let down by the server is not to be held against it.
    if (this.socket !== null) this.#openings.pop();
    this.#end(null);
  }

  /** Gives the line up, for good with a final code. */
  close(code = 0, reason = ""): void {
    this.#lose(null, { code, reason });
  }

  /** Sends a frame, unless the line is down. */
  send(data: Uint8Array | string): void {
    // Frames never live in shared memory.
    if (this.socket?.readyState === openState) this.socket.send(data as Uint8Array<ArrayBuffer> | string);
  }

  /** The server has shown that it speaks Yjs. One that is a room is pinged from now on. */
  trust(isRoom: boolean): void {
    this.#isAnswered = true;
    this.#isRoom = isRoom;
    this.#clearTimer();
    if (isRoom) this.#listen();
  }

  /** Something may have changed with the network, or somebody looks: ends a pause, and asks a line whether it lives. */
  hurry(): void {
    if (this.shouldConnect && !isOffline()) void this.connect();
    if (!this.#isRoom || this.#isAwaitingPong) return;
    this.#isAwaitingPong = true;
    this.send("ping");
    this.#setTimer(pongWithinMs, () => this.#lose(null));
  }

  /** Opens a socket after a pause, and not before one may be opened. */
  async #openIn(pauseMs: number): Promise<void> {
    const earliest = (this.#openings.at(-maxOpenings) ?? -Infinity) + openingsWindowMs;
    const wait = Math.max(pauseMs, earliest - performance.now());
    if (wait > 0) this.#setTimer(wait, () => void this.#open());
    else await this.#open();
  }

  async #open(): Promise<void> {
    const attempt = ++this.#attempt;
    let fault: "params" | "socket" = "params";
    this.#setTimer(answerWithinMs, () => this.#lose(null));
    try {
      const url = await this.#host.createUrl();
      if (attempt !== this.#attempt) return;
      fault = "socket";
      this.#openSocket(url);
    } catch (cause) {
      if (attempt !== this.#attempt) return;
      if (fault === "socket") this.shouldConnect = false;
      this.#lose(null);
      this.#host.onFault(fault, cause);
    }
  }

  #openSocket(url: string): void {
    if (this.#host.WebSocket === null) throw new TypeError("no WebSocket");
    const socket = new this.#host.WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.#openings = [...this.#openings.slice(1 - maxOpenings), performance.now()];
    // Listeners stay, since some sockets throw an error that nobody listens to; what an old one says is ignored.
    const isCurrent = () => this.socket === socket;
    socket.addEventListener("open", () => isCurrent() && this.#handleOpen());
    socket.addEventListener("message", ({ data }) => isCurrent() && this.#handleData(data));
    socket.addEventListener("error", (event) => isCurrent() && this.#host.onError(event));
    socket.addEventListener("close", (event) => isCurrent() && this.#lose(event, event));
    this.#host.onConnecting();
  }

  #handleOpen(): void {
    this.isOpen = true;
    this.#openedAt = this.#heardAt = performance.now();
    this.#afterSilence(answerWithinMs, () => this.#lose(null));
    this.#host.onOpen();
  }

  #handleData(data: unknown): void {
    this.#heardAt = performance.now();
    if (this.#isAwaitingPong) this.#listen();
    this.#host.onData(data);
  }

  #listen(): void {
    this.#isAwaitingPong = false;
    this.#afterSilence(pingAfterMs, () => this.hurry());
  }

  /** Does something as soon as nothing was heard for so long. */
  #afterSilence(ms: number, then: () => void): void {
    const left = this.#heardAt + ms - performance.now();
    if (left > 0) this.#setTimer(left, () => this.#afterSilence(ms, then));
    else then();
  }

  /** The line is gone, or no line came to be. */
  #lose(event: CloseEvent | null, { code, reason }: Refusal = { code: 0, reason: "" }): void {
    const isFinal = (code >= 4400 && code < 4500) || code === frameTooLarge;
    if (isFinal) this.shouldConnect = false;
    this.#failures += 1;
    if (this.#isAnswered && performance.now() - this.#openedAt >= provenAfterMs) {
      this.#failures = 1;
      this.#openings = [];
    }
    this.#end(event);
    // Whoever was told may have connected again.
    if (this.shouldConnect && this.#timer === undefined) void this.#openIn(this.#pauseMs());
    if (isFinal) this.#host.onRefused({ code, reason });
  }

  /** With full jitter: many clients lose a server at the same moment. */
  #pauseMs(): number {
    const longest = Math.min(this.#host.maxPauseMs, firstPauseMs * 2 ** (this.#failures - 1));
    return Math.max(Math.random() * longest, isOffline() ? offlinePauseMs : 0);
  }

  #end(event: CloseEvent | null): void {
    const { socket } = this;
    this.#attempt += 1;
    this.socket = null;
    this.isOpen = this.#isAnswered = this.#isRoom = this.#isAwaitingPong = false;
    this.#clearTimer();
    if (event === null) socket?.close();
    if (socket !== null) this.#host.onClose(event);
  }

  #setTimer(afterMs: number, then: () => void): void {
    this.#clearTimer();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      then();
    }, afterMs);
  }

  #clearTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
