// The demo: a text that everybody with the same address edits together.
import YProvider from "y-partyserver/provider";
import { Doc } from "yjs";
import { connectionWords, watchConnection } from "./connection-state.js";
import { createEditor } from "./editor.js";
import { announceMe, showOthers } from "./people.js";
import { readRoomName } from "./room-name.js";

function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element #${id}.`);
  return found as T;
}

const room = readRoomName();
document.title = `${room} · Dormouse`;
element("room-name").textContent = room;
addEventListener("hashchange", () => location.reload());

const doc = new Doc();
const provider = new YProvider(location.host, encodeURIComponent(room), doc, {
  protocol: location.protocol === "https:" ? "wss" : "ws",
});

watchConnection(provider, (state) => {
  const line = element("connection");
  line.dataset["state"] = state;
  line.textContent = connectionWords[state];
});
announceMe(provider.awareness, element<HTMLInputElement>("my-name"));
showOthers(provider.awareness, element("others"));

const editor = createEditor(element("editor"), doc.getText("text"), provider.awareness);
editor.focus();
element("my-name").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault(); // or the line break would go to the editor
  editor.focus();
});

const copyLink = element("copy-link");
copyLink.addEventListener("click", async () => {
  copyLink.textContent = (await copy(location.href)) ? "Link copied" : "Copy the address";
  setTimeout(() => (copyLink.textContent = "Copy link"), 2000);
});

/** Whether it worked: browsers refuse it on pages that came over plain HTTP from another machine. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
