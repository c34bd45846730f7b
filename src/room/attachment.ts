// What a connection remembers through hibernation: one object in the WebSocket's attachment, under a key of our own
// beside PartyServer's and the application's. Owns its layout and the write; what the fields mean is connections' and
// presence's business.
//
// PartyServer caches an attachment before the platform has accepted it, and its `setState` rewrites the whole from that
// cache. So `state` and its relatives are redefined on every connection that is handed out, as read-modify-write on
// the raw attachment.
import type { Connection } from "partyserver";

const layoutVersion = 1;
const roomKey = "__dormouse";
const stateKey = "__user";
const reserveKey = "__reserve";

/** Bits of {@link RoomAttachment.flags}. */
export const ConnectionFlag = {
  /** May not change the document. */
  readOnly: 1,
  /** Its sync step 1 was answered: it gets what others send. */
  answered: 2,
  /** Its first sync step 2 has arrived. */
  caughtUp: 4,
  /** Understands text frames: others crash on one. */
  text: 8,
  /** Renews its own presence, and drops people who do not. */
  renews: 16,
  /** Was told once that its writes are refused. */
  told: 32,
  /** Was refused while it was being accepted: nothing that still arrives from it counts. */
  refused: 64,
  /** Everything was cleaned up after it. */
  gone: 128,
  /** Said hello: it is one of our own clients. */
  own: 256,
} as const;

/** One clientID that a connection owns. */
export interface OwnedPerson {
  /** The last clock of its own. */
  readonly own: number;
  /** The last clock that was told to the others. */
  readonly told: number;
  /** The state as JSON; null when it is too large to be kept here. */
  readonly state: string | null;
  /** Tells equal states from others where `state` is null. */
  readonly stateHash: number;
  /** When it was last told to the others, in milliseconds since 1970. */
  readonly toldAt: number;
}

/** Our part of an attachment. */
export interface RoomAttachment {
  readonly flags: number;
  /** Who it is to `onAuthorize`; null when nobody is known. */
  readonly subject: string | null;
  /** The hash of a secret that only this client and its next connection know; null when it has none. */
  readonly secretHash: string | null;
  /** Tells browsers apart, where nothing better does: a hash of address and kind of browser. Several people may share it. */
  readonly origin: string;
  /** The sequence number up to which it has everything, until its sync step 1 was answered; 0 for none. */
  readonly cursor: number;
  readonly people: ReadonlyMap<number, OwnedPerson>;
}

/** States up to this many UTF-16 units are kept in the attachment, all states of a connection together. */
const maxKeptStates = 3_072;

/** The application's own `connection.state` does not fit into the attachment. The old state is still there. */
export class StateTooLargeError extends RangeError {
  override readonly name = "StateTooLargeError";
}

/** The largest `connection.state` in bytes of JSON; the rest of the platform's 16 384 is the room's. */
const maxStateBytes = 8_192;

/** What our part may need beyond what it has: 64 people without their states, and the rest. In Latin-1, a byte a unit. */
const reserve = "x".repeat(4_096);

/** Reads our part of an attachment; null when there is none. Untrusted only in its age: other layouts are ignored. */
export function readAttachment(socket: WebSocket): RoomAttachment | null {
  const stored = readRaw(socket)[roomKey];
  if (!isRecord(stored) || stored["v"] !== layoutVersion) return null;
  const { f: flags, i: subject, r: secretHash, o: origin, c: cursor, a: owned } = stored;
  return {
    flags: typeof flags === "number" ? flags : 0,
    subject: typeof subject === "string" ? subject : null,
    secretHash: typeof secretHash === "string" ? secretHash : null,
    origin: typeof origin === "string" ? origin : "",
    cursor: typeof cursor === "number" ? cursor : 0,
    people: Array.isArray(owned) ? parsePeople(owned) : new Map(),
  };
}

/**
 * Writes our part of an attachment and leaves the rest as it is.
 * @throws what the platform throws when the attachment is too large even without any presence states
 */
export function writeAttachment(socket: WebSocket, attachment: RoomAttachment): void {
  const raw = readRaw(socket);
  try {
    serializeRaw(socket, { ...raw, [roomKey]: serialize(attachment, maxKeptStates) });
  } catch {
    // The application's state takes more room than its JSON: states are then asked from their owners.
    serializeRaw(socket, { ...raw, [roomKey]: serialize(attachment, 0) });
  }
}

