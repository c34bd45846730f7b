// The strict scan: what an update holds, found in one pass over its bytes and without an object of Yjs. It refuses what no
// client writes, counts against the limits, and turns what other implementations write differently into normal form, so
// that everything behind it sees one form only. Nothing else in the room may look into bytes that were not scanned.
import * as decoding from "lib0/decoding";
import { appendRange, readDeletes } from "./delete-set.js";
import { badFrame, tooLarge } from "./faults.js";
import { replaceDeletes, rewriteSections } from "./normal-form.js";
import type { ScannedUpdate, Section } from "./scanned-update.js";
import { readCount, readVarUint } from "./strict-decoding.js";
import {
  createStruct,
  readStruct,
  StructKind,
  type MutableStruct,
  type StructView,
} from "./struct-reader.js";
import { defaultUpdateLimits, storedUpdateLimits, type UpdateLimits } from "./update-limits.js";

export type { ScannedUpdate, Section } from "./scanned-update.js";

/** Called for each struct in the order of the bytes. The object is used again for the next one. */
export type StructVisitor = (struct: StructView) => void;

/** How to scan. */
export interface ScanOptions {
  /** Those of an `update` message when not given. */
  readonly limits?: UpdateLimits;
  /** Sees the structs of the *returned* bytes, and none of an update that is refused. Costs a second pass. */
  readonly visit?: StructVisitor;
}

/**
 * Scans a V1 update.
 * @throws ProtocolError 4400 for what no client writes, 4413 above a limit
 */
export function scanUpdate(bytes: Uint8Array, options: ScanOptions = {}): ScannedUpdate {
  const update = toNormalForm(new Scan(bytes, options.limits ?? defaultUpdateLimits).run());
  if (options.visit !== undefined) visitStructs(update, options.visit);
  return update;
}

/** Calls `visit` for each struct of a scanned update. */
export function visitStructs(update: ScannedUpdate, visit: StructVisitor): void {
  const decoder = decoding.createDecoder(update.bytes);
  const struct = createStruct();
  for (const section of update.sections) {
    decoder.pos = section.from;
    let clock = section.clock;
    for (let i = 0; i < section.structs; i++) {
      readStruct(decoder, struct, section.client, clock, storedUpdateLimits);
      clock += struct.length;
      visit(struct);
    }
  }
}

/** The result of one pass: an update in normal form, or what it takes to make it one. */
interface Pass {
  readonly update: ScannedUpdate;
  readonly areSectionsNormal: boolean;
  readonly areDeletesNormal: boolean;
}

function toNormalForm({ update, areSectionsNormal, areDeletesNormal }: Pass): ScannedUpdate {
  if (areSectionsNormal) return areDeletesNormal ? update : replaceDeletes(update, update.deletes);
  const again = new Scan(rewriteSections(update), storedUpdateLimits).run();
  if (!again.areSectionsNormal || !again.areDeletesNormal)
    throw new Error("rewritten update is not in normal form");
  return again.update;
}

/** Shared by the updates that have none: most of them. */
const none: ReadonlyMap<number, never> = new Map<number, never>();
const noRoots: ReadonlySet<string> = new Set();

/** One pass over the bytes. */
class Scan {
  readonly #decoder: decoding.Decoder;
  readonly #limits: UpdateLimits;
  readonly #struct: MutableStruct = createStruct();
  readonly #sections: Section[] = [];
  #areSectionsNormal = true;
  #hasSkip = false;
  #structs = 0;
  #subdocuments = 0;
  #dead: Map<number, number[]> | null = null;
  #references: Map<number, number> | null = null;
  #roots: Set<string> | null = null;
  #lastRoot = { from: 0, to: 0 };

  constructor(bytes: Uint8Array, limits: UpdateLimits) {
    if (bytes.length > limits.maxBytes) throw tooLarge("update too large");
    this.#decoder = decoding.createDecoder(bytes);
    this.#limits = limits;
  }

