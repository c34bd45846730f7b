// Two connections that both claim to be one person, where nothing tells which is right: the old one is asked, and keeps
// its place if it answers. The timer is short and runs only while there is a contest.
import type { AwarenessEntry } from "../protocol/awareness.js";
import type { RoomConnection } from "./connections.js";
import type { Contest } from "./presence.js";

/** How long the old connection has to answer, in milliseconds: a live one needs a round trip. */
const answerWithinMs = 2_000;

/** The contests of a room. */
export class Contests {
  readonly #onWon: (claimant: RoomConnection, contest: Contest) => void;
  readonly #running = new Map<number, RunningContest>();

  /** `onWon` is called when the old connection did not answer. */
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
    const timer = setTimeout(() => this.#end(entry.clientID), answerWithinMs);
    this.#running.set(entry.clientID, { claimant, owner, entry, timer });
    return true;
  }

  /** A connection spoke: it is alive, so what it owns stays with it. */
  hear(connection: RoomConnection): void {
    this.#cancel((contest) => contest.owner === connection);
  }

  /** A connection is gone: it claims nothing any more. Who claims what it owned need not wait. */
  leave(connection: RoomConnection): void {
    this.#cancel((contest) => contest.claimant === connection);
    for (const [clientID, { owner }] of this.#running) {
      if (owner === connection) this.#end(clientID);
    }
  }

  #cancel(matches: (contest: RunningContest) => boolean): void {
    for (const [clientID, contest] of this.#running) {
      if (!matches(contest)) continue;
      clearTimeout(contest.timer);
      this.#running.delete(clientID);
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

interface RunningContest {
  readonly claimant: RoomConnection;
  readonly owner: RoomConnection;
  readonly timer: number;
  entry: AwarenessEntry;
}
