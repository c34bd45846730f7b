// Where everybody is in the text. My cursor is announced as y-codemirror.next announces it; those of the others
// are drawn in layers above and below the text, so that the text itself never moves.
import { EditorSelection, StateEffect } from "@codemirror/state";
import type { Extension } from "@codemirror/state";
import { EditorView, layer, RectangleMarker, ViewPlugin } from "@codemirror/view";
import type { LayerMarker, ViewUpdate } from "@codemirror/view";
import type { Awareness } from "y-protocols/awareness";
import {
  createAbsolutePositionFromRelativePosition,
  createRelativePositionFromJSON,
  createRelativePositionFromTypeIndex,
} from "yjs";
import type { Text } from "yjs";
import { parsePerson } from "./person.js";
import type { Person } from "./person.js";

/** Where somebody else is. */
interface OtherCursor {
  readonly person: Person;
  readonly anchor: number;
  readonly head: number;
  /** When its owner moved it, by the clock of `performance`. That others write in front of it is no move. */
  readonly movedAt: number;
}

/** Names that begin closer to each other than this, in pixels, would overlap. A name is never wider. */
const nameWidth = 110;
/** How close the pointer must be to a cursor to show its name, in pixels. */
const reach = 6;

/** Draws the cursors of the others on a view of `text`, and announces mine. */
export function cursors(text: Text, awareness: Awareness): Extension {
  const others = new OtherCursors(text, awareness);
  const redraw = StateEffect.define();
  const update = ({ docChanged, transactions }: ViewUpdate) =>
    docChanged || transactions.some(({ effects }) => effects.some((effect) => effect.is(redraw)));
  return [
    announceCursor(text, awareness),
    ViewPlugin.define((view) => ({
      destroy: others.onMove(() => view.dispatch({ effects: redraw.of(null) })),
    })),
    layer({ above: true, class: "cursors", update, markers: (view) => markCursors(view, others.read()) }),
    layer({
      above: false,
      class: "selections",
      update,
      markers: (view) => markSelections(view, others.read()),
    }),
    EditorView.domEventObservers({ mousemove: pointAtCursors, mouseleave: pointAtCursors }),
  ];
}

/** Announces where I am once I did something: that a page has the focus as it opens is nobody's doing. */
function announceCursor(text: Text, awareness: Awareness): Extension {
  let isHere = false;
  const announce = ({ state, hasFocus }: EditorView) => {
    if (!isHere || !hasFocus) return;
    const { anchor, head } = state.selection.main;
    // Behind what stands there, as the editor has it: then writing at the end of the text is a move, too.
    const place = (index: number) => createRelativePositionFromTypeIndex(text, index, -1);
    const cursor = { anchor: place(anchor), head: place(head) };
    const announced: unknown = awareness.getLocalState()?.["cursor"];
    if (JSON.stringify(cursor) !== JSON.stringify(announced)) awareness.setLocalStateField("cursor", cursor);
  };
  const begin = (_event: Event, view: EditorView) => {
    isHere = true;
    announce(view);
  };
  return [
    EditorView.domEventObservers({ keydown: begin, click: begin, input: begin }),
    EditorView.updateListener.of(({ view, docChanged, selectionSet }) => {
      if (docChanged || selectionSet) announce(view);
    }),
  ];
}

/** The cursors of the others, as `awareness` has them, and when each was moved. */
class OtherCursors {
  readonly #text: Text;
  readonly #awareness: Awareness;
  readonly #moves = new Map<number, { readonly cursor: string; readonly at: number }>();

  constructor(text: Text, awareness: Awareness) {
    this.#text = text;
    this.#awareness = awareness;
  }

