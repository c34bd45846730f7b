// A room as components hold it: the document, its awareness and a provider that is alive for as long as anybody holds it,
// with snapshots for `useSyncExternalStore`. Making one touches nothing outside of it, so that it can be made while
// rendering, on a server too, and thrown away.
import { equalityDeep } from "lib0/function";
import type { Awareness } from "y-protocols/awareness";
import { Doc } from "yjs";
import type { AccessLevel, ProviderOptions, Refusal } from "../index.js";
import { createAwareness } from "../presence.js";
import { YProvider } from "../provider.js";
import { createAddress } from "../url.js";

/** Where a room is and how to enter it. */
export interface RoomOptions extends ProviderOptions {
  readonly host: string;
  readonly room: string;
  /** A document that exists already; made anew for each room unless it is given. */
  readonly doc?: Doc;
}

/** How a room is doing. Never changed: what is new is another object. */
export interface RoomStatus {
  readonly status: "connecting" | "connected" | "disconnected";
  /** Whether everything that the server had is here. */
  readonly synced: boolean;
  /** Whether the room has said that everything that is here is stored. */
  readonly saved: boolean;
  /** What the room lets this client do; null before it has said so. */
  readonly access: AccessLevel | null;
  /** Why the server refused for good; null unless it did. */
  readonly refusal: Refusal | null;
}

/** Everybody's awareness state by clientID. Others may send anything: a state is to be looked at before it is used. */
export type AwarenessStates = ReadonlyMap<number, Readonly<Record<string, unknown>>>;

const nobody: AwarenessStates = new Map();

const awarenesses = new WeakMap<Doc, Awareness>();

/**
 * One for each document: two that speak for one clientID, as when a component takes the place of another with the same
 * document, would count its clock twice, and people would not see who came back.
 */
function awarenessOf(doc: Doc): Awareness {
  const awareness = awarenesses.get(doc) ?? createAwareness(doc);
  awarenesses.set(doc, awareness);
  return awareness;
}

/** How a room is doing before it is entered. */
function outside({ connect = true }: RoomOptions): RoomStatus {
  const status = connect ? "connecting" : "disconnected";
  return { status, synced: false, saved: false, access: null, refusal: null };
}

/** One room, from the component that first rendered it to the end of that component, or to another room. */
export class RoomStore {
  readonly address: string;
  readonly doc: Doc;
  readonly awareness: Awareness;
  #options: RoomOptions;
  #provider: YProvider | null = null;
  #holders = 0;
  /** The life of the document that the copy in `doc` is from, once a provider has learned it. */
  #epoch: string | null = null;
  #status: RoomStatus;
  /** What a server renders, and with it a browser that takes over from there. */
  readonly #serverStatus: RoomStatus;
  #states = nobody;
  readonly #listeners = new Set<() => void>();

  /** @throws TypeError, URIError when the address cannot be */
  constructor(options: RoomOptions) {
    this.address = createAddress(options.host, options.room, options);
    this.#options = options;
    this.doc = options.doc ?? new Doc();
    this.awareness = options.awareness ?? awarenessOf(this.doc);
    this.#serverStatus = this.#status = outside(options);
  }

  /** Whether these options mean this room. The same address is the same room, however the rest is given. */
  isFor({ host, room, doc = this.doc, awareness = this.awareness, ...options }: RoomOptions): boolean {
    const isSame = doc === this.doc && awareness === this.awareness;
    return isSame && createAddress(host, room, options) === this.address;
  }

  /** Takes over what may change: `params` for the next connection, and whether to connect. */
  update(options: RoomOptions): void {
    const { connect: wasWanted = true } = this.#options;
    const { connect: isWanted = true } = options;
    this.#options = options;
    if (isWanted === wasWanted || this.#holders === 0) return;
    this.#setStatus({ ...this.#status, status: outside(options).status });
    if (isWanted) void this.provider.connect();
    else this.provider.disconnect();
  }

  /**
   * Enters the room, unless it is not to connect. Returns how to leave it, which takes effect at the end of the task: who
   * leaves and enters at once, as in strict mode, keeps the line.
   */
  readonly hold = (): (() => void) => {
    this.#holders += 1;
    if (this.#options.connect ?? true) void this.provider.connect();
    return () => {
      this.#holders -= 1;
      queueMicrotask(() => this.#leaveIfUnheld());
    };
  };

  /** One that is alive. It is another after the room was left and entered again. */
  get provider(): YProvider {
    return (this.#provider ??= this.#createProvider());
  }

  readonly getProvider = (): YProvider => this.provider;

  readonly getStatus = (): RoomStatus => this.#status;

  readonly getServerStatus = (): RoomStatus => this.#serverStatus;

  /** The same object, and for each person the same state, for as long as nothing has changed. */
  readonly getStates = (): AwarenessStates => {
    const current = this.awareness.getStates();
    let isSame = current.size === this.#states.size;
    const states = new Map<number, Readonly<Record<string, unknown>>>();
    for (const [clientID, state] of current) {
      const known = this.#states.get(clientID);
      // Somebody who is told again is the same, in another object.
      const isKnown = known !== undefined && equalityDeep(known, state);
      isSame &&= isKnown;
      states.set(clientID, isKnown ? known : state);
    }
    if (!isSame) this.#states = states;
    return this.#states;
  };

  /** Nobody: who is there differs between a server and a browser. */
  readonly getServerStates = (): AwarenessStates => nobody;

  /** Calls back when the status or the provider is another. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly subscribeStates = (listener: () => void): (() => void) => {
    this.awareness.on("change", listener);
    return () => this.awareness.off("change", listener);
  };

  #leaveIfUnheld(): void {
    const provider = this.#provider;
    if (this.#holders > 0 || provider === null) return;
    provider.destroy();
    this.#epoch = provider.epoch;
    this.#provider = null;
    this.#setStatus(outside(this.#options));
  }

  #createProvider(): YProvider {
    const { host, room } = this.#options;
    const epoch = this.#epoch ?? this.#options.epoch;
    const provider = new YProvider(host, room, this.doc, {
      ...this.#options,
      ...(epoch === undefined ? {} : { epoch }),
      connect: false,
      awareness: this.awareness,
      params: () => {
        const { params = {} } = this.#options;
        return typeof params === "function" ? params() : params;
      },
    });
    const look = (change: Partial<RoomStatus> = {}) => {
      if (provider !== this.#provider) return;
      const { synced, saved, access } = provider;
      const given = provider.shouldConnect ? {} : ({ status: "disconnected" } as const);
      this.#setStatus({ ...this.#status, synced, saved, access, ...change, ...given });
    };
    provider.on("status", ({ status }) => {
      look(status === "connecting" ? { status, refusal: null } : { status });
    });
    provider.on("closed", (refusal) => look({ refusal }));
    for (const name of ["synced", "saved", "access", "error"] as const) provider.on(name, () => look());
    return provider;
  }

  #setStatus(status: RoomStatus): void {
    if (equalityDeep(status, this.#status)) return;
    this.#status = status;
    for (const listener of this.#listeners) listener();
  }
}
