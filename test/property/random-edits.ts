// Random edits of a Yjs document with everything that editors and whiteboards use: text with formats, embeds and emoji,
// maps, arrays, nested types, XML, subdocuments. No edit cuts a surrogate pair: Yjs itself does not converge there (a cut
// that leaves no struct behind, as of a format that changes nothing, stays on the client that made it).
import * as prng from "lib0/prng";
import * as Y from "yjs";
import { rootsOf } from "./document-contents.js";

type Edit = (random: prng.PRNG, doc: Y.Doc) => void;

const words = ["a", "mouse ", "été", "😀", "naïve 👩‍👩‍👧 café", "\n", "日本語", "x".repeat(40)];

const edits: readonly (readonly [weight: number, edit: Edit])[] = [
  [10, insertText],
  [5, deleteText],
  [3, formatText],
  [1, insertEmbed],
  [4, setMapKey],
  [1, deleteMapKey],
  [3, insertIntoArray],
  [2, deleteFromArray],
  [2, editNested],
  [2, insertXml],
  [1, deleteXml],
  [1, addSubdocument],
];

const totalWeight = edits.reduce((sum, [weight]) => sum + weight, 0);

/** One random edit, in a transaction of its own; sometimes several in one. */
export function editRandomly(random: prng.PRNG, doc: Y.Doc, origin: unknown): void {
  doc.transact(() => {
    for (let left = prng.bool(random) ? 1 : prng.int32(random, 1, 4); left > 0; left--)
      pickEdit(random)(random, doc);
  }, origin);
}

function pickEdit(random: prng.PRNG): Edit {
  let at = prng.int32(random, 0, totalWeight - 1);
  for (const [weight, edit] of edits) {
    if (at < weight) return edit;
    at -= weight;
  }
  return insertText;
}

function insertText(random: prng.PRNG, doc: Y.Doc): void {
  const { text } = rootsOf(doc);
  const at = randomPosition(random, text);
  const word = prng.oneOf(random, [...words]);
  if (prng.bool(random)) text.insert(at, word);
  else text.insert(at, word, randomFormat(random));
}

function deleteText(random: prng.PRNG, doc: Y.Doc): void {
  const { text } = rootsOf(doc);
  const [from, to] = randomRange(random, text);
  if (from === to) return;
  if (prng.int32(random, 0, 9) === 0) text.delete(from, to - from);
  else text.delete(from, positionNear(text, Math.min(from + 5, to)) - from);
}

function formatText(random: prng.PRNG, doc: Y.Doc): void {
  const { text } = rootsOf(doc);
  const [from, to] = randomRange(random, text);
  if (from < to) text.format(from, to - from, randomFormat(random));
}

function randomRange(random: prng.PRNG, text: Y.Text): [from: number, to: number] {
  const a = randomPosition(random, text);
  const b = randomPosition(random, text);
  return a < b ? [a, b] : [b, a];
}

function randomPosition(random: prng.PRNG, text: Y.Text): number {
  return positionNear(text, prng.int32(random, 0, text.length));
}

/** `at`, or the position before it if it lies in a surrogate pair. */
function positionNear(text: Y.Text, at: number): number {
  const delta = text.toDelta() as { insert: unknown }[];
  const units = delta.map(({ insert }) => (typeof insert === "string" ? insert : "-")).join("");
  return /^[\udc00-\udfff]/.test(units.slice(at)) && at > 0 ? at - 1 : at;
}

function randomFormat(random: prng.PRNG): Record<string, unknown> {
  return prng.oneOf<Record<string, unknown>>(random, [
    { bold: true },
    { bold: null },
    { italic: true },
    { link: { href: 'https://example.org/?q="\\ü"' } },
    { link: null },
  ]);
}

function insertEmbed(random: prng.PRNG, doc: Y.Doc): void {
  const { text } = rootsOf(doc);
  text.insertEmbed(randomPosition(random, text), { image: prng.word(random) });
}

function setMapKey(random: prng.PRNG, doc: Y.Doc): void {
  rootsOf(doc).map.set(
    prng.oneOf(random, ["a", "b", "c", "constructor"]),
    prng.int32(random, 0, 9) === 0 ? undefined : randomValue(random),
  );
}

function deleteMapKey(random: prng.PRNG, doc: Y.Doc): void {
  rootsOf(doc).map.delete(prng.oneOf(random, ["a", "b", "c"]));
}

function insertIntoArray(random: prng.PRNG, doc: Y.Doc): void {
  const { array } = rootsOf(doc);
  const values = Array.from({ length: prng.int32(random, 1, 3) }, () => randomValue(random));
  array.insert(prng.int32(random, 0, array.length), values);
}

function deleteFromArray(random: prng.PRNG, doc: Y.Doc): void {
  const { array } = rootsOf(doc);
  if (array.length === 0) return;
  const at = prng.int32(random, 0, array.length - 1);
  array.delete(at, prng.int32(random, 1, array.length - at));
}

/** Edits a type that lies in the map or the array. */
function editNested(random: prng.PRNG, doc: Y.Doc): void {
  const { map, array } = rootsOf(doc);
  const nested = [...map.values(), ...array.toArray()].filter((value) => value instanceof Y.AbstractType);
  if (nested.length === 0) return;
  const type = prng.oneOf(random, nested);
  if (type instanceof Y.Text) type.insert(randomPosition(random, type), prng.word(random));
  else if (type instanceof Y.Map) type.set(prng.oneOf(random, ["x", "y"]), randomValue(random));
  else if (type instanceof Y.Array) type.insert(prng.int32(random, 0, type.length), [randomValue(random)]);
}

function insertXml(random: prng.PRNG, doc: Y.Doc): void {
  const { xml } = rootsOf(doc);
  const parents = [xml, ...xml.toArray().filter((child) => child instanceof Y.XmlElement)];
  const parent = prng.oneOf(random, parents);
  const element = new Y.XmlElement(prng.oneOf(random, ["paragraph", "heading"]));
  parent.insert(prng.int32(random, 0, parent.length), [
    prng.bool(random) ? element : new Y.XmlText(prng.word(random)),
  ]);
  if (element.doc !== null) element.setAttribute("level", String(prng.int32(random, 1, 6)));
}

function deleteXml(random: prng.PRNG, doc: Y.Doc): void {
  const { xml } = rootsOf(doc);
  if (xml.length > 0) xml.delete(prng.int32(random, 0, xml.length - 1), 1);
}

function addSubdocument(random: prng.PRNG, doc: Y.Doc): void {
  rootsOf(doc).map.set(
    "page",
    new Y.Doc({ guid: prng.word(random, 6, 6), meta: { title: prng.word(random) } }),
  );
}

function randomValue(random: prng.PRNG): unknown {
  switch (prng.int32(random, 0, 9)) {
    case 0:
      return prng.int32(random, -1_000_000, 1_000_000);
    case 1:
      return prng.real53(random) * 1e9;
    case 2:
      return prng.oneOf(random, [null, true, false, "", -0, 2 ** 40, 0.5]);
    case 3:
      return new Uint8Array(prng.uint8Array(random, prng.int32(random, 0, 5)));
    case 4:
      return { list: [1, { deep: prng.word(random) }], empty: {} };
    case 5:
      return new Y.Map([["z", prng.word(random)]]);
    case 6:
      return new Y.Array();
    case 7:
      return new Y.Text(prng.oneOf(random, [...words]));
    default:
      return prng.utf16String(random, 12);
  }
}
