// Reads one struct of a V1 update: where it lies, how long it is, what it refers to. Owns the layout of structs and the
// rules of a single struct; what holds between structs is the scan's business. Nothing of the content is kept.
import type { Decoder } from "lib0/decoding";
import { badFrame } from "./faults.js";
import {
  readCount,
  readVarUint,
  skipAny,
  skipAnyObject,
  skipJson,
  skipJsonOrUndefined,
  skipKey,
  skipVarString,
  skipVarUint8Array,
} from "./strict-decoding.js";
import type { UpdateLimits } from "./update-limits.js";

/** What a struct is: the low five bits of its info byte. 1–9 are the contents of an item. */
export const StructKind = {
  gc: 0,
  deleted: 1,
  json: 2,
  binary: 3,
  string: 4,
  embed: 5,
  format: 6,
  type: 7,
  any: 8,
  document: 9,
  skip: 10,
} as const;

/** The flags of an item, in the high bits of its info byte. */
export const ItemFlag = { parentSub: 0x20, rightOrigin: 0x40, origin: 0x80 } as const;

/** No clock reaches this: Yjs keeps clocks in places that hold 32 bits. */
export const maxClock = 0xffff_ffff;

/**
 * One struct of an update. Positions are byte offsets into the update. A reference that the struct does not have is -1
 * in both numbers.
 */
export interface StructView {
  readonly client: number;
  readonly clock: number;
  /** In clocks, at least 1: for a string its UTF-16 units. */
  readonly length: number;
  /** One of {@link StructKind}. */
  readonly kind: number;
  /** Where the info byte is. */
  readonly from: number;
  /** Where the content begins, behind flags, references and parent. */
  readonly contentFrom: number;
  /** Where the next struct begins. */
  readonly to: number;
  readonly originClient: number;
  readonly originClock: number;
  readonly rightClient: number;
  readonly rightClock: number;
  readonly parentClient: number;
  readonly parentClock: number;
  /** Where the name of a root that is the parent begins and ends, in UTF-8; -1 for no such parent. */
  readonly rootFrom: number;
  readonly rootTo: number;
}

/** A {@link StructView} that is read into again and again, since an object per struct costs more than the reading. */
export type MutableStruct = { -readonly [Field in keyof StructView]: StructView[Field] };

/** A struct to read into. */
export function createStruct(): MutableStruct {
  return {
    client: 0,
    clock: 0,
    length: 0,
    kind: 0,
    from: 0,
    contentFrom: 0,
    to: 0,
    originClient: -1,
    originClock: -1,
    rightClient: -1,
    rightClock: -1,
    parentClient: -1,
    parentClock: -1,
    rootFrom: -1,
    rootTo: -1,
  };
}

/**
 * Reads the struct at the decoder's position, which belongs to `client` and begins at `clock`.
 * @throws ProtocolError 4400
 */
export function readStruct(
  decoder: Decoder,
  struct: MutableStruct,
  client: number,
  clock: number,
  limits: UpdateLimits,
): void {
  struct.client = client;
  struct.clock = clock;
  struct.from = decoder.pos;
  clearReferences(struct);
  const info = decoder.arr[decoder.pos++];
  if (info === undefined) throw badFrame("truncated");
  struct.kind = info & 0x1f;
  if (info === StructKind.gc || info === StructKind.skip) {
    struct.contentFrom = decoder.pos;
    struct.length = readVarUint(decoder);
  } else {
    if (struct.kind === StructKind.gc || struct.kind > StructKind.document)
      throw badFrame("unknown kind of struct");
    readReferences(decoder, struct, info, limits);
    struct.contentFrom = decoder.pos;
    struct.length = readContent(decoder, struct.kind, limits);
  }
  if (struct.length === 0) throw badFrame("empty struct");
  if (clock + struct.length > maxClock) throw badFrame("clock too large");
  struct.to = decoder.pos;
}

function clearReferences(struct: MutableStruct): void {
  struct.originClient = -1;
  struct.originClock = -1;
  struct.rightClient = -1;
  struct.rightClock = -1;
  struct.parentClient = -1;
  struct.parentClock = -1;
  struct.rootFrom = -1;
  struct.rootTo = -1;
}

