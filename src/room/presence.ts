// Who is where: which connection owns which clientID, what the others are told, and with which clock. No Awareness
// instance and no timer: the truth is in the attachments, so that it survives hibernation. Decides, but sends nothing;
// the rules are P1 to P12 of SPEC.md.
import { leftState, type AwarenessEntry } from "../protocol/awareness.js";
import { CloseCode } from "../protocol/close-code.js";
import { ProtocolError } from "../protocol/protocol-error.js";
import { ConnectionFlag, type OwnedPerson } from "./attachment.js";
import type { Connections, RoomConnection } from "./connections.js";
import { Departed } from "./departed.js";
import type { ServerPeople } from "./server-people.js";

/** Clients that drop silent people (y-websocket) do so after 30 s, and look every 3 s: renewed at every second turn. */
const renewAfterMs = 12_000;
/** A client's own clock must leave room for those that the room adds. The time in milliseconds is below 2⁴¹. */
const maxOwnClock = 2 ** 45;
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
  readonly #departed = new Departed();
  #owners: Map<number, RoomConnection> | null = null;

  constructor(connections: Connections, server: ServerPeople) {
    this.#connections = connections;
    this.#server = server;
  }

  /** Takes in what a connection says about itself and others at `now`, in milliseconds since 1970. */
  receive(from: RoomConnection, entries: readonly AwarenessEntry[], now: number): PresenceNews {
    const news = createNews();
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

  /** Decides a contest whose owner turned out to be dead. */
  settle(claimant: RoomConnection, { entry, owner }: Contest, now: number): PresenceNews {
    const known = owner.people.get(entry.clientID);
    if (known === undefined || this.#loadOwners().get(entry.clientID) !== owner) {
      // It has left in the meantime: nobody stands in the way.
      return this.receive(claimant, [entry], now);
    }
    owner.deletePerson(entry.clientID);
    const news = createNews();
    const isGone = entry.state === leftState || claimant.people.size >= maxPeoplePerConnection;
    this.#tell(claimant, known, isGone ? { ...entry, state: leftState } : entry, now, news);
    return news;
  }

  /** Removes everybody whom a connection owned, at `now`. Returns what the others are to be told. */
  leave(connection: RoomConnection, now: number): AwarenessEntry[] {
    const gone: AwarenessEntry[] = [];
    for (const [clientID, { clock }] of connection.people) {
      if (this.#owners?.get(clientID) === connection) this.#owners.delete(clientID);
      this.#departed.add(clientID, clock, connection, now);
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
    if (owner === undefined) {
      const isFirst = entry.state !== leftState && this.#departed.mayReturn(from, entry);
      return isFirst ? null : "foreign";
    }
    const person = owner.people.get(entry.clientID);
    if (person === undefined) return "foreign";
    const right = rightToTakeOver(from, owner, entry.clientID);
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
    if (entry.clock > maxOwnClock) throw new ProtocolError(CloseCode.badFrame, "presence clock out of range");
    if (state === leftState) {
      const last = Math.max(entry.clock, known?.clock ?? 0);
      this.#loadOwners().delete(clientID);
      this.#departed.add(clientID, last, from, now);
      from.deletePerson(clientID);
      news.others.push({ clientID, clock: last, state });
      return false;
    }
    const stateHash = hash(state);
    const isSame = known !== null && known.stateHash === stateHash;
    const clock = known === null ? this.#firstClock(entry, now) : nextClock(known.clock, entry.clock, isSame);
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

  /**
   * The clock under which somebody is told for the first time. He may have been here before, perhaps under a clock that
   * was raised while his line was dead, and an equal or lower one would be ignored: the time is above all of them.
   */
  #firstClock({ clientID, clock }: AwarenessEntry, now: number): number {
    return Math.max(clock, this.#departed.clockOf(clientID), now) + 1;
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
 * A dead socket can live for minutes, and its owner be back long before: with the same secret, or, where there is none, as
 * the same subject with nothing announced yet. Where nobody is known, anybody could say so: then only if the old socket is
 * dead indeed.
 */
function rightToTakeOver(
  from: RoomConnection,
  owner: RoomConnection,
  clientID: number,
): "yes" | "if dead" | "no" {
  const isNew = from.people.size === 0;
  // What a connection announces first is its own; what it announces after that it may have heard from another tab.
  const [first] = owner.people.keys();
  if (isNew && first !== clientID) return "yes";
  if (owner.secretHash !== null) return owner.secretHash === from.secretHash ? "yes" : "no";
  if (!isNew || from.secretHash !== null || from.subject !== owner.subject) return "no";
  return from.subject === null ? "if dead" : "yes";
}

/** The clock to tell the others. News that crossed with a renewal of ours needs one more to be heard. */
function nextClock(known: number, clock: number, isSame: boolean): number {
  if (clock > known) return clock;
  return isSame ? known : known + 1;
}

function createNews(): PresenceNews {
  return { others: [], sender: [], renewed: [], ask: [], contested: [] };
}

/** FNV-1a over UTF-16 units, 32 bits: tells states apart, protects nothing. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  return value >>> 0;
}
