// From an upgrade request to an accepted socket: who it is, under which id, with which tags. PartyServer accepts and
// calls the application in between; what goes wrong there must end in a refusal over HTTP, not in an open socket with
// nobody behind it and a stack trace in the client's hands.
import type { Connection, ConnectionContext } from "partyserver";
import { CloseCode } from "../protocol/close-code.js";
import { ConnectionFlag, writeAttachment } from "./attachment.js";
import type { Authorization } from "./authorization.js";
import { readPartyId } from "./party-server.js";
import { acceptSocket, refuseForNow } from "./refusal.js";
import { report } from "./report.js";
import { closeSocket, type Newcomer, type RoomCore } from "./room-core.js";
import type { ApplicationHooks } from "./server-hooks.js";
import { encodeShortHash } from "./short-hash.js";

/** What admission needs of a room. */
export interface AdmissionHost {
  readonly ctx: DurableObjectState;
  readonly core: RoomCore;
  readonly room: string;
  /** The application's hooks. */
  application(): ApplicationHooks;
  /** Resolves when the room has started, with the props that came with `request`. Rejects when it cannot. */
  ensureStarted(request: Request): Promise<void>;
  /** What the application gets to see of a connection. */
  handOut(connection: Connection): Connection;
}

/** An upgrade that is under way. */
interface Upgrade {
  /** The request as the client sent it, query and headers included: for the application's hooks only. */
  readonly request: Request;
  readonly newcomer: Newcomer;
  /** Whether PartyServer has asked about it. */
  hasReachedServer: boolean;
  /** What failed, once something did; PartyServer itself, until it has got to the end. */
  failure: UpgradeFailure | null;
}

interface UpgradeFailure {
  readonly hook: "getConnectionTags" | "accept" | "onConnect";
  readonly error: unknown;
}

/** Lets connections into a room. */
export class Admission {
  readonly #host: AdmissionHost;
  /** The upgrades under way, by the connection id that was made for them. */
  readonly #upgrades = new Map<string, Upgrade>();

  constructor(host: AdmissionHost) {
    this.#host = host;
  }

  /** Accepts an upgrade, or refuses it. `passOn` is PartyServer's `fetch`. Throws when the room cannot start. */
  async admit(
    request: Request,
    { access, subject = null }: Authorization,
    passOn: (request: Request) => Promise<Response>,
  ): Promise<Response> {
    const secretHash = await hashSecret(request);
    const origin = await hashOrigin(request);
    const penalty = this.#host.core.penalties.check({ secretHash, subject, origin }, Date.now());
    if (penalty !== null) return penalty;
    await this.#host.ensureStarted(request);
    // Only y-partyserver's provider sends `_pk`, and it understands text frames.
    const newcomer = { access, subject, secretHash, origin, takesText: secretHash !== null };
    const upgrade: Upgrade = { request, newcomer, hasReachedServer: false, failure: null };
    const id = crypto.randomUUID();
    this.#upgrades.set(id, upgrade);
    try {
      const response = await passOn(requestForPartyServer(request, id));
      // A socket that a base class has accepted by itself is its own.
      if (!upgrade.hasReachedServer) return response;
      const { webSocket } = response;
      if (upgrade.failure === null) return webSocket === null ? response : acceptSocket(request, webSocket);
      this.#expel(id, upgrade.failure);
      webSocket?.accept();
      webSocket?.close();
      return refuseForNow("The room cannot accept connections now. Try again later.");
    } finally {
      this.#upgrades.delete(id);
    }
  }

  /** PartyServer asks for the tags of a connection, before it is accepted. */
  async tag(connection: Connection): Promise<string[]> {
    const upgrade = this.#upgrades.get(connection.id);
    if (upgrade === undefined) return [];
    upgrade.hasReachedServer = true;
    upgrade.failure = { hook: "accept", error: undefined };
    const { getConnectionTags } = this.#host.application();
    if (getConnectionTags === undefined) return [];
    try {
      return checkTags(connection, await getConnectionTags(connection, contextFor(upgrade)));
    } catch (error) {
      upgrade.failure = { hook: "getConnectionTags", error };
      return [];
    }
  }

