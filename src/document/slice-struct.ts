// Cuts the known front off a struct. It takes a client that joined what it had sent with what is new, or that was given
// the first half of what others joined. On bytes: anybody may ask for thousands of such cuts by one state vector.
import * as decoding from "lib0/decoding";
import { ByteWriter } from "./byte-writer.js";
import type { StructBlock } from "./normal-form.js";
import { readVarUint, skipAny, skipVarUint8Array } from "./strict-decoding.js";
import { ItemFlag, StructKind, type StructView } from "./struct-reader.js";

/**
 * The part of `struct`, which was read from the scanned `bytes`, from `clock` on. `clock` lies inside of it. As in Yjs,
 * the rest of an item has what was cut off as its origin, and a surrogate pair that is cut becomes U+FFFD.
 */
export function sliceStruct(bytes: Uint8Array, struct: StructView, clock: number): StructBlock {
  const writer = new ByteWriter(struct.to - struct.from + 24);
  const offset = clock - struct.clock;
  const info = bytes[struct.from]!;
  if (struct.kind === StructKind.gc || struct.kind === StructKind.skip) {
    writer.writeByte(info);
    writer.writeVarUint(struct.length - offset);
  } else {
    writer.writeByte(info | ItemFlag.origin);
    writer.writeVarUint(struct.client);
    writer.writeVarUint(clock - 1);
    if ((info & ItemFlag.rightOrigin) !== 0) {
      writer.writeVarUint(struct.rightClient);
      writer.writeVarUint(struct.rightClock);
    }
    writeRestOfContent(writer, bytes, struct, offset);
  }
  const rest = writer.toBytes();
  const end = struct.clock + struct.length;
  return { client: struct.client, clock, end, structs: 1, bytes: rest, from: 0, to: rest.length };
}

function writeRestOfContent(writer: ByteWriter, bytes: Uint8Array, struct: StructView, offset: number): void {
  const left = struct.length - offset;
  const decoder = decoding.createDecoder(bytes);
  decoder.pos = struct.contentFrom;
  switch (struct.kind) {
    case StructKind.deleted:
      return writer.writeVarUint(left);
    case StructKind.string:
      readVarUint(decoder);
      return writeRestOfString(writer, bytes, decoder.pos, struct.to, offset);
    case StructKind.json:
    case StructKind.any:
      readVarUint(decoder);
      for (let i = 0; i < offset; i++) {
        if (struct.kind === StructKind.any) skipAny(decoder, Infinity);
        else skipVarUint8Array(decoder);
      }
      writer.writeVarUint(left);
      return writer.writeBytes(bytes, decoder.pos, struct.to);
    default:
      throw new RangeError("a struct of length 1 cannot be cut");
  }
}

const replacement = Uint8Array.of(0xef, 0xbf, 0xbd);

/** Writes the UTF-8 in [from, to) without its first `offset` UTF-16 units. */
function writeRestOfString(
  writer: ByteWriter,
  bytes: Uint8Array,
  from: number,
  to: number,
  offset: number,
): void {
  let pos = from;
  let units = 0;
  while (units < offset) {
    const byte = bytes[pos]!;
    const size = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    pos += size;
    units += size === 4 ? 2 : 1;
  }
  const cutPair = units > offset ? replacement : replacement.subarray(0, 0);
  writer.writeVarUint(cutPair.length + to - pos);
  writer.writeBytes(cutPair);
  writer.writeBytes(bytes, pos, to);
}
