// Writes V1 updates struct by struct, right or wrong: what a test wants to see refused, no library writes.
import * as encoding from "lib0/encoding";

type Write = (encoder: encoding.Encoder) => void;

/** The bytes of one struct, or of something in its place. */
export type RawStruct = readonly number[];

/** The structs of one client; `count` lies about their number. */
export interface RawSection {
  readonly client: number;
  readonly clock: number;
  readonly structs: readonly RawStruct[];
  readonly count?: number;
}

/** References of an item: origin, right origin, and the parent that is written when there is neither. */
export interface RawReferences {
  readonly origin?: readonly [client: number, clock: number];
  readonly right?: readonly [client: number, clock: number];
  /** A root name, or the id of an item. The root "text" when not given. */
  readonly parent?: string | readonly [client: number, clock: number];
  readonly key?: string;
}

/** The bytes that `write` writes. */
export function bytesOf(write: Write): number[] {
  return [...encoding.encode(write)];
}

/** An update of these sections and delete ranges `[clock, length]` per client, all as they are given. */
export function rawUpdate(
  sections: readonly RawSection[],
  deletes: readonly (readonly [client: number, ranges: readonly (readonly [number, number])[]])[] = [],
): Uint8Array {
  return encoding.encode((encoder) => {
    encoding.writeVarUint(encoder, sections.length);
    for (const { client, clock, structs, count } of sections) {
      for (const value of [count ?? structs.length, client, clock]) encoding.writeVarUint(encoder, value);
      for (const struct of structs) encoding.writeUint8Array(encoder, Uint8Array.from(struct));
    }
    encoding.writeVarUint(encoder, deletes.length);
    for (const [client, ranges] of deletes) {
      for (const value of [client, ranges.length, ...ranges.flat()]) encoding.writeVarUint(encoder, value);
    }
  });
}

/** A GC struct. */
export function gc(length: number): RawStruct {
  return bytesOf((encoder) => encoding.writeVarUint(encoder, length)).toSpliced(0, 0, 0);
}

/** A Skip. */
export function skip(length: number): RawStruct {
  return bytesOf((encoder) => encoding.writeVarUint(encoder, length)).toSpliced(0, 0, 10);
}

/** An item with this content reference and content. */
export function item(kind: number, content: Write, references: RawReferences = {}): RawStruct {
  const { origin, right, parent = "text", key } = references;
  return bytesOf((encoder) => {
    const flags = (origin ? 0x80 : 0) | (right ? 0x40 : 0) | (key === undefined ? 0 : 0x20);
    encoding.writeUint8(encoder, kind | flags);
    for (const value of [...(origin ?? []), ...(right ?? [])]) encoding.writeVarUint(encoder, value);
    if (!origin && !right) {
      encoding.writeVarUint(encoder, typeof parent === "string" ? 1 : 0);
      if (typeof parent === "string") encoding.writeVarString(encoder, parent);
      else for (const value of parent) encoding.writeVarUint(encoder, value);
      if (key !== undefined) encoding.writeVarString(encoder, key);
    }
    content(encoder);
  });
}

/** An item with text. */
export function text(content: string, references?: RawReferences): RawStruct {
  return item(4, (encoder) => encoding.writeVarString(encoder, content), references);
}

/** An item whose content was deleted. */
export function deleted(length: number, references?: RawReferences): RawStruct {
  return item(1, (encoder) => encoding.writeVarUint(encoder, length), references);
}

/** An item with one JSON value, given as text. */
export function json(content: string): RawStruct {
  return item(2, (encoder) => {
    encoding.writeVarUint(encoder, 1);
    encoding.writeVarString(encoder, content);
  });
}

/** An item with one `any` value, given as bytes. */
export function any(...bytes: readonly number[]): RawStruct {
  return item(8, (encoder) => {
    encoding.writeVarUint(encoder, 1);
    encoding.writeUint8Array(encoder, Uint8Array.from(bytes));
  });
}
