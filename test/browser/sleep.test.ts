// Rooms that fall asleep with people in them: after ten seconds without a message a room hibernates. Nobody
// must be able to tell. The tests wait at the same time, each in a room of its own.
import { setTimeout } from "node:timers/promises";
import { describe } from "vitest";
import { soon, test } from "../support/stage.ts";

const quietMs = 13_000;

describe.concurrent("after quiet seconds", () => {
  test("[B30, H13] a keystroke arrives, and everybody is still listed", async ({ room, expect }) => {
    const ada = await room.open("Ada");
    const ben = await room.open("Ben");
    await ada.type("good night");
    await expect.poll(() => ben.text(), soon).toBe("good night");
    await setTimeout(quietMs);
    await ben.type(", good morning");
    await expect.poll(() => ada.text(), soon).toBe("good night, good morning");
    expect(await ada.others()).toEqual(["Ben"]);
    expect(await ben.others()).toEqual(["Ada"]);
  });

  test("[B31, H6] a newcomer sees everybody, with cursor, and the text", async ({ room, expect }) => {
    const ada = await room.open("Ada");
    const ben = await room.open("Ben");
    await ada.type("fast");
    await ben.type(" asleep");
    await expect.poll(() => ada.text(), soon).toBe("fast asleep");
    await setTimeout(quietMs);
    const cleo = await room.open("Cleo");
    await expect.poll(() => cleo.text(), soon).toBe("fast asleep");
    await expect.poll(() => cleo.others(), soon).toEqual(["Ada", "Ben"]);
    await expect.poll(() => cleo.cursors(), soon).toEqual(["Ada", "Ben"]);
    await expect.poll(() => ada.others(), soon).toEqual(["Ben", "Cleo"]);
  });

  test("[B32, H5] somebody who leaves disappears", async ({ room, expect }) => {
    const ada = await room.open("Ada");
    const ben = await room.open("Ben");
    await ada.type("leaving");
    await expect.poll(() => ben.cursors(), soon).toEqual(["Ada"]);
    await setTimeout(quietMs);
    await ada.close();
    await expect.poll(() => ben.others(), soon).toEqual([]);
    await expect.poll(() => ben.cursors(), soon).toEqual([]);
  });
});
