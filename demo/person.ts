// Who somebody is: a name and a colour. Mine are kept by the browser; those of the others arrive over the
// network and are checked before they are shown.

/** What `awareness` holds under `user`, in the shape that y-codemirror.next, too, draws cursors from. */
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
const animals = "Badger Fox Hare Hedgehog Mole Otter Owl Robin Squirrel Vole Wren".split(" ");
const maxNameLength = 32;

/** One of `values`, at random; one that is not `taken`, if there is any. */
function pick(values: readonly string[], taken: readonly string[]): string {
  const free = values.filter((value) => !taken.includes(value));
  const choice = free.length > 0 ? free : values;
  return choice[Math.floor(Math.random() * choice.length)] as string;
}

function createPerson(name: string, color: string): Person {
  return { name, color, colorLight: `${color}33` };
}

function isColor(value: unknown): value is string {
  return typeof value === "string" && /^#[0-9a-f]{6}$/i.test(value);
}

/** Whether this browser knows me. */
export function isRemembered(): boolean {
  return localStorage.getItem("dormouse:name") !== null && isColor(localStorage.getItem("dormouse:color"));
}

/** Me, as this browser remembers me. What it does not know is invented, as nobody of `others` has it if possible. */
export function loadMe(others: readonly Person[]): Person {
  const name = localStorage.getItem("dormouse:name");
  const color = localStorage.getItem("dormouse:color");
  return createPerson(
    name ??
      pick(
        animals,
        others.map((other) => other.name),
      ),
    isColor(color)
      ? color
      : pick(
          colors,
          others.map((other) => other.color),
        ),
  );
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
