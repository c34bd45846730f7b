// Who is where: which connection owns which clientID, what the others are told, and with which clock. No Awareness
// instance and no timer: the truth is in the attachments, so that it survives hibernation. Decides, but sends nothing;
// the rules are P1 to P12 of SPEC.md.
import { leftState, type AwarenessEntry } from "../protocol/awareness.js";
import { ConnectionFlag, type OwnedPerson } from "./attachment.js";
import type { Connections, RoomConnection } from "./connections.js";
import type { ServerPeople } from "./server-people.js";

/** Clients that drop silent people (y-websocket) do so after 30 s, and look every 3 s: renewed at every second turn. */
const renewAfterMs = 12_000;
/** More clientIDs than that are not owned by one connection; what it says about others is dropped. */
const maxPeoplePerConnection = 64;

/** What is to be sent after an awareness message. */
export interface PresenceNews {
  /** To everybody but the sender. */
  readonly others: AwarenessEntry[];
  /** To the sender alone. */
  readonly sender: AwarenessEntry[];
  /** To everybody, the owners included. */
  readonly renewed: AwarenessEntry[];
  /** Connections whose people's states are not known here: to be asked. */
  readonly ask: RoomConnection[];
  /** Claims to people of others that are right only if the others are dead. */
  readonly contested: Contest[];
}

/** Somebody without a name or a secret says that it is who another connection is. */
export interface Contest {
  readonly entry: AwarenessEntry;
  readonly owner: RoomConnection;
}

/** The presence of one room. */
export class Presence {
  readonly #connections: Connections;
  readonly #server: ServerPeople;
  #owners: Map<number, RoomConnection> | null = null;

  constructor(connections: Connections, server: ServerPeople) {
    this.#connections = connections;
    this.#server = server;
  }

  /** Takes in what a connection says about itself and others at `now`, in milliseconds since 1970. */
  receive(from: RoomConnection, entries: readonly AwarenessEntry[], now: number): PresenceNews {
    const news: PresenceNews = { others: [], sender: [], renewed: [], ask: [], contested: [] };
    let renews = false;
    for (const entry of entries) {
      const known = this.#claim(from, entry, news);
      if (known === "foreign") continue;
      renews = this.#tell(from, known, entry, now, news) || renews;
    }
    if (renews) {
      from.mark(ConnectionFlag.renews);
      this.#renewQuiet(from, now, news);
    }
    return news;
  }

