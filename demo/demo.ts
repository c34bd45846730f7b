// The demo: a text that everybody with the same address edits together.
import { YProvider } from "../client/index.js";
import { Doc } from "yjs";
import { connectionWords, watchConnection } from "./connection-state.js";
import { createEditor } from "./editor.js";
import { announceMe, showOthers } from "./people.js";
import { findFault, readRoomName } from "./room-name.js";

function element<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page has no such element: ${id}`);
  return found;
}

const connection = element("connection", HTMLElement);
const editorPlace = element("editor", HTMLElement);
const copyLink = element("copy-link", HTMLButtonElement);

const room = readRoomName();
document.title = `${room} · Dormouse`;
element("room-name", HTMLElement).textContent = room;
element("room-name", HTMLElement).title = room;
addEventListener("hashchange", () => location.reload());

const fault = findFault(room);
if (fault === undefined) enter();
else refuse(fault);

function enter(): void {
  const doc = new Doc();
  const provider = new YProvider(location.host, room, doc, {
    protocol: location.protocol === "https:" ? "wss" : "ws",
  });
  const { awareness } = provider;
  watchConnection(provider, (state) => {
    connection.dataset["state"] = state;
    connection.textContent = connectionWords[state];
  });

  // The room tells who is there as it sends the text, and of some a moment later.
  const othersKnown = new Promise<void>((resolve) => provider.once("sync", () => setTimeout(resolve, 200)));
  const myName = element("my-name", HTMLInputElement);
  announceMe(awareness, myName, othersKnown);
  showOthers(awareness, element("others", HTMLElement));

  const editor = createEditor(editorPlace, doc.getText("text"), awareness);
  editor.focus();
  myName.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault(); // or the line break would go into the text
    editor.focus();
  });
}

/** Says why there is no such room, where the text would be: nothing that was written there would be kept. */
function refuse(sentence: string): void {
  connection.dataset["state"] = "refused";
  connection.textContent = "No such room.";
  const another = document.createElement("a");
  another.href = "/";
  another.textContent = "Open a new room";
  editorPlace.append(sentence, " ", another);
}

copyLink.addEventListener("click", () => {
  void copyAddress().then((isCopied) => {
    copyLink.textContent = isCopied ? "Link copied" : "Could not copy: take the address above";
    setTimeout(() => (copyLink.textContent = "Copy link"), isCopied ? 2000 : 5000);
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
