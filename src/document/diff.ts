// What a client with a given state vector lacks of one stored update. On bytes: only a struct that the vector cuts in two
// is taken apart.
import * as decoding from "lib0/decoding";
import { encodeUpdate, sectionBlock, type StructBlock } from "./normal-form.js";
import type { ScannedUpdate, Section } from "./scanned-update.js";
import { sliceStruct } from "./slice-struct.js";
import type { ReadonlyStateVector } from "./state-vector.js";
import { createStruct, readStruct, StructKind } from "./struct-reader.js";
import { storedUpdateLimits } from "./update-limits.js";

/**
 * The structs of `update` that `vector` does not cover, as a V1 update without deletes (a client is sent the whole known
 * delete set once, not in every part). Null when it covers all of them.
 */
export function diffUpdate(update: ScannedUpdate, vector: ReadonlyStateVector): Uint8Array | null {
  const groups: StructBlock[][] = [];
  for (const section of update.sections) {
    const blocks = sectionAfter(update.bytes, section, vector.get(section.client) ?? 0);
    if (blocks.length > 0) groups.push(blocks);
  }
  return groups.length === 0 ? null : encodeUpdate(groups, new Map());
}

/** What a section has from `clock` on: nothing, one block, or the rest of a struct that was cut and the block behind it. */
export function sectionAfter(bytes: Uint8Array, section: Section, clock: number): StructBlock[] {
  if (clock >= section.end) return [];
  if (clock <= section.clock) return [sectionBlock(bytes, section)];
  const decoder = decoding.createDecoder(bytes);
  decoder.pos = section.from;
  const struct = createStruct();
  let at = section.clock;
  let left = section.structs;
  do {
    readStruct(decoder, struct, section.client, at, storedUpdateLimits);
    at += struct.length;
    left--;
    // a Skip that the clock lies in is passed over, too: an update must not begin with one
  } while (at <= clock || struct.kind === StructKind.skip);
  const { client, end, to } = section;
  if (struct.clock >= clock) {
    return [{ client, clock: struct.clock, end, structs: left + 1, bytes, from: struct.from, to }];
  }
  const rest = sliceStruct(bytes, struct, clock);
  if (left === 0) return [rest];
  return [rest, { client, clock: at, end, structs: left, bytes, from: decoder.pos, to }];
}
