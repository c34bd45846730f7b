// People who write together in the demo, with nothing going wrong.
import { describe, expect, onTestFinished } from "vitest";
import YProvider from "y-partyserver/provider";
import { createRelativePositionFromTypeIndex, Doc } from "yjs";
import { soon, test } from "../support/stage.ts";

describe("text", () => {
  test("[B1] two people who type at once both see what both wrote", async ({ room }) => {
    const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
    await Promise.all([ada.type("the quick brown fox"), ben.type("JUMPS OVER THE DOG")]);
    await expect.poll(() => ada.text(), soon).toHaveLength(37);
    const text = await ada.text();
    await expect.poll(() => ben.text(), soon).toBe(text);
    expect(text.replaceAll(/[^a-z]/g, "")).toBe("thequickbrownfox");
    expect(text.replaceAll(/[^A-Z]/g, "")).toBe("JUMPSOVERTHEDOG");
  });

  test("[B2] a page that is loaded again shows the text", async ({ room }) => {
    const ada = await room.open("Ada");
    const ben = await room.open("Ben");
    await ada.type("still here");
    await expect.poll(() => ben.text(), soon).toBe("still here");
    await ada.page.reload();
    await expect.poll(() => ada.text(), soon).toBe("still here");
    await ben.type(" and there");
    await expect.poll(() => ada.text(), soon).toBe("still here and there");
  });

  test("[B3] a room that everybody left still has its text", async ({ room }) => {
    const ada = await room.open("Ada");
    await ada.type("left behind");
    await ada.close();
    const ben = await room.open("Ben");
    await expect.poll(() => ben.text(), soon).toBe("left behind");
  });

  test("[B4] undo takes back one's own writing and leaves that of others", async ({ room }) => {
    const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
    await ada.type("mine ");
    await expect.poll(() => ben.text(), soon).toBe("mine ");
    await ben.type("yours");
    await expect.poll(() => ada.text(), soon).toBe("mine yours");
    await ada.page.keyboard.press("Control+z");
    await expect.poll(() => ada.text(), soon).toBe("yours");
    await expect.poll(() => ben.text(), soon).toBe("yours");
    await ada.page.keyboard.press("Control+y");
    await expect.poll(() => ben.text(), soon).toBe("mine yours");
  });
});

describe("people", () => {
  test("[B5] names and cursors of others appear, and follow a new name", async ({ room }) => {
    const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
    await expect.poll(() => ada.others(), soon).toEqual(["Ben"]);
    await expect.poll(() => ben.others(), soon).toEqual(["Ada"]);
    await ada.type("hello");
    await expect.poll(() => ben.cursors(), soon).toEqual(["Ada"]);
    await ada.rename("Ada Lovelace");
    await expect.poll(() => ben.others(), soon).toEqual(["Ada Lovelace"]);
    await expect.poll(() => ben.cursors(), soon).toEqual(["Ada Lovelace"]);
  });

  test("[B6, H6] a newcomer sees at once everybody who is there, however quiet", async ({ room }) => {
    const ada = await room.open("Ada");
    await ada.type("I was here first");
    const ben = await room.open("Ben");
    await expect.poll(() => ben.others(), soon).toEqual(["Ada"]);
    await expect.poll(() => ben.cursors(), soon).toEqual(["Ada"]);
    await ben.type(", I second");
    const cleo = await room.open("Cleo");
    await expect.poll(() => cleo.others(), soon).toEqual(["Ada", "Ben"]);
    await expect.poll(() => cleo.cursors(), soon).toEqual(["Ada", "Ben"]);
  });

  test("[B9] two people of one colour are told apart by their names", async ({ room }) => {
    const color = "#1f6fb5";
    const [ada, ben, cleo] = await Promise.all([
      room.open("Ada", { color }),
      room.open("Ben", { color }),
      room.open("Cleo"),
    ]);
    await ada.type("a");
    await ben.type("b");
    await expect.poll(() => cleo.cursors(), soon).toEqual(["Ada", "Ben"]);
  });

  test("[B7] somebody who leaves disappears, name and cursor", async ({ room }) => {
    const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
    await ada.type("bye");
    await expect.poll(() => ben.cursors(), soon).toEqual(["Ada"]);
    await ada.close();
    await expect.poll(() => ben.others(), soon).toEqual([]);
    await expect.poll(() => ben.cursors(), soon).toEqual([]);
  });

  test("[B8] somebody who loads the page again is there once", async ({ room }) => {
    const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
    await expect.poll(() => ben.others(), soon).toEqual(["Ada"]);
    await ada.page.reload();
    await expect.poll(() => ada.others(), soon).toEqual(["Ben"]);
    await expect.poll(() => ben.others(), soon).toEqual(["Ada"]);
  });

  test("[B10] two windows of one browser are two, and one that is closed disappears", async ({ room }) => {
    const ada = await room.open("Ada");
    const [again, ben] = await Promise.all([ada.openTab(), room.open("Ben")]);
    await room.add(again);
    await again.type("from the second window");
    await expect.poll(() => ada.text(), soon).toBe("from the second window");
    await expect.poll(() => ben.others(), soon).toEqual(["Ada", "Ada"]);
    await again.closeTab();
    await expect.poll(() => ben.others(), soon).toEqual(["Ada"]);
    await expect.poll(() => ada.others(), soon).toEqual(["Ben"]);
  });

  test("[B11] somebody whose name and colour are nonsense breaks nothing", async ({ stage, room }) => {
    const ada = await room.open("Ada");
    const doc = new Doc();
    const provider = new YProvider(`127.0.0.1:${stage.server.port}`, room.name, doc, { disableBc: true });
    onTestFinished(() => provider.destroy());
    const position = createRelativePositionFromTypeIndex(doc.getText("text"), 0);
    provider.awareness.setLocalState({
      user: { name: ["<b>"], color: "red; position: fixed; inset: 0", colorLight: 7 },
      cursor: { anchor: position, head: position },
    });
    await expect.poll(() => ada.others(), soon).toEqual(["Somebody"]);
    await expect.poll(() => ada.cursors(), soon).toEqual(["Somebody"]);
    const cursor = ada.page.locator(".cursor");
    expect(await cursor.evaluate((drawn) => getComputedStyle(drawn).position)).toBe("absolute");
    provider.awareness.setLocalStateField("cursor", { anchor: { item: "no id" }, head: 7 });
    await expect.poll(() => ada.cursors(), soon).toEqual([]);
  });
});

