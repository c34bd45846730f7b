// One unmodified Yjs client in a room, of any of the kinds that people have. The same code runs in Node and in
// the page of a browser (page.ts).
import YProvider from "y-partyserver/provider";
import { WebsocketProvider } from "y-websocket";
import { WebsocketProvider as WebsocketProvider2 } from "y-websocket-2";
import { Doc } from "yjs";

export const clientKinds = ["y-websocket 3", "y-websocket 2", "y-partyserver"] as const;
export type ClientKind = (typeof clientKinds)[number];

/** Whom to be, and where. */
export interface ClientOptions {
  readonly kind: ClientKind;
  readonly name: string;
  readonly port: number;
  readonly room: string;
  /** Node has a BroadcastChannel too, through which clients of one process would sync without any server. */
  readonly disableBc: boolean;
}

type Provider = WebsocketProvider | WebsocketProvider2 | YProvider;

interface AwarenessChange {
  readonly removed: readonly number[];
}

/** A client that is connected, or tries to be, until it is destroyed. */
export class Client {
  readonly doc = new Doc();
  readonly #provider: Provider;
  #connectCount = 0;
  #missedCount = 0;

  constructor(options: ClientOptions) {
    this.#provider = createProvider(options, this.doc);
    const { awareness } = this.#provider;
    awareness.setLocalStateField("user", { name: options.name });
    awareness.on("change", ({ removed }: AwarenessChange) => {
      this.#missedCount += removed.length;
    });
    const countConnects = ({ status }: { status: string }) => {
      if (status === "connected") this.#connectCount += 1;
    };
    // each kind has a type of its own for this; what it does is the same
    (this.#provider as WebsocketProvider).on("status", countConnects);
  }

  /** How often it connected. */
  get connectCount(): number {
    return this.#connectCount;
  }

  /** How often somebody disappeared for it. */
  get missedCount(): number {
    return this.#missedCount;
  }

  get isSynced(): boolean {
    return this.#provider.synced;
  }

  get text(): string {
    return this.doc.getText("text").toJSON();
  }

  /** The names of everybody, itself included, in alphabetical order. */
  get people(): string[] {
    const states = [...this.#provider.awareness.getStates().values()];
    return states.map((state) => String((state["user"] as { name?: unknown } | undefined)?.name)).sort();
  }

  /** Writes at the end. */
  write(text: string): void {
    const shared = this.doc.getText("text");
    shared.insert(shared.length, text);
  }

  destroy(): void {
    this.#provider.destroy();
    this.doc.destroy();
  }
}

function createProvider({ kind, port, room, disableBc }: ClientOptions, doc: Doc): Provider {
  const url = `ws://127.0.0.1:${port}/parties/main`;
  if (kind === "y-partyserver") return new YProvider(`127.0.0.1:${port}`, room, doc, { disableBc });
  const Provider = kind === "y-websocket 3" ? WebsocketProvider : WebsocketProvider2;
  return new Provider(url, room, doc, { disableBc });
}
