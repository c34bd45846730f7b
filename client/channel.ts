// What tabs of one browser tell each other without a server: the messages of y-protocols over a BroadcastChannel. Named
// after a room and the life of its document, so that a tab with an old copy cannot bring it into a new life; nothing is
// said before that is known.
import * as broadcast from "lib0/broadcastchannel";
import { encodeStateAsUpdate, encodeStateVector, type Doc } from "yjs";
import {
  encodeQueryAwareness,
  encodeSyncStep1,
  encodeSyncStep2,
  encodeUpdate,
  MessageType,
  SyncType,
} from "../src/protocol/message.js";
import { Reader } from "../src/protocol/reader.js";
import { encodePresenceFrame, type Presence } from "./presence.js";

/** What a channel needs of the provider, and what it tells it. */
export interface ChannelHost {
  readonly doc: Doc;
  readonly presence: Presence;
  /** Does what may throw because of what came. */
  readonly attempt: (action: () => void) => boolean;
  /** A V1 update of another tab: just made there, or the difference to what is here. */
  readonly onTabUpdate: (update: Uint8Array, isNew: boolean) => void;
}

/** The other tabs, from its making to `close`. */
export class Channel {
  readonly name: string;
  readonly #host: ChannelHost;

  constructor(name: string, host: ChannelHost) {
    this.name = name;
    this.#host = host;
    broadcast.subscribe(name, this.#listen);
  }

  /** Asks the others what they have and who they are, and tells who is here. Others in the same tab answer at once. */
  join(): void {
    this.#publish(encodeSyncStep1(encodeStateVector(this.#host.doc)));
    this.publishPresence(this.#host.presence.own());
    this.askWho();
  }

  /** Tells of a V1 update that was made in this tab. */
  publishUpdate(update: Uint8Array): void {
    this.#publish(encodeUpdate(update));
  }

  /** Sends an awareness update, if there is one. */
  publishPresence(update: Uint8Array | null): void {
    if (update !== null) this.#publish(encodePresenceFrame(update));
  }

  /** Asks the other tabs who is there. */
  askWho(): void {
    this.#publish(encodeQueryAwareness());
  }

  close(): void {
    broadcast.unsubscribe(this.name, this.#listen);
  }

  #publish(frame: Uint8Array): void {
    broadcast.publish(this.name, frame, this);
  }

  readonly #listen = (data: unknown, origin: unknown): void => {
    if (origin !== this) this.#host.attempt(() => this.#receive(new Uint8Array(data as Uint8Array)));
  };

  #receive(frame: Uint8Array): void {
    const { doc, presence, onTabUpdate } = this.#host;
    const reader = new Reader(frame);
    switch (reader.readVarUint()) {
      case MessageType.sync: {
        const type = reader.readVarUint();
        const bytes = reader.readVarUint8Array();
        if (type === SyncType.step1) this.#publish(encodeSyncStep2(encodeStateAsUpdate(doc, bytes)));
        else onTabUpdate(bytes, type === SyncType.update);
        break;
      }
      case MessageType.awareness:
        presence.receive(reader.readVarUint8Array());
        break;
      case MessageType.queryAwareness:
        this.publishPresence(presence.own());
        break;
    }
  }
}
