// The server's own people in the presence of a room: what the application sets on `document.awareness`. They have rows
// instead of an attachment, so that they stay while the room hibernates; an instance that starts without any
// connection drops those of the instance before it.
import { leftState, type AwarenessEntry } from "../protocol/awareness.js";
import { integerColumn, textColumn, type Database } from "../storage/database.js";

/** The people of the server. One row written per change. */
export class ServerPeople {
  readonly #database: Database;
  readonly #keepStored: boolean;
  readonly #toldAt = new Map<number, number>();
  #people: Map<number, AwarenessEntry> | null = null;

  /** `keepStored` is false for an instance that started without connections. Reads and writes nothing yet. */
  constructor(database: Database, keepStored: boolean) {
    this.#database = database;
    this.#keepStored = keepStored;
  }

  /** Everybody, with the last clock that was told. */
  entries(): IterableIterator<AwarenessEntry> {
    return this.#load().values();
  }

  has(clientID: number): boolean {
    return this.#load().has(clientID);
  }

  /** The last clock that was told of one of them; 0 for anybody else. */
  clockOf(clientID: number): number {
    return this.#load().get(clientID)?.clock ?? 0;
  }

  /** Stores one entry; a state of `null` removes it. */
  set(entry: AwarenessEntry): void {
    const people = this.#load();
    this.#toldAt.set(entry.clientID, Date.now());
    this.#database.run(
      "CREATE TABLE IF NOT EXISTS dormouse_people (client INTEGER PRIMARY KEY, clock INTEGER NOT NULL, state TEXT NOT NULL)",
    );
    if (entry.state === leftState) {
      people.delete(entry.clientID);
      this.#toldAt.delete(entry.clientID);
      this.#database.run("DELETE FROM dormouse_people WHERE client = ?", entry.clientID);
      return;
    }
    people.set(entry.clientID, entry);
    this.#database.run(
      "INSERT OR REPLACE INTO dormouse_people (client, clock, state) VALUES (?, ?, ?)",
      entry.clientID,
      entry.clock,
      entry.state,
    );
  }

  /** Raises the clock of those who were last told longer ago than `afterMs`, and returns them. */
  renew(now: number, afterMs: number): AwarenessEntry[] {
    const quiet = [...this.entries()].filter(
      ({ clientID }) => now - (this.#toldAt.get(clientID) ?? 0) >= afterMs,
    );
    const renewed = quiet.map((entry) => ({ ...entry, clock: entry.clock + 1 }));
    for (const entry of renewed) this.set(entry);
    return renewed;
  }

  #load(): Map<number, AwarenessEntry> {
    if (this.#people !== null) return this.#people;
    const people = new Map<number, AwarenessEntry>();
    const tables = this.#database.run(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'dormouse_people'",
    );
    if (tables.length > 0) {
      if (!this.#keepStored) this.#database.run("DELETE FROM dormouse_people");
      for (const row of this.#database.run("SELECT client, clock, state FROM dormouse_people")) {
        const clientID = integerColumn(row, "client");
        const entry = { clientID, clock: integerColumn(row, "clock"), state: textColumn(row, "state") };
        people.set(clientID, entry);
      }
    }
    return (this.#people = people);
  }
}
