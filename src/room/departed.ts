// Who left a moment ago. Stock providers send back what they hear of others, so what was said of somebody may come in after
// he is gone; it must not bring him back. In memory: a room that forgets has been quiet for long enough.
import type { AwarenessEntry } from "../protocol/awareness.js";
import type { RoomConnection } from "./connections.js";

interface Departure {
  /** The last clock that was told to the others. */
  readonly clock: number;
  readonly secretHash: string | null;
  readonly subject: string | null;
  readonly leftAt: number;
}

/** More people than that are not remembered: the oldest is forgotten. */
const maxDepartures = 4_096;

/** The departures of a room. */
export class Departed {
  readonly #byClientID = new Map<number, Departure>();

  /** Somebody left with this clock. `now` in milliseconds since 1970. */
  add(clientID: number, clock: number, owner: RoomConnection, now: number): void {
    const { secretHash, subject } = owner;
    this.#byClientID.delete(clientID);
    this.#byClientID.set(clientID, { clock, secretHash, subject, leftAt: now });
    if (this.#byClientID.size <= maxDepartures) return;
    const [oldest] = this.#byClientID.keys();
    if (oldest !== undefined) this.#byClientID.delete(oldest);
  }

  /** Whether an entry comes from who left, and not from somebody who repeats what he heard. */
  mayReturn(from: RoomConnection, { clientID, clock }: AwarenessEntry): boolean {
    const departure = this.#byClientID.get(clientID);
    if (departure === undefined) return true;
    if (departure.secretHash !== null) return departure.secretHash === from.secretHash;
    if (departure.subject !== from.subject) return false;
    // What is repeated has no newer clock, and who came after the departure was never told of him.
    const isNews = clock > departure.clock;
    return isNews || (from.people.size === 0 && from.openedAt >= departure.leftAt);
  }

  /** The last clock of somebody who left; 0 when nothing is remembered. */
  clockOf(clientID: number): number {
    return this.#byClientID.get(clientID)?.clock ?? 0;
  }
}
