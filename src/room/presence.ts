// Who is where: which connection owns which clientID, what the others are told, and with which clock. No Awareness
// instance and no timer: the truth is in the attachments, so that it survives hibernation. Decides, but sends nothing;
// the rules are P1 to P13 of SPEC.md.
//
// Clocks. A client counts its own changes, mostly from 0. The others are told a clock of the room's, which is the client's
// plus an offset: the time in seconds at which it was first told here, and one more for each renewal. So whatever is told of
// somebody is above all that was ever told of him, also after the room has forgotten; nobody is ever told his own state under
// another clock than his own (his Awareness would put it over a newer one); and what stock providers repeat of others is
// known by its clock. Times in seconds and clocks of clients below 2³¹ fit into the 32 bits that some implementations use.
import { leftState, type AwarenessEntry } from "../protocol/awareness.js";
import { CloseCode } from "../protocol/close-code.js";
import { ProtocolError } from "../protocol/protocol-error.js";
import { ConnectionFlag, type OwnedPerson } from "./attachment.js";
import type { Connections, RoomConnection } from "./connections.js";
import { Departed } from "./departed.js";
import type { ServerPeople } from "./server-people.js";

/** Clients that drop silent people (y-websocket) do so after 30 s, and look every 3 s: renewed at every second turn. */
const renewAfterMs = 12_000;
/** Those who renew themselves do so every 15 s: who is later than this has stopped. */
const renewsAgainWithinMs = 20_000;
/** More clientIDs than that are not owned by one connection; what it says about others is dropped. */
const maxPeoplePerConnection = 64;
/** Clocks from here on are told by rooms; 2³⁰ seconds after 1970 are over, and nobody changes his presence as often. */
const firstToldClock = 2 ** 30;
/** A client's own clock must leave room for what the room adds. */
const maxOwnClock = 2 ** 31 + 2 ** 30;

/** What is to be sent after an awareness message. */
export interface PresenceNews {
  /** To everybody but the sender. */
  readonly others: AwarenessEntry[];
  /** To the sender alone: what it said, as it said it, so that it hears that the line is alive. */
  readonly sender: AwarenessEntry[];
  /** To everybody but their owner. */
  readonly renewed: { readonly owner: RoomConnection | null; readonly entry: AwarenessEntry }[];
  /** Connections whose people's states are not known here: to be asked. */
  readonly ask: RoomConnection[];
  /** Claims to people of others that are right only if the others are dead. */
  readonly contested: Contest[];
}

