// Refusing over HTTP, before anything is accepted or written. Stock providers back off from a refused upgrade, while
// one that is accepted and then closed makes them come back at once, for ever.
import { CloseCode } from "../protocol/close-code.js";

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

/** How long a client that was closed for breaking a rule is refused, in milliseconds. */
const penaltyMs = 10_000;
/** More clients than that are not remembered: the oldest is forgotten. */
const maxPenalties = 1_000;

/**
 * Stock clients that were closed with 44xx and would come back at once with the same frame. They are known by their
 * resume secret or their subject only: an address may be shared with people who did nothing.
 */
export class Penalties {
  readonly #until = new Map<string, { readonly code: number; readonly until: number }>();

  /** Remembers a client for a while. `now` in milliseconds since 1970. */
  add(client: string, code: number, now: number): void {
    this.#until.delete(client);
    this.#until.set(client, { code, until: now + penaltyMs });
    if (this.#until.size <= maxPenalties) return;
    for (const oldest of this.#until.keys()) {
      this.#until.delete(oldest);
      return;
    }
  }

  /** The refusal for a client that is still remembered, else null. */
  check(client: string | null, now: number): Response | null {
    if (client === null) return null;
    const penalty = this.#until.get(client);
    if (penalty === undefined) return null;
    if (penalty.until <= now) {
      this.#until.delete(client);
      return null;
    }
    return refuse(
      penalty.code === CloseCode.tooLarge ? 413 : 400,
      `The last connection of this client was closed with ${penalty.code}. Try again in a while.`,
      { "Retry-After": String(Math.ceil((penalty.until - now) / 1000)) },
    );
  }
}
