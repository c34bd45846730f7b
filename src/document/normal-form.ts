// The form of updates that the rest of the room works on, out of what other implementations may write: sections in another
// order or in pieces, Skips at the ends of a section, deletes unsorted. Owns the writer of updates in that form.
import { ByteWriter } from "./byte-writer.js";
import { writeDeletes, type ReadonlyDeleteSet } from "./delete-set.js";
import { badFrame } from "./faults.js";
import type { ScannedUpdate, Section } from "./scanned-update.js";
import { StructKind } from "./struct-reader.js";

/** An update that says nothing: no structs, no deletes. */
export const emptyUpdate: Uint8Array = Uint8Array.of(0, 0);

/** Structs of one client that follow each other, as the bytes [from, to) of `bytes`. */
export interface StructBlock {
  readonly client: number;
  /** Where the first struct begins. */
  readonly clock: number;
  /** Where the last struct ends, exclusive. */
  readonly end: number;
  readonly structs: number;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/** The structs of a section as a block. */
export function sectionBlock(bytes: Uint8Array, section: Section): StructBlock {
  const { client, clock, end, structs, from, to } = section;
  return { client, clock, end, structs, bytes, from, to };
}

/** Orders blocks as an update has them: by client, descending, then by clock. Null when two of one client overlap. */
export function groupBlocks(blocks: Iterable<StructBlock>): StructBlock[][] | null {
  const byClient = new Map<number, StructBlock[]>();
  for (const block of blocks) {
    const group = byClient.get(block.client);
    if (group === undefined) byClient.set(block.client, [block]);
    else group.push(block);
  }
  const groups = [...byClient.values()].sort((a, b) => b[0]!.client - a[0]!.client);
  return groups.every(sortBlocks) ? groups : null;
}

/** Sorts the blocks of one client by clock, in place. Returns whether they are disjoint. */
function sortBlocks(group: StructBlock[]): boolean {
  if (!isAscending(group)) group.sort((a, b) => a.clock - b.clock);
  return isAscending(group);
}

function isAscending(group: readonly StructBlock[]): boolean {
  for (let i = 1; i < group.length; i++) {
    if (group[i]!.clock < group[i - 1]!.end) return false;
  }
  return true;
}

/** Writes an update. `groups` are ordered as {@link groupBlocks} orders them; what is missing between two blocks becomes a Skip. */
export function encodeUpdate(groups: readonly StructBlock[][], deletes: ReadonlyDeleteSet): Uint8Array {
  let size = 64;
  for (const group of groups) {
    size += 24;
    for (const block of group) size += block.to - block.from;
  }
  const writer = new ByteWriter(size);
  writer.writeVarUint(groups.length);
  for (const group of groups) writeGroup(writer, group);
  writeDeletes(writer, deletes);
  return writer.toBytes();
}

function writeGroup(writer: ByteWriter, group: readonly StructBlock[]): void {
  const first = group[0]!;
  let structs = first.structs;
  for (let i = 1; i < group.length; i++) {
    structs += group[i]!.structs + (group[i]!.clock > group[i - 1]!.end ? 1 : 0);
  }
  writer.writeVarUint(structs);
  writer.writeVarUint(first.client);
  writer.writeVarUint(first.clock);
  let clock = first.clock;
  for (const block of group) {
    if (block.clock > clock) {
      writer.writeByte(StructKind.skip);
      writer.writeVarUint(block.clock - clock);
    }
    writer.writeBytes(block.bytes, block.from, block.to);
    clock = block.end;
  }
}

/** The same structs with other deletes. */
export function replaceDeletes(update: ScannedUpdate, deletes: ReadonlyDeleteSet): ScannedUpdate {
  const writer = new ByteWriter(update.bytes.length + 16);
  writer.writeBytes(update.bytes, 0, update.deletesFrom);
  writeDeletes(writer, deletes);
  return { ...update, bytes: writer.toBytes(), deletes };
}

/**
 * The bytes of an update whose sections are out of order, in pieces, or have Skips at their ends, in normal form. Its
 * sections name no such Skip any more.
 * @throws ProtocolError 4400 when two sections of one client overlap: nothing says which of them is right
 */
export function rewriteSections(update: ScannedUpdate): Uint8Array {
  const groups = groupBlocks(update.sections.map((section) => sectionBlock(update.bytes, section)));
  if (groups === null) throw badFrame("overlapping sections");
  return encodeUpdate(groups, update.deletes);
}
