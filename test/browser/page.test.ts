// The page itself: its address, its sizes, its keys.
import { describe, expect } from "vitest";
import { DemoPage } from "../support/demo-page.ts";
import { soon, test, waitForConnection } from "../support/stage.ts";

describe("address", () => {
  test("[B20] names the room; where it names none, a readable name is made up and put there", async ({
    stage,
    room,
  }) => {
    const ada = await room.add(
      await DemoPage.open(stage.chromium.browser, stage.server.url, { name: "Ada" }),
    );
    const address = ada.page.url();
    expect(address).toMatch(/\/#[a-z]+-[a-z]+-\d{3}$/);
    const ben = await room.add(await DemoPage.open(stage.chromium.browser, address, { name: "Ben" }));
    await ada.type("found it");
    await expect.poll(() => ben.text(), soon).toBe("found it");
  });

  test("[B21] changed to another room, shows that room", async ({ room }) => {
    const ada = await room.open("Ada");
    await ada.type("the first room");
    const other = `${room.name} & 100% more/less?`;
    await ada.page.evaluate((name) => (location.hash = encodeURIComponent(name)), other);
    await expect.poll(() => ada.page.title(), soon).toBe(`${other} · Dormouse`);
    await waitForConnection(ada);
    await expect.poll(() => ada.text(), soon).toBe("");
    await ada.type("the second room");
    const ben = await room.add(await ada.openTab());
    await expect.poll(() => ben.text(), soon).toBe("the second room");
  });

  test("[B22] is copied by a button", async ({ room }) => {
    const ada = await room.open("Ada", { permissions: ["clipboard-read", "clipboard-write"] });
    await ada.page.getByRole("button", { name: "Copy link" }).click();
    await ada.page.getByRole("button", { name: "Link copied" }).waitFor();
    expect(await ada.page.evaluate(() => navigator.clipboard.readText())).toBe(room.address);
  });

  test("[B22] that the browser does not let it copy is said", async ({ room }) => {
    const ada = await room.open("Ada");
    await ada.page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("denied"));
    });
    await ada.page.getByRole("button", { name: "Copy link" }).click();
    await ada.page.getByRole("button", { name: "Could not copy: take the address above" }).waitFor();
  });

  for (const [kind, name] of [
    ["too long", "ü".repeat(257)],
    ["a path", ".."],
  ] as const) {
    test(`[B29] a name that no room can have is told in words, with no text to write in (${kind})`, async ({
      stage,
      room,
    }) => {
      const { page } = await DemoPage.open(stage.chromium.browser, `${stage.server.url}/#${name}`);
      expect(await page.getByRole("status").innerText()).toBe("No such room.");
      expect(await page.getByRole("main").innerText()).toMatch(
        /^(The name of a|A) room .*\. Open a new room$/,
      );
      expect(await page.getByRole("textbox").count()).toBe(0);
      await page.getByRole("link", { name: "Open a new room" }).click();
      await page.getByRole("textbox", { name: "Shared text" }).waitFor();
      expect(page.url()).not.toContain(name);
      await page.close();
      expect(await room.close()).toEqual([]);
    });
  }
});

describe("me", () => {
  test("[B23] a stranger gets a name and a colour, and keeps both", async ({ stage, room }) => {
    const page = await room.add(await DemoPage.open(stage.chromium.browser, room.address));
    const ben = await room.open("Ben");
    await expect.poll(() => ben.others(), soon).toEqual([expect.stringMatching(/^\w+$/)]);
    const [name] = await ben.others();
    const color = await ben.color(name ?? "");
    await page.page.reload();
    await room.add(page);
    await expect.poll(() => ben.others(), soon).toEqual([name]);
    expect(await ben.color(name ?? "")).toBe(color);
  });

  test("[B15] strangers get names and colours that nobody else in the room has", async ({ stage, room }) => {
    const { browser } = stage.chromium;
    const strangers: DemoPage[] = [];
    for (let count = 0; count < 4; count += 1) {
      strangers.push(await room.add(await DemoPage.open(browser, room.address)));
      await expect.poll(() => strangers[0]?.others(), soon).toHaveLength(count);
    }
    const people = await Promise.all(strangers.map((stranger) => stranger.remembered()));
    expect(new Set(people.map(({ name }) => name)).size).toBe(4);
    expect(new Set(people.map(({ color }) => color)).size).toBe(4);
  });

  test("[B24] a name that was changed is still there after a reload", async ({ stage, room }) => {
    const page = await room.add(await DemoPage.open(stage.chromium.browser, room.address));
    await page.rename("Grace");
    await page.page.reload();
    const ben = await room.open("Ben");
    await expect.poll(() => ben.others(), soon).toEqual(["Grace"]);
  });
});

