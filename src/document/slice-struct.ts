// Cuts the known front off a struct. Rare: it takes a client that joined what it had sent with what is new. Yjs does it,
// so that a cut inside a surrogate pair comes out as it does everywhere else.
import * as Y from "yjs";
import { encodeUpdate, sectionBlock, type StructBlock } from "./normal-form.js";
import { scanUpdate } from "./scan.js";
import { encodeStateVector } from "./state-vector.js";
import type { StructView } from "./struct-reader.js";
import { storedUpdateLimits } from "./update-limits.js";

/** The part of `struct`, a struct of the scanned `bytes`, from `clock` on. `clock` lies inside the struct. */
export function sliceStruct(bytes: Uint8Array, struct: StructView, clock: number): StructBlock {
  const { client, from, to } = struct;
  const whole = {
    client,
    clock: struct.clock,
    end: struct.clock + struct.length,
    structs: 1,
    bytes,
    from,
    to,
  };
  const update = encodeUpdate([[whole]], new Map());
  const rest = Y.diffUpdate(update, encodeStateVector(new Map([[client, clock]])));
  const scanned = scanUpdate(rest, { limits: storedUpdateLimits });
  return sectionBlock(scanned.bytes, scanned.sections[0]!);
}
