// The accepted WebSockets of a room, as a list of our own: PartyServer's deserialises every attachment each time it is
// walked. Rebuilt from the attachments after a wake, on first use.
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
  readonly secretHash: string | null;
  readonly client: string;
  readonly #people: Map<number, OwnedPerson>;
  #flags: number;

  constructor(socket: WebSocket, attachment: RoomAttachment) {
    this.socket = socket;
    this.subject = attachment.subject;
    this.secretHash = attachment.secretHash;
    this.client = attachment.client;
    this.#flags = attachment.flags;
    this.#people = new Map(attachment.people);
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

  /** Sends a frame, unless the socket is not open. One broken socket must not stop the others. */
  send(frame: Uint8Array | string): void {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    try {
      this.socket.send(frame);
    } catch {
      // It closed in the meantime: its close event follows, and it asks for what it missed when it comes back.
    }
  }

  #save(): void {
    const { subject, secretHash, client, people } = this;
    if (this.socket.readyState === WebSocket.CLOSED) return;
    writeAttachment(this.socket, { flags: this.#flags, subject, secretHash, client, people });
  }
}

/** All connections of a room. */
export class Connections {
  readonly #list: () => readonly WebSocket[];
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

  get(socket: WebSocket): RoomConnection | undefined {
    return this.#load().get(socket);
  }

  /** Takes in a socket that was just accepted. */
  add(socket: WebSocket, attachment: RoomAttachment): RoomConnection {
    const connections = this.#load();
    writeAttachment(socket, attachment);
    const connection = new RoomConnection(socket, attachment);
    connections.set(socket, connection);
    return connection;
  }

  /**
   * Forgets a socket that closed, and returns what it was; undefined when it was never let in or is gone already. The
   * platform does not list a socket any more while it tells of its close, which may be what woke the room.
   */
  remove(socket: WebSocket): RoomConnection | undefined {
    const connection = this.get(socket) ?? readConnection(socket);
    if (connection === undefined) return undefined;
    this.#load().delete(socket);
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
  client: "",
  people: new Map(),
};

function readConnection(socket: WebSocket): RoomConnection | undefined {
  const attachment = readAttachment(socket);
  if (attachment === null) return undefined;
  const isOut = (attachment.flags & (ConnectionFlag.refused | ConnectionFlag.gone)) !== 0;
  return isOut ? undefined : new RoomConnection(socket, attachment);
}
