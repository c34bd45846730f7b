// The Y.Doc of a room for code that wants one: built from the log on first use, kept current while the instance lives.
// The room itself never needs it to store, relay or answer.
import { Awareness } from "y-protocols/awareness";
import { Doc, applyUpdate } from "yjs";

/** What a room gives to its document. */
export interface LazyDocumentHost {
  /** The stored and pending updates, in an order in which each follows from those before it. */
  updates(): Iterable<Uint8Array>;
  /**
   * The document changed by a V1 update: by code on the server, or by one that came through the room. A throw refuses the
   * change: the document is then given up, since it holds what the room does not.
   */
  onUpdate(update: Uint8Array): void;
  /** The application asked for presence. `awareness` knows nobody yet, and has no timer. */
  onAwareness(awareness: Awareness): void;
  /** Applying an update threw: an observer of the application's did, or the update is one that Yjs cannot bear. */
  onError(error: unknown): void;
}

/** A `Y.Doc` with the room's presence at `awareness`. Changes made to it reach every connection and the disk. */
export class RoomDocument extends Doc {
  readonly #createAwareness: () => Awareness;
  #awareness: Awareness | null = null;
  #isGivenUp = false;

  constructor(createAwareness: (doc: RoomDocument) => Awareness) {
    super({ gc: true });
    this.#createAwareness = () => createAwareness(this);
  }

  /** @throws Error when the document was given up: what is done to it reaches nobody */
  override get: Doc["get"] = (name, type) => {
    if (this.#isGivenUp) throw new Error(givenUp);
    return super.get(name, type);
  };

  /** Makes further use of the document throw. */
  giveUp(): void {
    this.#isGivenUp = true;
  }

  /** Whether somebody has asked for {@link awareness}. */
  get hasAwareness(): boolean {
    return this.#awareness !== null;
  }

  /** Everybody in the room, and a local state for the server itself. Built on first use. */
  get awareness(): Awareness {
    return (this.#awareness ??= this.#createAwareness());
  }
}

const givenUp = "This document was given up when a change to it was refused: ask for room.document again.";

/** Builds the document when it is asked for. */
export class LazyDocument {
  readonly #host: LazyDocumentHost;
  #doc: RoomDocument | null = null;

  constructor(host: LazyDocumentHost) {
    this.#host = host;
  }

  /** The document if somebody has asked for it. */
  get built(): RoomDocument | null {
    return this.#doc;
  }

  /** The document. @throws StorageError when it cannot be read */
  get(): RoomDocument {
    return (this.#doc ??= this.#build());
  }

  /** Brings an update that was accepted into the document, if there is one. `origin` is the transaction's. */
  apply(update: Uint8Array, origin: unknown): void {
    if (this.#doc === null) return;
    const doc = this.#doc;
    try {
      applyUpdate(doc, update, origin);
    } catch (error) {
      // An observer that throws before a transaction has begun leaves it open for ever: nothing would be told any more.
      if (doc._transaction !== null && this.#doc === doc) this.drop();
      this.#host.onError(error);
    }
  }

  /** Gives the document up: the next `get` builds it from the log, and use of the old one throws. */
  drop(): void {
    this.#doc?.giveUp();
    this.#doc = null;
  }

  #build(): RoomDocument {
    const doc = new RoomDocument((owner) => this.#createAwareness(owner));
    doc.transact(() => {
      for (const update of this.#host.updates()) applyUpdate(doc, update);
    });
    // Also for updates that came through the room: what an observer adds in the same transaction is in the same event,
    // and the log takes out what it knows.
    doc.on("update", (update: Uint8Array) => this.#handleUpdate(doc, update));
    return doc;
  }

  #handleUpdate(doc: RoomDocument, update: Uint8Array): void {
    if (this.#doc !== doc) throw new Error(givenUp);
    try {
      this.#host.onUpdate(update);
    } catch (error) {
      // Yjs does not go on with a document after a throw from here, and this one holds what the room does not.
      this.drop();
      throw error;
    }
  }

  #createAwareness(doc: RoomDocument): Awareness {
    const awareness = new Awareness(doc);
    // Its interval would keep the object awake for ever.
    clearInterval(awareness._checkInterval);
    awareness.setLocalState(null);
    this.#host.onAwareness(awareness);
    return awareness;
  }
}
