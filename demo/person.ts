// Who somebody is: a name and a colour. Mine are kept by the browser; those of the others arrive over the
// network and are checked before they are shown.

/** What `awareness` holds under `user`, in the shape that y-codemirror.next draws cursors from. */
export interface Person {
  readonly name: string;
  /** `#rrggbb`, dark enough for white text and light enough for a dark page. */
  readonly color: string;
  /** The same, translucent: behind selected text. */
  readonly colorLight: string;
}

const colors = [
  "#b8452f",
  "#a35a00",
  "#7d6a00",
  "#4f7a1c",
  "#1f7f4c",
  "#0f7d7d",
  "#1f76a8",
  "#3f66d0",
  "#6a5acd",
  "#8f4fb8",
  "#b0418f",
  "#c03a5a",
];
const animals = "Badger Dormouse Fox Hare Hedgehog Mole Otter Owl Robin Squirrel Vole Wren".split(" ");
const maxNameLength = 32;

function pick<T>(values: readonly T[], fallback: T): T {
  return values[Math.floor(Math.random() * values.length)] ?? fallback;
}

function createPerson(name: string, color: string): Person {
  return { name, color, colorLight: `${color}33` };
}

function isColor(value: unknown): value is string {
  return typeof value === "string" && /^#[0-9a-f]{6}$/i.test(value);
}

/** Me, as this browser remembers me; the first time I get a name and a colour. */
export function loadMe(): Person {
  const color = localStorage.getItem("dormouse:color");
  const me = createPerson(
    localStorage.getItem("dormouse:name") ?? pick(animals, "Dormouse"),
    isColor(color) ? color : pick(colors, "#1f6fb5"),
  );
  saveMe(me);
  return me;
}

/** Remembers me for the next visit. */
export function saveMe(me: Person): void {
  localStorage.setItem("dormouse:name", me.name);
  localStorage.setItem("dormouse:color", me.color);
}

/** The same person under another name. An empty one is no name: then nothing changes. */
export function rename(person: Person, name: string): Person {
  const trimmed = name.trim().slice(0, maxNameLength);
  return trimmed === "" ? person : createPerson(trimmed, person.color);
}

/** Somebody else, from whatever they sent: anything can be in there, and a colour ends up in a style. */
export function parsePerson(value: unknown): Person {
  const { name, color } = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  return createPerson(
    typeof name === "string" && name.trim() !== "" ? name.trim().slice(0, maxNameLength) : "Somebody",
    isColor(color) ? color : "#6b7280",
  );
}
