// What two documents must have in common to be called equal: what a reader sees of them, and what is deleted.
import * as Y from "yjs";

/** The root types that the random edits use. */
export interface Roots {
  readonly text: Y.Text;
  readonly map: Y.Map<unknown>;
  readonly array: Y.Array<unknown>;
  readonly xml: Y.XmlFragment;
}

/** The roots of a document. */
export function rootsOf(doc: Y.Doc): Roots {
  return {
    text: doc.getText("text"),
    map: doc.getMap("map"),
    array: doc.getArray("array"),
    xml: doc.getXmlFragment("xml"),
  };
}

/** What a reader sees of a document, in a form to compare. */
export function contentsOf(doc: Y.Doc): string {
  const { text, map, array, xml } = rootsOf(doc);
  const delta: unknown = text.toDelta();
  return JSON.stringify(
    [delta, map.toJSON(), array.toJSON(), xml.toJSON(), [...doc.getSubdocGuids()].sort()],
    inKeyOrder,
  );
}

function inKeyOrder(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Uint8Array) return [...value];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A new document from updates. @throws Error when some of them wait for something that is in none of them */
export function documentFrom(updates: Iterable<Uint8Array>, gc = true): Y.Doc {
  const doc = new Y.Doc({ gc });
  for (const update of updates) Y.applyUpdate(doc, update);
  if (isPending(doc)) throw new Error("a document built from the updates has pending structs or deletes");
  return doc;
}

/** Whether something that a document received waits for something else. */
export function isPending(doc: Y.Doc): boolean {
  return doc.store.pendingStructs !== null || doc.store.pendingDs !== null;
}
