// One's own presence and that of others, over an `Awareness`. A client speaks for itself alone, and nobody but itself
// changes its state.
import * as encoding from "lib0/encoding";
import {
  applyAwarenessUpdate,
  Awareness,
  encodeAwarenessUpdate,
  modifyAwarenessUpdate,
  removeAwarenessStates,
} from "y-protocols/awareness";
import type { Doc } from "yjs";
import { MessageType } from "../src/protocol/message.js";

/**
 * An `Awareness` without a timer, which does not listen for the end of its document: it would never stop, and on a document
 * that outlives many providers that piles up.
 */
export function createAwareness(doc: Doc): Awareness {
  const awareness = new Awareness({ clientID: doc.clientID, on: () => undefined } as unknown as Doc);
  awareness.doc = doc;
  stopInterval(awareness);
  return awareness;
}

/** Its timer renews what need not be renewed, and drops people who are only quiet. */
export function stopInterval(awareness: Awareness): void {
  clearInterval(awareness._checkInterval as ReturnType<typeof setInterval>);
}

/** The frame for an awareness update. */
export function encodePresenceFrame(update: Uint8Array): Uint8Array {
  return encoding.encode((encoder) => {
    encoding.writeVarUint(encoder, MessageType.awareness);
    encoding.writeVarUint8Array(encoder, update);
  });
}

/** What presence needs of the provider. */
export interface PresenceHost {
  /** Marks what comes from elsewhere. */
  readonly origin: unknown;
  /** Does what may throw because of an observer of the application. */
  readonly attempt: (action: () => void) => boolean;
}

/** Who is where, as this client knows it. What it tells are awareness updates. */
export class Presence {
  readonly #awareness: Awareness;
  readonly #host: PresenceHost;
  /** Whether others have to be told of oneself. */
  isDue = false;
  /** Whether the page was left: nobody is told of oneself until it is shown again. */
  isAway = false;
  /** The own state as it was last set here. */
  #ownState: Record<string, unknown> | null = null;

  constructor(awareness: Awareness, host: PresenceHost) {
    this.#awareness = awareness;
    this.#host = host;
  }

  /** What others are to be told; null for nothing. */
  take(): Uint8Array | null {
    const update = this.isDue ? this.own() : null;
    this.isDue = false;
    return update;
  }

  /** Oneself, or that one leaves, with the clock as it is; null when nobody is to be told. */
  own(isLeaving = false): Uint8Array | null {
    const { clientID, states } = this.#awareness;
    if (this.isAway) return null;
    return encodeAwarenessUpdate(this.#awareness, [clientID], isLeaving ? new Map() : states);
  }

  /** Raises the own clock, so that others take what is told next for news. */
  renew(): void {
    const state = (this.#ownState = this.#awareness.getLocalState());
    // Somebody who has no state is not there, and need not be told to have left.
    this.isDue = state !== null;
    if (this.isDue) this.#host.attempt(() => this.#awareness.setLocalState(state));
  }

  /** Takes in an awareness update. @throws whatever bytes that cannot be read lead to */
  receive(bytes: Uint8Array): void {
    const update = modifyAwarenessUpdate(bytes, (state: unknown) => state);
    this.#host.attempt(() => applyAwarenessUpdate(this.#awareness, update, this.#host.origin));
  }

  /**
   * The own entry has changed. What is said elsewhere of oneself may have crossed with a change, and nobody but oneself
   * changes it: it is set again.
   */
  handleOwnChange(origin: unknown): void {
    const awareness = this.#awareness;
    const state = awareness.getLocalState();
    this.isDue = true;
    if (origin !== this.#host.origin) this.#ownState = state;
    else if (state !== this.#ownState) awareness.setLocalState(this.#ownState);
  }

  /** Forgets everybody else: the next line tells who is there. */
  forgetOthers(): void {
    const awareness = this.#awareness;
    const others = [...awareness.meta.keys()].filter((id) => id !== awareness.clientID);
    // Else somebody who comes back with the clock he left with would be ignored.
    for (const id of others) awareness.meta.delete(id);
    this.#host.attempt(() => removeAwarenessStates(awareness, others, this.#host.origin));
  }
}