describe("cursors", () => {
  test("[B12] the name at a cursor fades after it moved and comes back under the pointer; the cursor stays", async ({
    room,
  }) => {
    const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
    await ada.type("here");
    const name = ben.page.locator(".cursor-name", { hasText: "Ada" });
    const opacity = () => name.evaluate((drawn) => getComputedStyle(drawn).opacity);
    await expect.poll(opacity, soon).toBe("1");
    await expect.poll(opacity, soon).toBe("0");
    const cursor = ben.page.locator(".cursor");
    const box = await cursor.boundingBox();
    await ben.page.mouse.move(box?.x ?? 0, (box?.y ?? 0) + 5);
    await expect.poll(opacity, soon).toBe("1");
    await ben.page.mouse.move(0, 0);
    await expect.poll(opacity, soon).toBe("0");
    expect(await cursor.isVisible()).toBe(true);
    await ada.type("!");
    await expect.poll(opacity, soon).toBe("1");
  });

  test("[B12] names at one place do not cover each other", async ({ room }) => {
    const [ada, ben, cleo] = await Promise.all([room.open("Ada"), room.open("Ben"), room.open("Cleo")]);
    await ada.type("x");
    await expect.poll(() => ben.text(), soon).toBe("x");
    await ben.type("");
    await expect.poll(() => cleo.cursors(), soon).toEqual(["Ada", "Ben"]);
    const boxes = await Promise.all(
      ["Ada", "Ben"].map((name) => cleo.page.locator(".cursor-name", { hasText: name }).boundingBox()),
    );
    const [upper, lower] = boxes.map((box) => box ?? { y: 0, height: 0 }).toSorted((a, b) => a.y - b.y);
    expect((upper?.y ?? 0) + (upper?.height ?? 0)).toBeLessThanOrEqual(lower?.y ?? 0);
  });

  test("[B13] somebody who has done nothing yet has no cursor, and can write at once", async ({ room }) => {
    const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
    await ben.type("hello");
    await expect.poll(() => ada.cursors(), soon).toEqual(["Ben"]);
    expect(await ben.cursors()).toEqual([]);
    await ada.page.keyboard.type("oh, ");
    await expect.poll(() => ben.text(), soon).toBe("oh, hello");
    await expect.poll(() => ben.cursors(), soon).toEqual(["Ada"]);
  });

  test("[B14] what others select moves no text", async ({ room }) => {
    const [ada, ben] = await Promise.all([room.open("Ada"), room.open("Ben")]);
    await ada.paste("first\n\nthird, which is longer\nfourth");
    await expect.poll(() => ben.text(), soon).toContain("fourth");
    const places = () =>
      ben.page.locator(".cm-line").evaluateAll((lines) =>
        lines.map((line) => {
          const range = document.createRange();
          range.selectNodeContents(line);
          return JSON.stringify(range.getBoundingClientRect());
        }),
      );
    const before = await places();
    expect(await ben.page.locator(".selection").count()).toBe(0);
    await ada.page.keyboard.press("Control+a");
    await expect.poll(() => ben.page.locator(".selection").count(), soon).toBeGreaterThan(0);
    expect(await places()).toEqual(before);
  });
});