  /** Calls `listener` when one of the others changed, until the returned function is called. */
  onMove(listener: () => void): () => void {
    const onChange = (change: Record<"added" | "updated" | "removed", readonly number[]>) => {
      const ids = [...change.added, ...change.updated, ...change.removed];
      if (ids.some((id) => id !== this.#awareness.clientID)) listener();
    };
    this.#awareness.on("change", onChange);
    return () => this.#awareness.off("change", onChange);
  }

  read(): OtherCursor[] {
    const states: ReadonlyMap<number, Record<string, unknown>> = this.#awareness.getStates();
    for (const id of this.#moves.keys()) if (!states.has(id)) this.#moves.delete(id);
    return [...states].flatMap(([id, { cursor, user }]) => {
      if (id === this.#awareness.clientID) return [];
      const range = this.#parseRange(cursor);
      if (range === undefined) return [];
      return [{ ...range, person: parsePerson(user), movedAt: this.#noteMove(id, JSON.stringify(cursor)) }];
    });
  }

  #noteMove(id: number, cursor: string): number {
    const last = this.#moves.get(id);
    if (last?.cursor === cursor) return last.at;
    const at = performance.now();
    this.#moves.set(id, { cursor, at });
    return at;
  }

  #parseRange(cursor: unknown): { anchor: number; head: number } | undefined {
    try {
      const { anchor, head } = cursor as Record<string, unknown>;
      return { anchor: this.#parseIndex(anchor), head: this.#parseIndex(head) };
    } catch {
      return undefined; // it points nowhere in this text, or is nonsense: there is nothing to draw
    }
  }

  /** @throws when it is no place in the text */
  #parseIndex(position: unknown): number {
    const { doc } = this.#text;
    const place =
      doc && createAbsolutePositionFromRelativePosition(createRelativePositionFromJSON(position), doc);
    if (place?.type !== this.#text) throw new RangeError("The position is not in this text.");
    return place.index;
  }
}

/** Something drawn in a layer: the same as another if the key is. */
interface Marker extends LayerMarker {
  readonly key: string;
}

function createMarker(place: RectangleMarker, color: string, key: string, name?: HTMLElement): Marker {
  return {
    key: [place.left, place.top, place.width, place.height, color, key].join(" "),
    eq(other: Marker) {
      return other.key === this.key;
    },
    draw() {
      const element = place.draw();
      element.style.backgroundColor = color;
      if (name !== undefined) element.append(name);
      return element;
    },
  };
}

function markSelections(view: EditorView, others: readonly OtherCursor[]): Marker[] {
  return others
    .filter(({ anchor, head }) => anchor !== head)
    .flatMap(({ anchor, head, person }) =>
      RectangleMarker.forRange(view, "selection", EditorSelection.range(anchor, head)).map((place) =>
        createMarker(place, person.colorLight, ""),
      ),
    );
}

function markCursors(view: EditorView, others: readonly OtherCursor[]): Marker[] {
  const placed: { readonly place: RectangleMarker; readonly level: number }[] = [];
  return others.flatMap(({ head, person, movedAt }) => {
    const [place] = RectangleMarker.forRange(view, "cursor", EditorSelection.cursor(head));
    if (place === undefined) return []; // too far away to be drawn
    const near = placed.filter(
      (other) => other.place.top === place.top && Math.abs(other.place.left - place.left) < nameWidth,
    );
    let level = 0;
    while (near.some((other) => other.level === level)) level += 1;
    placed.push({ place, level });
    const side = place.left < view.scrollDOM.clientWidth / 2 ? "left" : "right";
    const name = drawName(person, { level, side, movedAt });
    return [createMarker(place, person.color, [person.name, level, movedAt].join(" "), name)];
  });
}

/** The name at a cursor. `level`: how many other names it stands above; `side`: where it begins. */
function drawName(
  person: Person,
  { level, side, movedAt }: { level: number; side: "left" | "right"; movedAt: number },
): HTMLElement {
  const name = document.createElement("span");
  name.className = "cursor-name";
  name.textContent = person.name;
  name.style.backgroundColor = person.color;
  name.style.setProperty("--level", String(level));
  name.style[side] = "0";
  // It fades by an animation, which goes on where it was when the name is drawn anew at another place.
  name.style.animationDelay = `${movedAt - performance.now()}ms`;
  return name;
}

/** Shows the names of the cursors under the pointer. */
function pointAtCursors({ clientX, clientY }: MouseEvent, view: EditorView): void {
  for (const cursor of view.scrollDOM.querySelectorAll(".cursor")) {
    const { left, top, bottom } = cursor.getBoundingClientRect();
    const isNear = Math.abs(clientX - left) < reach && clientY >= top && clientY <= bottom;
    cursor.classList.toggle("pointed", isNear);
  }
}
