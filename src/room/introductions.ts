// Whom a newcomer is told of, and when: everybody at once, but for those that he may be himself. His own state of a moment
// ago, from a line that he knows to be dead and the room does not, would be put over his present one; so those wait until he
// has said who he is, or for a moment if he says nothing.
import type { RoomConnection } from "./connections.js";
import { canBe } from "./presence.js";

/** How long a newcomer has to say who he is, in milliseconds: providers do it with their first frames. */
const waitMs = 100;

/** The introductions that are under way. */
export class Introductions {
  readonly #introduce: (newcomer: RoomConnection, isAskedFor: (owner: RoomConnection) => boolean) => void;
  readonly #waiting = new Map<RoomConnection, number>();

  /** `introduce` tells a newcomer of the people of those connections that are asked for. */
  constructor(introduce: (newcomer: RoomConnection, isAskedFor: (owner: RoomConnection) => boolean) => void) {
    this.#introduce = introduce;
  }

  /** Somebody came in. */
  begin(newcomer: RoomConnection): void {
    this.#introduce(newcomer, (owner) => owner !== newcomer && !canBe(newcomer, owner));
    this.#waiting.set(
      newcomer,
      setTimeout(() => this.complete(newcomer), waitMs),
    );
  }

  /** He has said who he is, or asks: tells him of the rest. */
  complete(newcomer: RoomConnection): void {
    const timer = this.#waiting.get(newcomer);
    if (timer === undefined) return;
    this.stop(newcomer);
    this.#introduce(newcomer, (owner) => owner !== newcomer && canBe(newcomer, owner));
  }

  /** He is gone. */
  stop(newcomer: RoomConnection): void {
    clearTimeout(this.#waiting.get(newcomer) ?? null);
    this.#waiting.delete(newcomer);
  }
}
