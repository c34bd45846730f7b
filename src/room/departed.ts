// The clocks of people who left a moment ago. In memory: a room that forgets has been quiet for long enough.

/** More people than that are not remembered: the oldest is forgotten. */
const maxDepartures = 4_096;

/** The departures of a room. */
export class Departed {
  readonly #clocks = new Map<number, number>();

  /** Somebody left, and the others were told so with this clock. */
  add(clientID: number, told: number): void {
    this.#clocks.delete(clientID);
    this.#clocks.set(clientID, told);
    if (this.#clocks.size <= maxDepartures) return;
    const [oldest] = this.#clocks.keys();
    if (oldest !== undefined) this.#clocks.delete(oldest);
  }

  /** The clock with which somebody left; 0 when nothing is remembered. */
  clockOf(clientID: number): number {
    return this.#clocks.get(clientID) ?? 0;
  }
}
