// Two connections that both claim to be one person, where nothing tells which is right: the old one is asked, and keeps
// its place if it answers. The timer is short and runs only while there is a contest.
import type { RoomConnection } from "./connections.js";
import type { Contest } from "./presence.js";

/** How long the old connection has to answer, in milliseconds: a live one needs a round trip. */
const answerWithinMs = 2_000;
/** A claim that was answered is not made again for this long, in milliseconds. */
const restAfterMs = 30_000;

/** The contests of a room. */
export class Contests {
  readonly #onWon: (claimant: RoomConnection, contest: Contest) => void;
  readonly #running = new Map<number, RunningContest>();
  /** Until when a claimant is not listened to, by clientID. */
  readonly #lost = new WeakMap<RoomConnection, Map<number, number>>();

  /** `onWon` is called when the old connection did not answer. It must not throw. */
  constructor(onWon: (claimant: RoomConnection, contest: Contest) => void) {
    this.#onWon = onWon;
  }

  /** Takes in a claim. True when the owner is to be asked. */
  add(claimant: RoomConnection, { entry, owner }: Contest): boolean {
    const running = this.#running.get(entry.clientID);
    if (running !== undefined) {
      if (running.claimant === claimant) running.entry = entry;
      return false;
    }
    if ((this.#lost.get(claimant)?.get(entry.clientID) ?? 0) > Date.now()) return false;
    const timer = setTimeout(() => this.#end(entry.clientID), answerWithinMs);
    this.#running.set(entry.clientID, { claimant, owner, entry, timer });
    return true;
  }

  /** A connection spoke: it is alive, so what it owns stays with it. */
  hear(connection: RoomConnection): void {
    for (const [clientID, { claimant, owner, timer }] of this.#running) {
      if (owner !== connection) continue;
      clearTimeout(timer);
      this.#running.delete(clientID);
      const lost = this.#lost.get(claimant) ?? new Map<number, number>();
      this.#lost.set(claimant, lost.set(clientID, Date.now() + restAfterMs));
    }
  }

  /** A connection is gone: it claims nothing any more. Who claims what it owned need not wait. */
  leave(connection: RoomConnection): void {
    for (const [clientID, { claimant, owner, timer }] of this.#running) {
      if (claimant === connection) {
        clearTimeout(timer);
        this.#running.delete(clientID);
      } else if (owner === connection) this.#end(clientID);
    }
  }

  #end(clientID: number): void {
    const contest = this.#running.get(clientID);
    if (contest === undefined) return;
    clearTimeout(contest.timer);
    this.#running.delete(clientID);
    this.#onWon(contest.claimant, contest);
  }
}

interface RunningContest extends Contest {
  readonly claimant: RoomConnection;
  readonly timer: number;
  entry: Contest["entry"];
}
