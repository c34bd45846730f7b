// From an upgrade request to an accepted socket: who it is, under which id, with which tags. PartyServer accepts and
// calls the application in between; what goes wrong there must end in a refusal over HTTP, not in an open socket with
// nobody behind it and a stack trace in the client's hands.
import type { Connection, ConnectionContext } from "partyserver";
import { ConnectionFlag, writeAttachment } from "./attachment.js";
import type { Newcomer } from "./room-core.js";

/** An upgrade that is under way. */
export interface Admission {
  /** The request as the client sent it, query and headers included: for the application's hooks only. */
  readonly request: Request;
  readonly newcomer: Newcomer;
  /** What failed, once something did. */
  failure: AdmissionFailure | null;
}

/** Why an upgrade is refused. */
export interface AdmissionFailure {
  readonly hook: "getConnectionTags" | "onConnect";
  readonly error: unknown;
}

/** The upgrades under way, by the connection id that was made for them. */
export class Admissions {
  readonly #byId = new Map<string, Admission>();

  /** Starts one. Returns the id that PartyServer is to use. */
  start(admission: Admission): string {
    const id = crypto.randomUUID();
    this.#byId.set(id, admission);
    return id;
  }

  get(connectionId: string): Admission | undefined {
    return this.#byId.get(connectionId);
  }

  end(connectionId: string): void {
    this.#byId.delete(connectionId);
  }
}

/** The request as PartyServer sees it: it keeps the URL, so no query; and it takes `_pk` for the id. */
export function requestForPartyServer(request: Request, connectionId: string): Request {
  const url = new URL(request.url);
  url.search = new URLSearchParams({ _pk: connectionId }).toString();
  return new Request(url, request);
}

/** What the application's hooks are given in place of PartyServer's request. */
export function contextFor(admission: Admission): ConnectionContext {
  return { request: admission.request };
}

/** A client's `_pk` is its label on one connection after the other, so it tells who comes back. It is kept as a hash. */
export async function hashSecret(request: Request): Promise<string | null> {
  const secret = new URL(request.url).searchParams.get("_pk");
  return secret === null || secret === "" ? null : hash(secret);
}

/**
 * Tells whether the next upgrade comes from the same client: by its secret or its subject, else by its address and kind of
 * browser, which several people may share.
 */
export async function identifyClient(
  request: Request,
  secretHash: string | null,
  subject: string | null,
): Promise<string> {
  if (secretHash !== null) return secretHash;
  if (subject !== null) return hash(`subject ${subject}`);
  const { headers } = request;
  return hash(`address ${headers.get("CF-Connecting-IP") ?? ""} ${headers.get("User-Agent") ?? ""}`);
}

/** 96 bits of SHA-256 in base64. */
async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(digest, 0, 12)));
}

/** The platform's limits on tags, PartyServer's own included (https://developers.cloudflare.com/durable-objects/api/state/). */
const maxTags = 10;
const maxTagLength = 256;

/**
 * Checks what `getConnectionTags` returned, before anything is accepted.
 * @throws RangeError naming the limit
 */
export function checkTags(connection: Connection, tags: readonly string[]): string[] {
  const own = tags.filter((tag) => tag !== connection.id);
  if (own.length > maxTags - 1) {
    throw new RangeError(`getConnectionTags must return at most ${maxTags - 1} tags.`);
  }
  for (const tag of own) {
    if (typeof tag !== "string" || tag === "" || tag.length > maxTagLength) {
      throw new RangeError(`A connection tag must be a string of 1 to ${maxTagLength} characters.`);
    }
  }
  return own;
}

/** Marks a socket that was accepted and is refused after all: nothing that still comes from it counts. */
export function markRefused(socket: WebSocket): void {
  writeAttachment(socket, {
    flags: ConnectionFlag.refused,
    subject: null,
    secretHash: null,
    client: "",
    people: new Map(),
  });
}