  /** PartyServer has accepted a connection. */
  async connect(connection: Connection): Promise<void> {
    const upgrade = this.#upgrades.get(connection.id);
    if (upgrade === undefined || upgrade.failure?.hook === "getConnectionTags") return;
    upgrade.failure = null;
    try {
      this.#host.core.connect(connection, upgrade.newcomer);
      const { onConnect } = this.#host.application();
      await onConnect?.(this.#host.handOut(connection), contextFor(upgrade));
    } catch (error) {
      upgrade.failure = { hook: "onConnect", error };
    }
  }

  #expel(id: string, { hook, error }: NonNullable<Upgrade["failure"]>): void {
    report("error", this.#host.room, `a connection was refused: ${hook} failed`, error);
    for (const socket of this.#host.ctx.getWebSockets(id)) {
      this.#host.core.disconnect(socket);
      // Without an attachment, as PartyServer leaves it when it fails halfway, it is nobody's anyway.
      if (readPartyId(socket) !== null) markRefused(socket);
      closeSocket(socket, CloseCode.tryAgain, "not accepted");
    }
  }
}

/** PartyServer keeps the URL of an upgrade in the attachment. A longer path than this is left out, in UTF-16 units. */
const maxPathLength = 1_024;

/** The request as PartyServer sees it: it keeps the URL, so no query; and it takes `_pk` for the id. */
function requestForPartyServer(request: Request, connectionId: string): Request {
  const url = new URL(request.url);
  if (url.pathname.length > maxPathLength) url.pathname = "/";
  url.search = new URLSearchParams({ _pk: connectionId }).toString();
  return new Request(url, request);
}

/** What the application's hooks are given in place of PartyServer's request. */
function contextFor(upgrade: Upgrade): ConnectionContext {
  return { request: upgrade.request };
}

/** A client's `_pk` is its label on one connection after the other, so it tells who comes back. It is kept as a hash. */
async function hashSecret(request: Request): Promise<string | null> {
  const secret = new URL(request.url).searchParams.get("_pk");
  return secret === null || secret === "" ? null : hash(secret);
}

/** A browser, as far as its address and its kind tell: several people may share it. */
function hashOrigin({ headers }: Request): Promise<string> {
  return hash(`${headers.get("CF-Connecting-IP") ?? ""} ${headers.get("User-Agent") ?? ""}`);
}

async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return encodeShortHash(new Uint8Array(digest));
}

/** The platform's limits on tags, PartyServer's own included (https://developers.cloudflare.com/durable-objects/api/state/). */
const maxTags = 10;
const maxTagBytes = 256;

/**
 * Checks what `getConnectionTags` returned, before anything is accepted.
 * @throws RangeError naming the limit
 */
function checkTags(connection: Connection, tags: readonly string[]): string[] {
  const own = tags.filter((tag) => tag !== connection.id);
  if (own.length > maxTags - 1) {
    throw new RangeError(`getConnectionTags must return at most ${maxTags - 1} tags.`);
  }
  for (const tag of own) {
    const bytes = typeof tag === "string" ? new TextEncoder().encode(tag).byteLength : 0;
    if (bytes === 0 || bytes > maxTagBytes) {
      throw new RangeError(`A connection tag must be a string of 1 to ${maxTagBytes} bytes in UTF-8.`);
    }
  }
  return own;
}

/** Marks a socket that was accepted and is refused after all: nothing that still comes from it counts. */
function markRefused(socket: WebSocket): void {
  writeAttachment(socket, {
    flags: ConnectionFlag.refused,
    subject: null,
    secretHash: null,
    origin: "",
    cursor: 0,
    people: new Map(),
  });
}
