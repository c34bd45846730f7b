// Refusing over HTTP, before anything is accepted or written. Stock providers back off from a refused upgrade, while
// one that is accepted and then closed makes them come back at once, for ever.
import { CloseCode } from "../protocol/close-code.js";
import { encodeServerControl, ownClientParam } from "../protocol/control.js";

/** A refusal in one sentence. Nothing of the request is repeated in it. */
export function refuse(status: number, sentence: string, headers: HeadersInit = {}): Response {
  const response = new Response(`${sentence}\n`, { status, headers });
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.headers.set("Cache-Control", "no-store");
  return response;
}

/** A refusal after which it is right to come back. */
export function refuseForNow(sentence: string): Response {
  return refuse(503, sentence, { "Retry-After": "2" });
}

/** The close code that says the same as an HTTP status. */
function closeCodeFor(status: number): CloseCode {
  const exact = Object.values(CloseCode).find((code) => code === 4000 + status);
  if (exact !== undefined) return exact;
  if (status === 429) return CloseCode.tooManyRequests;
  return status < 500 ? CloseCode.forbidden : CloseCode.tryAgain;
}

/**
 * Gives a refusal the form that the client can read. A browser does not show why an upgrade was refused, so those who
 * announce that they read close codes are let in and told; everybody else would come back at once.
 */
export async function refuseReadably(request: Request, refusal: Response): Promise<Response> {
  const isUpgrade = request.headers.get("Upgrade")?.toLowerCase() === "websocket";
  const isOwn = new URL(request.url).searchParams.has(ownClientParam);
  if (!isUpgrade || !isOwn || refusal.status < 400) return refusal;
  const code = closeCodeFor(refusal.status);
  const reason = cutReason((await refusal.text()).trim());
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  server.send(encodeServerControl({ type: "closing", code, reason }));
  server.close(code, reason);
  return acceptSocket(request, client);
}

/** Accepts an upgrade. A client that offers subprotocols (perhaps with a token among them) drops one that picks none. */
export function acceptSocket(request: Request, webSocket: WebSocket): Response {
  const offered = request.headers.get("Sec-WebSocket-Protocol")?.split(",")[0]?.trim() ?? "";
  const headers: HeadersInit = offered === "" ? {} : { "Sec-WebSocket-Protocol": offered };
  return new Response(null, { status: 101, webSocket, headers });
}

/** A close reason has at most 123 bytes (RFC 6455, 5.5). */
const maxReasonBytes = 123;

function cutReason(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxReasonBytes));
  return text.slice(0, read);
}

/** How long a client that was closed for breaking a rule is refused the first time, in milliseconds. */
const firstPenaltyMs = 2_000;
/** Each further time doubles it, up to this. */
const maxPenaltyMs = 64_000;
/** Whoever behaves for this long after a penalty begins anew, in milliseconds. */
const forgetAfterMs = 10_000;
/** So many faults are forgiven to those who may share an address: one of them must not lock the others out. */
const forgivenFaults = 2;
/** More clients than that are not remembered: the oldest is forgotten. */
const maxPenalties = 1_000;

/** By what a client is known that comes back: its secret, its subject, or an origin that several may share. */
export interface KnownBy {
  readonly secretHash: string | null;
  readonly subject: string | null;
  readonly origin: string;
}

interface Penalty {
  readonly code: number;
  readonly faults: number;
  readonly until: number;
  readonly forgetAt: number;
}

/**
 * Stock clients that were closed with 44xx would come back at once with the same frame, since they take an open socket for
 * success. A refused upgrade makes them back off.
 */
export class Penalties {
  readonly #byClient = new Map<string, Penalty>();

  /** Remembers a client for a while. `now` in milliseconds since 1970. */
  add(client: KnownBy, code: number, now: number): void {
    const key = penaltyKey(client);
    const before = this.#byClient.get(key);
    const faults = before !== undefined && now < before.forgetAt ? before.faults + 1 : 1;
    const isShared = client.secretHash === null && client.subject === null;
    const counted = isShared ? faults - forgivenFaults : faults;
    const lengthMs = counted > 0 ? Math.min(firstPenaltyMs * 2 ** (counted - 1), maxPenaltyMs) : 0;
    const until = now + lengthMs;
    this.#byClient.delete(key);
    this.#byClient.set(key, { code, faults, until, forgetAt: until + Math.max(lengthMs, forgetAfterMs) });
    if (this.#byClient.size <= maxPenalties) return;
    const [oldest] = this.#byClient.keys();
    if (oldest !== undefined) this.#byClient.delete(oldest);
  }

  /** The refusal for a client that is still remembered, else null. */
  check(client: KnownBy, now: number): Response | null {
    const penalty = this.#byClient.get(penaltyKey(client));
    if (penalty === undefined || penalty.until <= now) return null;
    return refuse(
      penalty.code === CloseCode.tooLarge ? 413 : 400,
      `The last connection of this client was closed with ${penalty.code}. Try again in a while.`,
      { "Retry-After": String(Math.ceil((penalty.until - now) / 1000)) },
    );
  }
}

function penaltyKey({ secretHash, subject, origin }: KnownBy): string {
  if (secretHash !== null) return `secret ${secretHash}`;
  return subject === null ? `origin ${origin}` : `subject ${subject}`;
}
