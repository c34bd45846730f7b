// Unmodified clients against the running Worker: each kind alone and all together, in Node and in browsers.
import { describe } from "vitest";
import { lineups, test } from "./party.ts";

describe.each(lineups)("$title", (lineup) => {
  test("[C1] what all write at once is the same text for all", async ({ party, expect }) => {
    const participants = await party.gather(lineup);
    await Promise.all(participants.map((participant, index) => participant.write(`from ${index}; `)));
    await party.expectAll((state) => state.text.length, 8 * participants.length);
    const text = (await participants[0]?.read())?.text ?? "";
    for (const index of participants.keys()) expect(text).toContain(`from ${index}; `);
    await party.expectAll((state) => state.text, text);
  });

  test("[C2] whoever comes sees everybody, and whoever leaves disappears", async ({ party }) => {
    const participants = [...(await party.gather(lineup))];
    for (const participant of participants.slice(1)) {
      await party.leave(participant);
      await party.expectAll((state) => state.people, party.names);
    }
  });

  test("[C3] whoever starts anew gets the text and is there once", async ({ party }) => {
    const participants = await party.gather(lineup);
    await participants[0]?.write("still here");
    await party.expectAll((state) => state.text, "still here");
    for (const participant of participants) {
      await participant.reload();
      await party.expectAll((state) => state.text, "still here");
      await party.expectAll((state) => state.people, party.names);
    }
  });
});