  /** Takes a person from a connection that turned out to be dead. */
  release(owner: RoomConnection, clientID: number): void {
    if (this.#loadOwners().get(clientID) !== owner) return;
    this.#loadOwners().delete(clientID);
    owner.deletePerson(clientID);
  }

  /** Removes everybody whom a connection owned. Returns what the others are to be told. */
  leave(connection: RoomConnection): AwarenessEntry[] {
    const gone: AwarenessEntry[] = [];
    for (const [clientID, { clock }] of connection.people) {
      this.#owners?.delete(clientID);
      // Exactly the last clock: a higher one could remove somebody who has just come back.
      gone.push({ clientID, clock, state: leftState });
    }
    return gone;
  }

  /** Everybody whose state is known, and the connections that have to be asked for theirs. */
  everybody(): { entries: AwarenessEntry[]; ask: RoomConnection[] } {
    const entries = [...this.#server.entries()];
    const ask = new Set<RoomConnection>();
    for (const connection of this.#connections) {
      for (const [clientID, { clock, state }] of connection.people) {
        if (state === null) ask.add(connection);
        else entries.push({ clientID, clock, state });
      }
    }
    return { entries, ask: [...ask] };
  }

  /**
   * Takes in what the server says: its own people, or that somebody else is gone. Returns what everybody is to be told.
   */
  receiveFromServer(entries: readonly AwarenessEntry[]): AwarenessEntry[] {
    return entries.filter((entry) => {
      const owner = this.#loadOwners().get(entry.clientID);
      if (owner === undefined) this.#server.set(entry);
      else if (entry.state === leftState) {
        this.#loadOwners().delete(entry.clientID);
        owner.deletePerson(entry.clientID);
      } else return false;
      return true;
    });
  }

  /** The last known person under a clientID, if `from` may speak for it. Takes it over where that is right. */
  #claim(from: RoomConnection, entry: AwarenessEntry, news: PresenceNews): OwnedPerson | null | "foreign" {
    const owners = this.#loadOwners();
    const owner = owners.get(entry.clientID);
    if (owner === from) return from.people.get(entry.clientID) ?? null;
    if (from.people.size >= maxPeoplePerConnection) return "foreign";
    if (this.#server.has(entry.clientID)) return "foreign";
    if (owner === undefined) return entry.state === leftState ? "foreign" : null;
    const person = owner.people.get(entry.clientID);
    if (person === undefined) return "foreign";
    const right = rightToTakeOver(from, owner, entry, person);
    if (right === "if dead") news.contested.push({ entry, owner });
    if (right !== "yes") return "foreign";
    // From now on the old socket owns nothing: its late close removes nothing.
    owner.deletePerson(entry.clientID);
    return person;
  }

  /** Stores one entry and adds what is to be told. Returns whether it only renewed what was known. */
  #tell(
    from: RoomConnection,
    known: OwnedPerson | null,
    entry: AwarenessEntry,
    now: number,
    news: PresenceNews,
  ): boolean {
    const { clientID, state } = entry;
    if (state === leftState) {
      this.#loadOwners().delete(clientID);
      from.deletePerson(clientID);
      news.others.push({ clientID, clock: Math.max(entry.clock, known?.clock ?? 0), state });
      return false;
    }
    const stateHash = hash(state);
    const isSame = known !== null && known.stateHash === stateHash;
    const clock = nextClock(known, entry.clock, isSame);
    this.#loadOwners().set(clientID, from);
    from.setPerson(clientID, { clock, state, stateHash, toldAt: now });
    const told: AwarenessEntry = { clientID, clock, state };
    const isNews = known === null || clock > known.clock || known.state === null;
    if (isNews) news.others.push(told);
    const isRenewal = isSame && entry.clock > known.clock;
    if (clock !== entry.clock || isRenewal || !from.has(ConnectionFlag.text)) {
      if (isNews) news.sender.push(told);
    }
    return isRenewal;
  }

  /** Tells again of those who are quiet and do not renew themselves, so that nobody drops them as gone. */
  #renewQuiet(from: RoomConnection, now: number, news: PresenceNews): void {
    for (const connection of this.#connections) {
      if (connection === from || connection.has(ConnectionFlag.renews)) continue;
      for (const [clientID, person] of connection.people) {
        if (now - person.toldAt < renewAfterMs) continue;
        const clock = person.clock + 1;
        connection.setPerson(clientID, { ...person, clock, toldAt: now });
        if (person.state === null) news.ask.push(connection);
        else news.renewed.push({ clientID, clock, state: person.state });
      }
    }
    news.renewed.push(...this.#server.renew(now, renewAfterMs));
  }

  #loadOwners(): Map<number, RoomConnection> {
    if (this.#owners !== null) return this.#owners;
    const owners = new Map<number, RoomConnection>();
    for (const connection of this.#connections) {
      for (const clientID of connection.people.keys()) owners.set(clientID, connection);
    }
    return (this.#owners = owners);
  }
}

/**
 * A dead socket can live for minutes, and its owner be back long before: by the same secret, or, where there is none,
 * as the same subject with nothing announced yet and a clock that is not behind. Where nobody is known, anybody could
 * say so: then only if the old socket is dead indeed.
 */
function rightToTakeOver(
  from: RoomConnection,
  owner: RoomConnection,
  entry: AwarenessEntry,
  person: OwnedPerson,
): "yes" | "if dead" | "no" {
  if (owner.secretHash !== null) return owner.secretHash === from.secretHash ? "yes" : "no";
  const isPlain = from.secretHash === null && from.people.size === 0;
  if (!isPlain || from.subject !== owner.subject || entry.clock < person.clock) return "no";
  return from.subject === null ? "if dead" : "yes";
}

/**
 * The clock to tell the others. Somebody who is new here may have left a moment ago with this very clock, and an equal
 * clock is ignored: one more is heard by all. The same for news that crossed with a renewal of ours.
 */
function nextClock(known: OwnedPerson | null, clock: number, isSame: boolean): number {
  if (known === null) return clock + 1;
  if (clock > known.clock) return clock;
  return isSame ? known.clock : known.clock + 1;
}

/** FNV-1a over UTF-16 units, 32 bits: tells states apart, protects nothing. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  return value >>> 0;
}
