// `document.awareness`: presence for code that expects an Awareness instance. It follows the room's presence, and what
// the server sets on it reaches every connection.
import { applyAwarenessUpdate, type Awareness } from "y-protocols/awareness";
import { encodeAwarenessUpdate, leftState, type AwarenessEntry } from "../protocol/awareness.js";

/** What the facade needs of a room. */
export interface AwarenessHost {
  /** Everybody whose state is known, the server's own people included. */
  everybody(): readonly AwarenessEntry[];
  /** The server's own people, oldest first. */
  serverPeople(): Iterable<AwarenessEntry>;
  /** The server changed somebody's state: its own, or removed another's. */
  onServerEntries(entries: readonly AwarenessEntry[]): void;
}

/** Marks what comes from the room. */
const roomOrigin: unique symbol = Symbol("room presence");

/** Fills `awareness` with everybody and hands what the server changes to the room. */
export function connectAwareness(awareness: Awareness, host: AwarenessHost): void {
  for (const own of host.serverPeople()) {
    // The person that this server was before the room hibernated.
    awareness.clientID = own.clientID;
  }
  applyAwarenessEntries(awareness, host.everybody());
  awareness.on("update", (changes: AwarenessChanges, origin: unknown) => {
    if (origin === roomOrigin) return;
    const changed = [...changes.added, ...changes.updated, ...changes.removed];
    host.onServerEntries(changed.map((clientID) => readEntry(awareness, clientID)));
  });
}

/** Brings news of the room into `awareness`. */
export function applyAwarenessEntries(awareness: Awareness, entries: readonly AwarenessEntry[]): void {
  if (entries.length > 0) {
    applyAwarenessUpdate(awareness, encodeAwarenessUpdate(entries), roomOrigin);
  }
}

interface AwarenessChanges {
  readonly added: readonly number[];
  readonly updated: readonly number[];
  readonly removed: readonly number[];
}

function readEntry(awareness: Awareness, clientID: number): AwarenessEntry {
  const state = awareness.getStates().get(clientID);
  return {
    clientID,
    clock: awareness.meta.get(clientID)?.clock ?? 0,
    state: state === undefined ? leftState : JSON.stringify(state),
  };
}
