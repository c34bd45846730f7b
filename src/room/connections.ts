// The accepted WebSockets of a room, as a list of our own: PartyServer's deserialises every attachment each time it is
// walked. Rebuilt from the attachments after a wake, on first use.
import { cutFrame, maxFrameBytes } from "../protocol/control.js";
import {
  ConnectionFlag,
  readAttachment,
  writeAttachment,
  type OwnedPerson,
  type RoomAttachment,
} from "./attachment.js";

/** One accepted WebSocket with its part of the attachment. */
export class RoomConnection {
  readonly socket: WebSocket;
  readonly subject: string | null;
  /** The highest number of an update of this connection that was taken in, with all before it; 0 before the first. */
  accepted = 0;
  /** The highest that was stored, and told so. */
  saved = 0;
  /** Whether it was cleaned up after: nothing is sent to it or written for it any more. */
  isGone = false;
  /** Whether an update did not follow, so that later ones acknowledge nothing until the whole has come. */
  isBehind = false;
  readonly origin: string;
  readonly #people: Map<number, OwnedPerson>;
  #flags: number;
  #secretHash: string | null;
  #cursor: number;

  constructor(socket: WebSocket, attachment: RoomAttachment) {
    this.socket = socket;
    this.subject = attachment.subject;
    this.#secretHash = attachment.secretHash;
    this.#cursor = attachment.cursor;
    this.origin = attachment.origin;
    this.#flags = attachment.flags;
    this.#people = new Map(attachment.people);
  }

  /** The hash of the secret by which its next connection takes its people over; null when it has none. */
  get secretHash(): string | null {
    return this.#secretHash;
  }

  /** The sequence number up to which it has everything; 0 for none, and once its sync step 1 was answered. */
  get cursor(): number {
    return this.#cursor;
  }

  /** It said hello. */
  greet(secretHash: string | null, cursor: number): void {
    this.#secretHash = secretHash;
    this.#cursor = cursor;
    this.#flags |= ConnectionFlag.own | ConnectionFlag.text;
    this.#save();
  }

  /** Its sync step 1 was answered. */
  markAnswered(): void {
    this.#cursor = 0;
    this.#flags |= ConnectionFlag.answered;
    this.#save();
  }

  /** The clientIDs that it owns. */
  get people(): ReadonlyMap<number, OwnedPerson> {
    return this.#people;
  }

  /** Whether a bit of {@link ConnectionFlag} is set. */
  has(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  /** Sets or clears a flag, in the attachment too. */
  mark(flag: number, on = true): void {
    const flags = on ? this.#flags | flag : this.#flags & ~flag;
    if (flags === this.#flags) return;
    this.#flags = flags;
    this.#save();
  }

  /** Takes a person, or the news of one. */
  setPerson(clientID: number, person: OwnedPerson): void {
    this.#people.set(clientID, person);
    this.#save();
  }

  /** Lets go of a person. */
  deletePerson(clientID: number): void {
    if (this.#people.delete(clientID)) this.#save();
  }

  /**
   * Sends a frame, in parts where it is too large for one of our own. Nothing when the socket is not open: one broken
   * socket must not stop the others.
   */
  send(frame: Uint8Array | string): void {
    if (this.isGone || this.socket.readyState !== WebSocket.OPEN) return;
    const isLarge = typeof frame !== "string" && frame.byteLength > maxFrameBytes;
    const frames = isLarge && this.has(ConnectionFlag.own) ? cutFrame(frame, maxFrameBytes) : [frame];
    try {
      for (const part of frames) this.socket.send(part);
    } catch {
      // It closed in the meantime: its close event follows, and it asks for what it missed when it comes back.
    }
  }

  #save(): void {
    const { subject, secretHash, origin, cursor, people } = this;
    if (this.isGone) return;
    writeAttachment(this.socket, { flags: this.#flags, subject, secretHash, origin, cursor, people });
  }
}

/** All connections of a room. */
export class Connections {
  readonly #list: () => readonly WebSocket[];
  readonly #gone = new WeakSet<WebSocket>();
  #bySocket: Map<WebSocket, RoomConnection> | null = null;

  /** `list` returns the platform's accepted sockets; it is called once after a wake. */
  constructor(list: () => readonly WebSocket[]) {
    this.#list = list;
  }

  /** Those that were let in and are not gone. */
  [Symbol.iterator](): IterableIterator<RoomConnection> {
    return this.#load().values();
  }

  get size(): number {
    return this.#load().size;
  }

  /**
   * The connection over a socket; undefined when it was never let in, or is gone. One that closed while the room slept is
   * not listed by the platform any more, but its last frames and its close are still to come.
   */
  get(socket: WebSocket): RoomConnection | undefined {
    const connections = this.#load();
    const known = connections.get(socket);
    if (known !== undefined || this.#gone.has(socket)) return known;
    const late = readConnection(socket);
    if (late !== undefined) connections.set(socket, late);
    return late;
  }

  /** Takes in a socket that was just accepted. */
  add(socket: WebSocket, attachment: RoomAttachment): RoomConnection {
    const connections = this.#load();
    writeAttachment(socket, attachment);
    const connection = new RoomConnection(socket, attachment);
    connections.set(socket, connection);
    return connection;
  }

  /** Forgets a socket that closed, and returns what it was; undefined when it was never let in or is gone already. */
  remove(socket: WebSocket): RoomConnection | undefined {
    const connection = this.get(socket);
    if (connection === undefined) return undefined;
    this.#load().delete(socket);
    this.#gone.add(socket);
    connection.isGone = true;
    writeAttachment(socket, goneAttachment);
    return connection;
  }

  #load(): Map<WebSocket, RoomConnection> {
    if (this.#bySocket !== null) return this.#bySocket;
    const bySocket = new Map<WebSocket, RoomConnection>();
    for (const socket of this.#list()) {
      const connection = readConnection(socket);
      if (connection !== undefined) bySocket.set(socket, connection);
    }
    return (this.#bySocket = bySocket);
  }
}

const goneAttachment: RoomAttachment = {
  flags: ConnectionFlag.gone,
  subject: null,
  secretHash: null,
  origin: "",
  cursor: 0,
  people: new Map(),
};

function readConnection(socket: WebSocket): RoomConnection | undefined {
  const attachment = readAttachment(socket);
  if (attachment === null) return undefined;
  const isOut = (attachment.flags & (ConnectionFlag.refused | ConnectionFlag.gone)) !== 0;
  return isOut ? undefined : new RoomConnection(socket, attachment);
}
