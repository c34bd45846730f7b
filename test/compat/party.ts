// Clients of several kinds in one room: who comes together in these tests, and what each of them sees.
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { soon, test as stageTest } from "../support/stage.ts";
import type { Stage } from "../support/stage.ts";
import { clientKinds } from "./client.ts";
import type { ClientKind } from "./client.ts";
import { BrowserParticipant, NodeParticipant } from "./participant.ts";
import type { ClientState, Participant } from "./participant.ts";

interface Member {
  readonly kind: ClientKind;
  readonly place: "Node" | "a browser";
}

/** Which clients meet. */
export interface Lineup {
  readonly title: string;
  readonly members: readonly Member[];
}

const inNode = clientKinds.map((kind): Member => ({ kind, place: "Node" }));
const inBrowsers = clientKinds.map((kind): Member => ({ kind, place: "a browser" }));

/** Every kind with its like, and all kinds together. */
export const lineups: readonly Lineup[] = [
  ...[...inNode, ...inBrowsers].map((member) => ({
    title: `${member.kind} in ${member.place}`,
    members: [member, member],
  })),
  { title: "all kinds in Node", members: inNode },
  { title: "all kinds in browsers", members: inBrowsers },
  { title: "all kinds in Node and in browsers", members: [...inNode, ...inBrowsers] },
];

/** A room and the clients in it. */
export class Party {
  readonly #stage: Stage;
  readonly #room = `test-${randomUUID()}`;
  readonly #participants: Participant[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Lets all members of a line-up in, one after another, and waits until all see all. */
  async gather({ members }: Lineup): Promise<readonly Participant[]> {
    for (const [index, member] of members.entries()) await this.join(member, `${index + 1} ${member.kind}`);
    await this.expectAll((state) => state.people, this.names);
    return this.#participants;
  }

  async join({ kind, place }: Member, name: string): Promise<Participant> {
    const options = { kind, name, room: this.#room, port: this.#stage.server.port };
    const participant =
      place === "Node"
        ? new NodeParticipant(options)
        : await BrowserParticipant.open(this.#stage.chromium.browser, options);
    this.#participants.push(participant);
    await expect.poll(async () => (await participant.read()).isSynced, soon).toBe(true);
    return participant;
  }

  get participants(): readonly Participant[] {
    return this.#participants;
  }

  /** Who is in the room, in alphabetical order. */
  get names(): string[] {
    return this.#participants.map(({ name }) => name).toSorted();
  }

  async leave(participant: Participant): Promise<void> {
    this.#participants.splice(this.#participants.indexOf(participant), 1);
    await participant.leave();
    expect(participant.takeComplaints(), "complaints").toEqual([]);
  }

  /** Waits until everybody sees `expected`. */
  async expectAll<T>(view: (state: ClientState) => T, expected: T): Promise<void> {
    const views = async () => (await Promise.all(this.#participants.map((one) => one.read()))).map(view);
    await expect.poll(views, soon).toEqual(this.#participants.map(() => expected));
  }

  /** Everybody leaves. What they complained about is returned. */
  async end(): Promise<string[]> {
    await Promise.all(this.#participants.map((participant) => participant.leave()));
    return this.#participants.flatMap((participant) => participant.takeComplaints());
  }
}

/** `test` with a party to invite to. */
export const test = stageTest.extend("party", ({ stage }, { onCleanup }) => {
  const party = new Party(stage);
  onCleanup(async () => {
    const complaints = await party.end();
    expect([...complaints, ...stage.server.takeUnexpectedLines()], "complaints").toEqual([]);
  });
  return party;
});