describe("reach", () => {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`[B25] fits a window as wide as a phone, without scrolling sideways (${colorScheme})`, async ({
      room,
    }) => {
      const viewport = { width: 390, height: 844 };
      const ada = await room.open("Ada", { viewport, colorScheme });
      const other = await room.open("Somebody with a rather long name");
      await ada.type(`${"wide".repeat(60)}\n`);
      await other.type(`${"i".repeat(30)} ${"m".repeat(17)}`);
      await expect.poll(() => ada.cursors(), soon).toHaveLength(1);
      for (const selector of ["html", ".cm-scroller"]) {
        const width = await ada.page.locator(selector).evaluate((element) => element.scrollWidth);
        expect(width, selector).toBeLessThanOrEqual(viewport.width);
      }
    });
  }

  for (const width of [390, 1100]) {
    test(`[B25] a long name of a room leaves state and button where they are (${width} pixels)`, async ({
      room,
    }) => {
      const options = { viewport: { width, height: 700 } };
      const ada = await room.open("Ada", options);
      const places = () =>
        Promise.all(["#connection", "#copy-link"].map((id) => ada.page.locator(id).boundingBox()));
      const before = await places();
      await ada.page.locator("#room-name").evaluate((label) => (label.textContent = "long ".repeat(100)));
      expect(await places()).toEqual(before);
    });
  }

  test("[B26] can be used with the keyboard alone", async ({ room }) => {
    const ada = await room.open("Ada", { permissions: ["clipboard-read", "clipboard-write"] });
    const ben = await room.open("Ben");
    const { keyboard } = ada.page;
    await keyboard.type("no mouse");
    await expect.poll(() => ben.text(), soon).toBe("no mouse");
    await keyboard.press("Shift+Tab");
    await keyboard.press("Control+a");
    await keyboard.type("Tabitha");
    await keyboard.press("Shift+Tab");
    await expect.poll(() => ben.others(), soon).toEqual(["Tabitha"]);
    await keyboard.press("Enter");
    await ada.page.getByRole("button", { name: "Link copied" }).waitFor();
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    await keyboard.type(" at all");
    await expect.poll(() => ben.text(), soon).toBe("no mouse at all");
  });

  test("[B27] tells a screen reader what is what", async ({ room }) => {
    const ada = await room.open("Ada");
    await room.open("Ben");
    await expect.poll(() => ada.others(), soon).toEqual(["Ben"]);
    const { page } = ada;
    await expect.poll(() => page.getByRole("status").innerText(), soon).toBe("Connected");
    expect(await page.getByRole("textbox", { name: "Your name" }).inputValue()).toBe("Ada");
    expect(await page.getByRole("textbox", { name: "Shared text" }).count()).toBe(1);
    const people = page.getByRole("region", { name: "Who is here" });
    expect(await people.getByRole("listitem").allInnerTexts()).toEqual(["Ben"]);
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toContain(room.name);
  });

  test("[B28] asks nothing of any other host", async ({ stage, room }) => {
    const page = await DemoPage.open(stage.chromium.browser, "about:blank");
    const asked: string[] = [];
    page.page.on("request", (request) => asked.push(new URL(request.url()).host));
    page.page.on("websocket", (socket) => asked.push(new URL(socket.url()).host));
    await page.page.goto(room.address);
    await room.add(page);
    expect(new Set(asked)).toEqual(new Set([`localhost:${stage.server.port}`]));
  });
});
