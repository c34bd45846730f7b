// The React example of docs/client.md, as it is printed there, in a browser.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { readFences } from "../../scripts/check-docs.mts";
import { Complaints } from "../support/complaints.ts";
import { soon, test } from "../support/stage.ts";

const html = `<!doctype html>
<link rel="icon" href="data:,">
<div id="app"></div>
<script type="module" src="/react.js"></script>`;

const root = join(import.meta.dirname, "../..");

async function bundleExample(port: number): Promise<string> {
  const fences = readFences(readFileSync(join(root, "docs/client.md"), "utf8"));
  const [example, ...others] = fences.filter(({ language }) => language === "tsx");
  expect(others).toEqual([]);
  const { outputFiles } = await build({
    stdin: {
      contents: example?.code.replace("localhost:8787", `localhost:${port}`) ?? "",
      loader: "tsx",
      resolveDir: root,
    },
    alias: { "dormouse/react": join(root, "client/react/index.ts") },
    jsx: "automatic",
    bundle: true,
    write: false,
    format: "esm",
    define: { "process.env.NODE_ENV": '"development"' },
  });
  return outputFiles[0]?.text ?? "";
}

/** Pages of this machine may connect to it; what Playwright answers by itself may not. */
async function serve(script: string): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    const isScript = request.url === "/react.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : html);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  return { url, close: () => void server.close() };
}

test("[X20] the React example of the client page works: text, people, saved, and leaving", async ({
  stage,
}) => {
  const { server, chromium } = stage;
  const script = await bundleExample(server.port);
  const room = `react-${randomUUID()}`;
  const pages = await serve(script);
  const context = await chromium.browser.newContext();
  const complaints: Complaints[] = [];
  const open = async (name: string): Promise<Page> => {
    const page = await context.newPage();
    complaints.push(new Complaints(page));
    await page.goto(`${pages.url}/#${room}/${name}`);
    await page.getByText("Everything is saved.").waitFor(soon);
    return page;
  };
  const ada = await open("Ada");
  const grace = await open("Grace");
  await expect.poll(() => ada.getByText("Here:").textContent(), soon).toBe("Here: Ada, Grace");
  await ada.locator(".cm-content").click();
  await ada.keyboard.type("hello from Ada");
  await expect.poll(() => grace.locator(".cm-line").first().textContent(), soon).toContain("hello from Ada");
  await ada.getByText("Everything is saved.").waitFor(soon);
  await grace.close();
  await expect.poll(() => ada.getByText("Here:").textContent(), soon).toBe("Here: Ada");
  await context.close();
  pages.close();
  expect(complaints.flatMap((one) => one.take())).toEqual([]);
});