/** Somebody says, without a secret, that it is who another connection is. */
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

  /**
   * Takes in what a connection says about itself and others at `now`, in milliseconds since 1970.
   * @throws ProtocolError 4400 for a clock that no client can have reached
   */
  receive(from: RoomConnection, entries: readonly AwarenessEntry[], now: number): PresenceNews {
    const news = createNews();
    let renews = false;
    for (const entry of entries) {
      if (this.#isRepeated(from, entry)) continue;
      if (entry.clock > maxOwnClock)
        throw new ProtocolError(CloseCode.badFrame, "presence clock out of range");
      const owner = this.#loadOwners().get(entry.clientID);
      if (owner === from) renews = this.#change(from, entry, now, news) || renews;
      else this.#claim(from, owner, entry, now, news);
    }
    if (renews) {
      from.mark(ConnectionFlag.renews);
      this.#renewQuiet(from, now, news);
    }
    return news;
  }

  /** Decides a contest whose owner turned out to be dead. */
  settle(claimant: RoomConnection, { entry, owner }: Contest, now: number): PresenceNews {
    const news = createNews();
    if (this.#loadOwners().get(entry.clientID) === owner) this.#takeOver(claimant, owner, entry, now, news);
    // It has left in the meantime: nobody stands in the way.
    else this.#claim(claimant, undefined, entry, now, news);
    return news;
  }

  /** Removes everybody whom a connection owned. Returns what the others are to be told. */
  leave(connection: RoomConnection): AwarenessEntry[] {
    const gone: AwarenessEntry[] = [];
    for (const [clientID, { told }] of connection.people) {
      if (this.#owners?.get(clientID) === connection) this.#owners.delete(clientID);
      this.#departed.add(clientID, told);
      // Exactly the last clock: a higher one could remove somebody who has just come back.
      gone.push({ clientID, clock: told, state: leftState });
    }
    return gone;
  }

  /** Everybody whose state is known and whose owner is asked for, and the owners who have to be asked for theirs. */
  everybody(isAskedFor: (owner: RoomConnection) => boolean): {
    entries: AwarenessEntry[];
    ask: RoomConnection[];
  } {
    const entries = [...this.#server.entries()];
    const ask = new Set<RoomConnection>();
    for (const owner of this.#connections) {
      if (!isAskedFor(owner)) continue;
      for (const [clientID, { told, state }] of owner.people) {
        if (state === null) ask.add(owner);
        else entries.push({ clientID, clock: told, state });
      }
    }
    return { entries, ask: [...ask] };
  }

  /**
   * Takes in what the server says: its own people, or that somebody else is gone. Returns what everybody is to be told.
   */
  receiveFromServer(entries: readonly AwarenessEntry[], now: number): AwarenessEntry[] {
    const told: AwarenessEntry[] = [];
    for (const { clientID, state } of entries) {
      const owner = this.#loadOwners().get(clientID);
      if (owner === undefined) {
        const last = Math.max(this.#departed.clockOf(clientID), this.#server.clockOf(clientID));
        const entry = { clientID, clock: Math.max(last + 1, inSeconds(now)), state };
        this.#server.set(entry);
        if (state === leftState) this.#departed.add(clientID, entry.clock);
        told.push(entry);
      } else if (state === leftState) told.push(...this.#remove(owner, clientID));
    }
    return told;
  }

  /**
   * Whether a connection only says what it was told, as stock providers do of everybody: with a clock of the room's that is
   * not news, or with the owner's own, heard from another tab.
   */
  #isRepeated(from: RoomConnection, { clientID, clock, state }: AwarenessEntry): boolean {
    const owner = this.#loadOwners().get(clientID);
    if (owner === from) return false;
    const person = owner?.people.get(clientID);
    const told = Math.max(
      person?.told ?? 0,
      this.#departed.clockOf(clientID),
      this.#server.clockOf(clientID),
    );
    if (clock >= firstToldClock && clock <= told) return true;
    return (
      person !== undefined && clock <= person.own && hash(state) === person.stateHash && !canBe(from, owner)
    );
  }

  /** Somebody speaks for a clientID that is another's or nobody's. */
  #claim(
    from: RoomConnection,
    owner: RoomConnection | undefined,
    entry: AwarenessEntry,
    now: number,
    news: PresenceNews,
  ): void {
    const { clientID, clock, state } = entry;
    if (this.#server.has(clientID)) return;
    if (owner !== undefined) {
      const right = rightToTakeOver(from, owner, entry);
      if (right === "yes") this.#takeOver(from, owner, entry, now, news);
      else if (right === "if dead") news.contested.push({ entry, owner });
      return;
    }
    if (state === leftState || from.people.size >= maxPeoplePerConnection) return;
    const least = Math.max(inSeconds(now), this.#departed.clockOf(clientID) + 1);
    // Whoever took a clock of the room's for his own, since it was told of him on a line that he did not know to be dead,
    // is above the time already.
    const told = clock < firstToldClock ? clock + least : Math.max(clock + 1, least);
    this.#store(from, entry, told, now, news);
  }

  /** From now on `from` speaks for somebody of `owner`'s, whose late close removes nothing. */
  #takeOver(
    from: RoomConnection,
    owner: RoomConnection,
    entry: AwarenessEntry,
    now: number,
    news: PresenceNews,
  ): void {
    const known = owner.people.get(entry.clientID);
    if (known === undefined) return;
    if (entry.state === leftState || from.people.size >= maxPeoplePerConnection) {
      news.others.push(...this.#remove(owner, entry.clientID));
      return;
    }
    owner.deletePerson(entry.clientID);
    this.#store(from, entry, nextTold(known, entry), now, news, known);
  }

  /** Somebody speaks for himself. Returns whether he only said again what he had said. */
  #change(from: RoomConnection, entry: AwarenessEntry, now: number, news: PresenceNews): boolean {
    const known = from.people.get(entry.clientID);
    if (known === undefined) return false;
    if (entry.state === leftState) {
      news.others.push(...this.#remove(from, entry.clientID, nextTold(known, entry)));
      return false;
    }
    this.#store(from, entry, nextTold(known, entry), now, news, known);
    return entry.clock > known.own && hash(entry.state) === known.stateHash;
  }

  #store(
    from: RoomConnection,
    { clientID, clock, state }: AwarenessEntry,
    told: number,
    now: number,
    news: PresenceNews,
    known?: OwnedPerson,
  ): void {
    this.#loadOwners().set(clientID, from);
    from.setPerson(clientID, { own: clock, told, state, stateHash: hash(state), toldAt: now });
    // What was asked for is told again under the same clock.
    if (known !== undefined && told === known.told && known.state !== null) return;
    news.others.push({ clientID, clock: told, state });
    if (!from.has(ConnectionFlag.text)) news.sender.push({ clientID, clock, state });
  }

  #remove(
    owner: RoomConnection,
    clientID: number,
    told = owner.people.get(clientID)?.told ?? 0,
  ): AwarenessEntry[] {
    this.#loadOwners().delete(clientID);
    owner.deletePerson(clientID);
    this.#departed.add(clientID, told);
    return [{ clientID, clock: told, state: leftState }];
  }

  /** Tells again of those who are quiet and do not renew themselves, so that nobody drops them as gone. */
  #renewQuiet(from: RoomConnection, now: number, news: PresenceNews): void {
    for (const owner of this.#connections) {
      if (owner === from) continue;
      const after = owner.has(ConnectionFlag.renews) ? renewsAgainWithinMs : renewAfterMs;
      for (const [clientID, person] of owner.people) {
        if (now - person.toldAt < after) continue;
        const told = person.told + 1;
        owner.setPerson(clientID, { ...person, told, toldAt: now });
        if (person.state === null) news.ask.push(owner);
        else news.renewed.push({ owner, entry: { clientID, clock: told, state: person.state } });
      }
    }
    for (const entry of this.#server.renew(now, renewAfterMs)) news.renewed.push({ owner: null, entry });
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

/** Whether a connection may turn out to be the next one of another's client. */
export function canBe(from: RoomConnection, other: RoomConnection | undefined): boolean {
  return other !== undefined && from.secretHash === other.secretHash && from.subject === other.subject;
}

/**
 * A dead socket can live for minutes, and its owner be back long before: with the same secret, or, where there is none, as
 * the same subject with nothing announced yet; since anybody, or another tab, could say so, then only if the old socket is
 * dead indeed.
 */
function rightToTakeOver(
  from: RoomConnection,
  owner: RoomConnection,
  { clientID, state }: AwarenessEntry,
): "yes" | "if dead" | "no" {
  if (owner.secretHash !== null && owner.secretHash === from.secretHash) return "yes";
  if (from.people.size > 0) return "no";
  // What a connection announces first is its own; what it announces after that it may have heard from another tab of its
  // browser, which then speaks for itself.
  const [first] = owner.people.keys();
  const isHeldForAnother =
    first !== clientID && from.origin === owner.origin && from.subject === owner.subject;
  if (isHeldForAnother && state !== leftState) return "yes";
  return owner.secretHash === null && canBe(from, owner) ? "if dead" : "no";
}

/** The clock to tell: as much above the last as the client's own is, and above it in any case when there is news. */
function nextTold(known: OwnedPerson, { clock, state }: AwarenessEntry): number {
  if (clock <= known.own && hash(state) === known.stateHash) return known.told;
  const next = clock < firstToldClock ? known.told + clock - known.own : clock;
  return Math.max(next, known.told + 1);
}

function createNews(): PresenceNews {
  return { others: [], sender: [], renewed: [], ask: [], contested: [] };
}

function inSeconds(now: number): number {
  return Math.floor(now / 1_000);
}

/** FNV-1a over UTF-16 units, 32 bits: tells states apart, protects nothing. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  return value >>> 0;
}