function readReferences(decoder: Decoder, struct: MutableStruct, info: number, limits: UpdateLimits): void {
  if ((info & ItemFlag.origin) !== 0) {
    struct.originClient = readVarUint(decoder);
    struct.originClock = readVarUint(decoder);
    checkReference(struct, struct.originClient, struct.originClock);
  }
  if ((info & ItemFlag.rightOrigin) !== 0) {
    struct.rightClient = readVarUint(decoder);
    struct.rightClock = readVarUint(decoder);
    checkReference(struct, struct.rightClient, struct.rightClock);
    if (struct.rightClient === struct.originClient && struct.rightClock === struct.originClock) {
      throw badFrame("origin is right origin");
    }
  }
  if ((info & (ItemFlag.origin | ItemFlag.rightOrigin)) !== 0) return;
  readParent(decoder, struct, limits);
  if ((info & ItemFlag.parentSub) !== 0) skipKey(decoder, limits.maxKeyBytes);
}

function readParent(decoder: Decoder, struct: MutableStruct, limits: UpdateLimits): void {
  const isRoot = readVarUint(decoder);
  if (isRoot > 1) throw badFrame("unknown kind of parent");
  if (isRoot === 1) {
    const start = decoder.pos;
    skipKey(decoder, limits.maxKeyBytes);
    struct.rootTo = decoder.pos;
    struct.rootFrom = endOfVarUint(decoder.arr, start);
    return;
  }
  struct.parentClient = readVarUint(decoder);
  struct.parentClock = readVarUint(decoder);
  checkReference(struct, struct.parentClient, struct.parentClock);
}

/** Where the varint at `pos`, which was read before, ends. */
function endOfVarUint(bytes: Uint8Array, from: number): number {
  let pos = from;
  while (bytes[pos]! >= 0x80) pos++;
  return pos + 1;
}

/**
 * A reference to the own client must point back. Yjs looks up references to the own client without asking whether they
 * are there, and a forward one makes a merge lose edits of other people.
 */
function checkReference(struct: StructView, client: number, clock: number): void {
  if (clock >= maxClock) throw badFrame("clock too large");
  if (client === struct.client && clock >= struct.clock) throw badFrame("reference to itself");
}

/** Passes over the content of an item. Returns its length in clocks. */
function readContent(decoder: Decoder, kind: number, limits: UpdateLimits): number {
  switch (kind) {
    case StructKind.deleted:
      return readVarUint(decoder);
    case StructKind.string:
      return skipVarString(decoder);
    case StructKind.json:
      return readValues(decoder, limits.maxDepth, skipJsonOrUndefined);
    case StructKind.any:
      return readValues(decoder, limits.maxDepth, skipAny);
    default:
      readSingleContent(decoder, kind, limits);
      return 1;
  }
}

function readValues(
  decoder: Decoder,
  maxDepth: number,
  skipValue: (decoder: Decoder, maxDepth: number) => void,
): number {
  const count = readCount(decoder);
  for (let i = 0; i < count; i++) skipValue(decoder, maxDepth);
  return count;
}

function readSingleContent(decoder: Decoder, kind: number, limits: UpdateLimits): void {
  switch (kind) {
    case StructKind.binary:
      return skipVarUint8Array(decoder);
    case StructKind.embed:
      return skipJson(decoder, limits.maxDepth);
    case StructKind.format:
      skipKey(decoder, limits.maxKeyBytes);
      return skipJson(decoder, limits.maxDepth);
    case StructKind.type:
      return readType(decoder, limits);
    case StructKind.document:
      skipVarString(decoder);
      return skipAnyObject(decoder, limits.maxDepth);
    default:
      throw badFrame("unknown kind of struct");
  }
}

/** Yjs's numbers of the shared types; XML elements and hooks carry a name. */
const TypeRef = { xmlElement: 3, xmlHook: 5, xmlText: 6 } as const;

function readType(decoder: Decoder, limits: UpdateLimits): void {
  const type = readVarUint(decoder);
  if (type > TypeRef.xmlText) throw badFrame("unknown kind of type");
  if (type === TypeRef.xmlElement || type === TypeRef.xmlHook) skipKey(decoder, limits.maxKeyBytes);
}
