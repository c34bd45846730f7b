// Rooms in memory that answer at once, each at a path of its own, behind a network that counts sockets. What they keep is a
// Y.Doc and who is there.
import * as Y from "yjs";
import { YProvider } from "../../../client/index.js";
import type { AwarenessEntry } from "../../../src/protocol/awareness.js";
import type { AccessLevel } from "../../../src/protocol/control.js";
import {
  encodeAwareness,
  encodeSyncStep1,
  encodeSyncStep2,
  encodeUpdate,
} from "../../../src/protocol/message.js";
import { decodeSent, FakeNetwork, type FakeSocket } from "../../support/fake-socket.ts";

interface Line {
  readonly socket: FakeSocket;
  readonly room: OpenRoom;
  readonly people: Map<number, AwarenessEntry>;
}

/** What is kept of one room. */
export class OpenRoom {
  doc: Y.Doc = new Y.Doc();
  readonly lines: Set<Line> = new Set();
  /** A 44xx code, with which everybody is refused. */
  refusal = 0;
  /** The life of the document. */
  epoch = "e1";
  /** Whether nothing is acknowledged. */
  isSlow = false;
  access: AccessLevel = "write";

  get people(): AwarenessEntry[] {
    return [...this.lines].flatMap((line) => [...line.people.values()]);
  }
}

/** The rooms of one server. */
export class OpenRooms {
  readonly network: FakeNetwork = new FakeNetwork();
  readonly #rooms = new Map<string, OpenRoom>();
  readonly #watchers: YProvider[] = [];

  constructor() {
    this.network.onSocket = (socket) => this.#open(socket);
  }

  get(name: string): OpenRoom {
    const room = this.#rooms.get(name) ?? new OpenRoom();
    this.#rooms.set(name, room);
    return room;
  }

  /** Sockets that were made since the last call. */
  takeMade(): number {
    return this.network.sockets.splice(0).length;
  }

  /** Somebody else in a room, who sees what others see. */
  watch(name: string): YProvider {
    const watcher = new YProvider("example.com", name, new Y.Doc(), {
      WebSocketPolyfill: this.network.WebSocket,
      disableBc: true,
    });
    this.#watchers.push(watcher);
    return watcher;
  }

  destroyWatchers(): void {
    for (const watcher of this.#watchers.splice(0)) watcher.destroy();
  }

  #open(socket: FakeSocket): void {
    if (socket.readyState > 1) return;
    const room = this.get(decodeURIComponent(new URL(socket.url).pathname.split("/").at(-1) ?? ""));
    const line: Line = { socket, room, people: new Map() };
    room.lines.add(line);
    socket.onFrame = (frame) => {
      const sent = decodeSent(frame);
      queueMicrotask(() => this.#handle(line, sent));
    };
    socket.onClientClose = () => queueMicrotask(() => this.#leave(line));
    socket.accept();
    if (room.refusal > 0) socket.say({ type: "closing", code: room.refusal, reason: "not here" });
    else socket.deliver(encodeSyncStep1(Y.encodeStateVector(room.doc)));
  }

  #handle({ socket, room, people }: Line, sent: ReturnType<typeof decodeSent>): void {
    const others = [...room.lines].filter((line) => line.socket !== socket);
    const tell = (entries: readonly AwarenessEntry[]) => {
      for (const entry of entries) people.set(entry.clientID, entry);
      for (const line of others) if (entries.length > 0) line.socket.deliver(encodeAwareness(entries));
    };
    switch (sent.type) {
      case "hello":
        if (sent.epoch === "" || sent.epoch === room.epoch)
          socket.sayHello({ epoch: room.epoch, access: room.access });
        else socket.say({ type: "closing", code: 4409, reason: "another life" });
        break;
      case "step1":
        socket.deliver(encodeSyncStep2(Y.encodeStateAsUpdate(room.doc, sent.vector)));
        socket.deliver(encodeAwareness(others.flatMap((line) => [...line.people.values()])));
        break;
      case "update":
        Y.applyUpdate(room.doc, sent.update);
        for (const line of others) line.socket.deliver(encodeUpdate(sent.update));
        if (!("number" in sent)) break;
        tell(sent.awareness);
        if (!room.isSlow) socket.ack(sent.number);
        break;
      case "awareness":
        tell(sent.entries);
        break;
      case "ping":
        socket.deliver("pong");
        break;
      case "step2":
      case "queryAwareness":
      case "part":
      case "text":
        // A provider of ours says its own in other ways, and these rooms ask for nothing that needs more.
        break;
    }
  }

  #leave(line: Line): void {
    line.room.lines.delete(line);
    const left = [...line.people.values()].map((entry) => ({ ...entry, state: "null" }));
    for (const { socket } of line.room.lines) if (left.length > 0) socket.deliver(encodeAwareness(left));
    line.socket.readyState = 3;
  }
}
