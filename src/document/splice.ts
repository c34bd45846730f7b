// Joins updates into one by copying the bytes of their sections. Linear, where Yjs's merge sorts all updates again for
// every struct. Owns nothing of what the structs mean.
import * as Y from "yjs";
import { mergeDeletes } from "./delete-set.js";
import { emptyUpdate, encodeUpdate, groupBlocks, sectionBlock, type StructBlock } from "./normal-form.js";
import type { ScannedUpdate } from "./scanned-update.js";

export { emptyUpdate } from "./normal-form.js";

/** Yjs's merge is worse than linear in the number of updates: 64 at a time costs least. */
const mergeGroupSize = 64;

/**
 * Joins updates into one, in normal form if they do not overlap. Clocks that are missing in between become Skips. What
 * lies in two updates is taken once.
 */
export function spliceUpdates(updates: readonly ScannedUpdate[]): Uint8Array {
  if (updates.length === 1) return updates[0]!.bytes;
  const groups = groupBlocks(blocksOf(updates));
  if (groups === null) return mergeInGroups(updates.map((update) => update.bytes));
  return encodeUpdate(groups, mergeDeletes(updates.map((update) => update.deletes)));
}

function blocksOf(updates: readonly ScannedUpdate[]): StructBlock[] {
  const blocks: StructBlock[] = [];
  for (const update of updates) {
    for (const section of update.sections) blocks.push(sectionBlock(update.bytes, section));
  }
  return blocks;
}

function mergeInGroups(updates: readonly Uint8Array[]): Uint8Array {
  let merged = [...updates];
  while (merged.length > 1) {
    const next: Uint8Array[] = [];
    for (let i = 0; i < merged.length; i += mergeGroupSize)
      next.push(Y.mergeUpdates(merged.slice(i, i + mergeGroupSize)));
    merged = next;
  }
  return merged[0] ?? emptyUpdate;
}
