// Clients that say nothing for longer than y-websocket puts up with: it gives up a line after 30 silent seconds,
// and people too. All rooms are quiet at the same time.
import { setTimeout } from "node:timers/promises";
import { lineups, Party, test as partyTest } from "./party.ts";

const quietMs = 70_000;

const test = partyTest.extend("quietParties", { scope: "file" }, async ({ stage }, { onCleanup }) => {
  const parties = new Map(lineups.map((lineup) => [lineup, new Party(stage)]));
  onCleanup(async () => {
    await Promise.all([...parties.values()].map((party) => party.end()));
  });
  await Promise.all([...parties].map(([lineup, party]) => party.gather(lineup)));
  await setTimeout(quietMs);
  return parties;
});

for (const lineup of lineups) {
  test(`[C4] after 70 quiet seconds nobody is missed, nobody connected again, and text arrives: ${lineup.title}`, async ({
    quietParties,
    expect,
  }) => {
    const party = quietParties.get(lineup);
    if (party === undefined) throw new Error("There was no such party.");
    await party.expectAll((state) => state.people, party.names);
    await party.expectAll((state) => state.missedCount, 0);
    await party.expectAll((state) => state.connectCount, 1);
    await party.participants[0]?.write("good morning");
    await party.expectAll((state) => state.text, "good morning");
    expect(party.participants.flatMap((participant) => participant.takeComplaints())).toEqual([]);
  });
}
