// What people see when something breaks: a server that dies, a browser that dies, a line that is lost.
import { expect, onTestFinished } from "vitest";
import { launchChromium } from "../support/chromium.ts";
import { DemoPage } from "../support/demo-page.ts";
import { Line } from "../support/line.ts";
import { soon, test, waitForConnection } from "../support/stage.ts";
import type { Room, Stage } from "../support/stage.ts";

test("[B40] after a crash of the server the text is there and everybody connects by themselves", async ({
  stage,
  room,
}) => {
  const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
  await ada.type("before");
  await expect.poll(() => ben.text(), soon).toBe("before");
  await stage.server.kill();
  await expect.poll(() => ada.connection(), soon).toBe("offline");
  await expect.poll(() => ben.connection(), soon).toBe("offline");
  expect(await ada.others()).toEqual([]);
  await ada.type(" during");
  await stage.server.restart();
  await Promise.all([waitForConnection(ada), waitForConnection(ben)]);
  await expect.poll(() => ben.text(), soon).toBe("before during");
  await ben.type(" after");
  await expect.poll(() => ada.text(), soon).toBe("before during after");
  await expect.poll(() => ada.others(), soon).toEqual(["Ben"]);
  await expect.poll(() => ben.others(), soon).toEqual(["Ada"]);
  for (const page of [ada, ben]) page.complaints.forgetUnreachable();
});

test("[B41] text that was stored outlives a crash, with nobody there to bring it back", async ({
  stage,
  room,
}) => {
  const ada = await room.open("Ada");
  const words = `written down in ${room.name}`;
  await ada.paste(words);
  await expect.poll(() => stage.server.hasStored(words), soon).toBe(true);
  await ada.close();
  await stage.server.kill();
  await stage.server.restart();
  const ben = await room.open("Ben");
  await expect.poll(() => ben.text(), soon).toBe(words);
});

test("[B42, H7] somebody whose browser dies disappears", async ({ room }) => {
  const other = await launchChromium();
  const ben = await room.open("Ben");
  const ada = await DemoPage.open(other.browser, room.address, { name: "Ada" });
  await waitForConnection(ada);
  await ada.type("gone in a moment");
  await expect.poll(() => ben.others(), soon).toEqual(["Ada"]);
  await expect.poll(() => ben.cursors(), soon).toEqual(["Ada"]);
  await other.kill();
  await expect.poll(() => ben.others(), soon).toEqual([]);
  await expect.poll(() => ben.cursors(), soon).toEqual([]);
});

/** Somebody who is connected through a line that can be cut. */
async function openByLine(stage: Stage, room: Room, name: string): Promise<[DemoPage, Line]> {
  const line = await Line.open(stage.server.port);
  onTestFinished(() => line.close());
  const address = room.address.replace(String(stage.server.port), String(line.port));
  return [await room.add(await DemoPage.open(stage.chromium.browser, address, { name })), line];
}

test("[B43] what is written without a connection is sent when it is back", async ({ stage, room }) => {
  const ben = await room.open("Ben");
  const [ada, line] = await openByLine(stage, room, "Ada");
  await ada.type("online");
  await expect.poll(() => ben.text(), soon).toBe("online");
  line.cut();
  await expect.poll(() => ada.connection(), soon).toBe("offline");
  await expect.poll(() => ben.others(), soon).toEqual([]);
  await ada.type(", offline");
  await ben.type(", meanwhile");
  line.mend();
  await waitForConnection(ada);
  await expect.poll(() => ben.text(), soon).toContain(", offline");
  const text = await ben.text();
  expect(text).toContain(", meanwhile");
  await expect.poll(() => ada.text(), soon).toBe(text);
  await expect.poll(() => ben.others(), soon).toEqual(["Ada"]);
  ada.complaints.forgetUnreachable();
});

test("[B44, H8] somebody whose old connection ends only after the new one began is there once, and stays", async ({
  stage,
  room,
}) => {
  const ben = await room.open("Ben");
  const [ada, line] = await openByLine(stage, room, "Ada");
  await ada.type("before");
  await expect.poll(() => ben.cursors(), soon).toEqual(["Ada"]);
  line.cutNearEnd();
  await expect.poll(() => ada.connection(), soon).toBe("offline");
  line.mend();
  await waitForConnection(ada);
  await ada.type(" and after");
  await expect.poll(() => ben.text(), soon).toBe("before and after");
  expect(await ben.others()).toEqual(["Ada"]);
  line.endFarEnd();
  await ada.type(", still here");
  await expect.poll(() => ben.text(), soon).toBe("before and after, still here");
  expect(await ben.others()).toEqual(["Ada"]);
  expect(await ben.cursors()).toEqual(["Ada"]);
  ada.complaints.forgetUnreachable();
});