function serialize(attachment: RoomAttachment, maxStates: number): Record<string, unknown> {
  const { flags, subject, secretHash, origin, cursor, people } = attachment;
  const stored: Record<string, unknown> = { v: layoutVersion, f: flags, o: origin };
  if (subject !== null) stored["i"] = subject;
  if (secretHash !== null) stored["r"] = secretHash;
  if (cursor > 0) stored["c"] = cursor;
  if (people.size > 0) stored["a"] = serializePeople(people, maxStates);
  return stored;
}

/** Connections that were already given their own `state`. */
const isolated = new WeakSet<WebSocket>();

/**
 * Gives a connection of PartyServer's its `state`, `setState`, `serializeAttachment` and `deserializeAttachment` over
 * the application's part of the attachment alone, and a `close` that calls `onClose` as well. Doing it twice changes
 * nothing.
 */
export function isolateState<T extends Connection>(connection: T, onClose: () => void): T {
  if (isolated.has(connection)) return connection;
  isolated.add(connection);
  const read = (): unknown => readRaw(connection)[stateKey] ?? null;
  const write = (state: unknown): void => writeState(connection, state);
  Object.defineProperties(connection, {
    state: { configurable: true, get: read },
    setState: {
      configurable: true,
      value: (next: unknown): unknown => {
        const state: unknown = isUpdater(next) ? next(read()) : next;
        write(state);
        return state;
      },
    },
    deserializeAttachment: { configurable: true, value: read },
    serializeAttachment: { configurable: true, value: write },
    close: {
      configurable: true,
      value: (code?: number, reason?: string): void => {
        // First, since it throws for a code or a reason that cannot be sent: the connection is then still one.
        WebSocket.prototype.close.call(connection, code, reason);
        onClose();
      },
    },
  });
  return connection;
}

function writeState(socket: WebSocket, state: unknown): void {
  const raw = readRaw(socket);
  const tooLarge = `The state of a connection must not be larger than ${maxStateBytes} bytes.`;
  if (jsonBytes(state) > maxStateBytes) throw new StateTooLargeError(tooLarge);
  try {
    writeWithRoom(socket, raw, state ?? null);
  } catch (error) {
    serializeRaw(socket, raw);
    // A function or a class instance is refused by the platform as DataCloneError: that is the caller's to see.
    if (error instanceof DOMException && error.name === "DataCloneError") throw error;
    throw new StateTooLargeError(tooLarge, { cause: error });
  }
}

/**
 * Writes the application's state if it leaves room for what the room itself may have to write later. What was read back
 * may take more bytes than what was written (an array of fractions does), so that is tried as well.
 */
function writeWithRoom(socket: WebSocket, raw: Record<string, unknown>, state: unknown): void {
  serializeRaw(socket, { ...raw, [stateKey]: state, [reserveKey]: reserve });
  const { [reserveKey]: _, ...written } = readRaw(socket);
  serializeRaw(socket, { ...written, [reserveKey]: reserve });
  serializeRaw(socket, written);
}

/** The size as JSON in bytes; 0 for what JSON cannot say, where the platform's own limit decides. */
function jsonBytes(state: unknown): number {
  try {
    return new TextEncoder().encode(JSON.stringify(state) ?? "").byteLength;
  } catch {
    return 0;
  }
}

function parsePeople(owned: readonly unknown[]): Map<number, OwnedPerson> {
  const people = new Map<number, OwnedPerson>();
  for (const entry of owned) {
    if (!Array.isArray(entry)) continue;
    const [clientID, own, told, toldAt, stateHash, state] = entry as unknown[];
    if (typeof clientID !== "number" || typeof own !== "number" || typeof told !== "number") continue;
    people.set(clientID, {
      own,
      told,
      toldAt: typeof toldAt === "number" ? toldAt : 0,
      stateHash: typeof stateHash === "number" ? stateHash : 0,
      state: typeof state === "string" ? state : null,
    });
  }
  return people;
}

function serializePeople(people: ReadonlyMap<number, OwnedPerson>, maxStates: number): unknown[] {
  let room = maxStates;
  return Array.from(people, ([clientID, { own, told, toldAt, stateHash, state }]) => {
    const entry: unknown[] = [clientID, own, told, toldAt, stateHash];
    if (state === null || state.length > room) return entry;
    room -= state.length;
    return [...entry, state];
  });
}

function readRaw(socket: WebSocket): Record<string, unknown> {
  const raw: unknown = WebSocket.prototype.deserializeAttachment.call(socket);
  return isRecord(raw) ? raw : {};
}

function serializeRaw(socket: WebSocket, raw: Record<string, unknown>): void {
  WebSocket.prototype.serializeAttachment.call(socket, raw);
}

function isUpdater(value: unknown): value is (state: unknown) => unknown {
  return typeof value === "function";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