  run(): Pass {
    const decoder = this.#decoder;
    const count = readCount(decoder);
    if (count > this.#limits.maxSections) throw tooLarge("too many clients");
    for (let i = 0; i < count; i++) this.#readSection();
    const deletesFrom = decoder.pos;
    const { deletes, isNormalForm } = readDeletes(decoder, this.#limits.maxDeleteRanges);
    if (decoder.pos !== decoder.arr.length) throw badFrame("bytes left over");
    return {
      areSectionsNormal: this.#areSectionsNormal,
      areDeletesNormal: isNormalForm,
      update: {
        bytes: decoder.arr,
        sections: this.#sections,
        deletes,
        dead: this.#dead ?? none,
        references: this.#references ?? none,
        deletesFrom,
        structs: this.#structs,
        roots: this.#roots ?? noRoots,
        subdocuments: this.#subdocuments,
        hasSkip: this.#hasSkip,
      },
    };
  }

  #readSection(): void {
    const pos = this.#decoder.pos;
    const count = readCount(this.#decoder);
    this.#structs += count;
    if (this.#structs > this.#limits.maxStructs) throw tooLarge("too many structs");
    const client = readVarUint(this.#decoder);
    const clock = readVarUint(this.#decoder);
    const previous = this.#sections.at(-1);
    if (previous !== undefined && client >= previous.client) this.#areSectionsNormal = false;
    const section = this.#readStructs(client, clock, count, pos);
    // empty, or nothing but Skips, or Skips at an end
    if (section === null || section.structs !== count) this.#areSectionsNormal = false;
    if (section === null) return;
    if (section.ranges !== null) this.#hasSkip = true;
    this.#sections.push(section);
  }

  /** Reads the structs of a section. The section returned is without the Skips at its ends; null when nothing is left. */
  #readStructs(client: number, start: number, count: number, pos: number): Section | null {
    const decoder = this.#decoder;
    const struct = this.#struct;
    let ranges: number[] | null = null;
    let clock = start;
    let first = -1;
    let from = 0;
    let rangeStart = start;
    let last = -1;
    let end = 0;
    let to = 0;
    for (let i = 0; i < count; i++) {
      readStruct(decoder, struct, client, clock, this.#limits);
      clock += struct.length;
      if (struct.kind === StructKind.skip) continue;
      if (first < 0) {
        first = i;
        from = struct.from;
        rangeStart = struct.clock;
        start = struct.clock;
      } else if (end < struct.clock) {
        (ranges ??= []).push(rangeStart, end);
        rangeStart = struct.clock;
      }
      last = i;
      end = clock;
      to = struct.to;
      this.#noteStruct(struct);
    }
    if (first < 0) return null;
    if (ranges !== null) ranges.push(rangeStart, end);
    return { client, clock: start, end, structs: last - first + 1, pos, from, to, ranges };
  }

  #noteStruct(struct: StructView): void {
    if (struct.kind <= StructKind.deleted) this.#noteDead(struct);
    if (struct.originClient >= 0) this.#noteReference(struct.client, struct.originClient, struct.originClock);
    if (struct.rightClient >= 0) this.#noteReference(struct.client, struct.rightClient, struct.rightClock);
    if (struct.parentClient >= 0) this.#noteReference(struct.client, struct.parentClient, struct.parentClock);
    if (struct.rootFrom >= 0) this.#noteRoot(struct.rootFrom, struct.rootTo);
    if (struct.kind === StructKind.document && ++this.#subdocuments > this.#limits.maxSubdocuments) {
      throw tooLarge("too many subdocuments");
    }
  }

  #noteDead(struct: StructView): void {
    this.#dead ??= new Map();
    const ranges = this.#dead.get(struct.client);
    const end = struct.clock + struct.length;
    if (ranges === undefined) this.#dead.set(struct.client, [struct.clock, end]);
    else appendRange(ranges, struct.clock, end);
  }

  #noteReference(own: number, client: number, clock: number): void {
    if (client === own) return;
    this.#references ??= new Map();
    const known = this.#references.get(client);
    if (known === undefined || known <= clock) this.#references.set(client, clock + 1);
  }

  #noteRoot(from: number, to: number): void {
    const bytes = this.#decoder.arr;
    if (this.#roots !== null && equalBytes(bytes, this.#lastRoot.from, this.#lastRoot.to, from, to)) return;
    this.#lastRoot = { from, to };
    this.#roots ??= new Set();
    this.#roots.add(utf8.decode(bytes.subarray(from, to)));
    if (this.#roots.size > this.#limits.maxRoots) throw tooLarge("too many root names");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

function equalBytes(
  bytes: Uint8Array,
  from: number,
  to: number,
  otherFrom: number,
  otherTo: number,
): boolean {
  if (to - from !== otherTo - otherFrom) return false;
  for (let i = 0; i < to - from; i++) {
    if (bytes[from + i] !== bytes[otherFrom + i]) return false;
  }
  return true;
}
