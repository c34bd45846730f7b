// The demo: a text that everybody with the same address edits together.
import YProvider from "y-partyserver/provider";
import { Doc } from "yjs";
import { connectionWords, watchConnection } from "./connection-state.js";
import { createEditor } from "./editor.js";
import { announceMe, showOthers } from "./people.js";
import { readRoomName } from "./room-name.js";

function element<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page has no such element: ${id}`);
  return found;
}

const room = readRoomName();
document.title = `${room} · Dormouse`;
element("room-name", HTMLElement).textContent = room;
addEventListener("hashchange", () => location.reload());

const doc = new Doc();
const provider = new YProvider(location.host, encodeURIComponent(room), doc, {
  protocol: location.protocol === "https:" ? "wss" : "ws",
});

const connection = element("connection", HTMLElement);
watchConnection(provider, (state) => {
  connection.dataset["state"] = state;
  connection.textContent = connectionWords[state];
});

const myName = element("my-name", HTMLInputElement);
announceMe(provider.awareness, myName);
showOthers(provider.awareness, element("others", HTMLElement));

const editor = createEditor(element("editor", HTMLElement), doc.getText("text"), provider.awareness);
editor.focus();
myName.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault(); // or the line break would go into the text
  editor.focus();
});

const copyLink = element("copy-link", HTMLButtonElement);
copyLink.addEventListener("click", () => {
  void copyAddress().then((isCopied) => {
    copyLink.textContent = isCopied ? "Link copied" : "Copy the address";
    setTimeout(() => (copyLink.textContent = "Copy link"), 2000);
  });
});

/** Whether it worked: browsers refuse it to pages that came over plain HTTP from another machine. */
async function copyAddress(): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(location.href);
    return true;
  } catch {
    return false;
  }
}
