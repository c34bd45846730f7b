// Unmodified clients and a server that dies under them.
import { lineups, test } from "./party.ts";

const everybody = lineups.slice(-1);

test.for(everybody)(
  "[C5] after a crash all come back with what they wrote meanwhile",
  async (lineup, { party, stage }) => {
    const participants = await party.gather(lineup);
    await participants[0]?.write("before; ");
    await party.expectAll((state) => state.text, "before; ");
    await stage.server.kill();
    await party.expectAll((state) => state.isSynced, false);
    await Promise.all(participants.map((participant, index) => participant.write(`${index}; `)));
    await stage.server.restart();
    await party.expectAll((state) => state.isSynced, true);
    await party.expectAll((state) => state.text.length, 8 + 3 * participants.length);
    const text = (await participants[0]?.read())?.text ?? "";
    await party.expectAll((state) => state.text, text);
    await party.expectAll((state) => state.people, party.names);
  },
);
