// Who is here: me, with a name that can be edited in place, and the others.
import type { Awareness } from "y-protocols/awareness";
import { isRemembered, loadMe, parsePerson, rename, saveMe } from "./person.js";
import type { Person } from "./person.js";

interface AwarenessChange {
  readonly added: readonly number[];
  readonly updated: readonly number[];
  readonly removed: readonly number[];
}

/**
 * Announces me, under the name that stands in `input`, and again whenever I change it. A stranger waits until
 * `othersKnown`, to get a name and a colour that nobody else has here.
 */
export function announceMe(awareness: Awareness, input: HTMLInputElement, othersKnown: Promise<void>): void {
  const announce = (me: Person) => {
    saveMe(me);
    input.value = me.name;
    input.parentElement?.style.setProperty("--color", me.color);
    awareness.setLocalStateField("user", me);
  };
  const introduce = () => announce(loadMe(readOthers(awareness)));
  if (isRemembered()) introduce();
  else void othersKnown.then(introduce);
  input.addEventListener("change", () => announce(rename(loadMe(readOthers(awareness)), input.value)));
}

function readOthers(awareness: Awareness): Person[] {
  const states: ReadonlyMap<number, Record<string, unknown>> = awareness.getStates();
  return [...states].flatMap(([id, { user }]) => (id === awareness.clientID ? [] : [parsePerson(user)]));
}

/** Keeps `list` to the people who are here besides me. */
export function showOthers(awareness: Awareness, list: HTMLElement): void {
  const items = new Map<number, HTMLElement>();
  awareness.on("change", ({ added, updated, removed }: AwarenessChange) => {
    for (const id of removed) {
      items.get(id)?.remove();
      items.delete(id);
    }
    for (const id of [...added, ...updated]) {
      const state = awareness.getStates().get(id);
      if (state === undefined || id === awareness.clientID) continue;
      const item = items.get(id) ?? createItem(list);
      items.set(id, item);
      renderPerson(item, parsePerson(state["user"]));
    }
  });
}

function createItem(list: HTMLElement): HTMLElement {
  const dot = document.createElement("span");
  dot.className = "dot";
  const item = document.createElement("li");
  item.append(dot, document.createElement("span"));
  list.append(item);
  return item;
}

/** Changes nothing that is right already: every cursor move comes through here, and the list is read aloud. */
function renderPerson(item: HTMLElement, { name, color }: Person): void {
  const label = item.lastElementChild;
  if (label !== null && label.textContent !== name) label.textContent = name;
  item.style.setProperty("--color", color);
}
