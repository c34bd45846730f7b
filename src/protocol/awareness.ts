// Awareness updates as bytes: who is where, without an `Awareness` instance. What a room does with them is presence'
// business (src/room/presence.ts).
import * as encoding from "lib0/encoding";
import { CloseCode } from "./close-code.js";
import { ProtocolError } from "./protocol-error.js";
import { Reader } from "./reader.js";

/** One person in an awareness update. */
export interface AwarenessEntry {
  readonly clientID: number;
  readonly clock: number;
  /** The state as JSON: an object, or `null` for somebody who left. */
  readonly state: string;
}

/** The JSON of the state of somebody who left. */
export const leftState = "null";

/**
 * Clocks above this are refused. Rooms raise clocks by one now and then, and providers send back what they hear: a clock
 * near 2⁵³ would make them all send what cannot be read.
 */
export const maxAwarenessClock: number = 2 ** 48;

/**
 * The longest state, in UTF-16 units of JSON. It is sent to everybody at each move, and to each newcomer. 65 536 is a
 * hundred times what an editor puts into one.
 */
const maxStateLength = 65_536;

/** Objects and arrays of a state may be nested this deep: deeper ones overflow the stack of the clients that copy it. */
const maxStateDepth = 100;

/** Decodes an untrusted awareness update. @throws ProtocolError 4400, or 4413 for a state that is too long */
export function decodeAwarenessUpdate(bytes: Uint8Array): AwarenessEntry[] {
  const reader = new Reader(bytes);
  const count = reader.readVarUint();
  const entries: AwarenessEntry[] = [];
  for (let i = 0; i < count; i++) {
    const clientID = reader.readVarUint();
    const clock = reader.readVarUint();
    if (clock > maxAwarenessClock) throw fault("presence clock out of range");
    entries.push({ clientID, clock, state: checkState(reader.readVarString()) });
  }
  reader.end();
  return entries;
}

/** Encodes an awareness update, as `encodeAwarenessUpdate` of y-protocols does. */
export function encodeAwarenessUpdate(entries: readonly AwarenessEntry[]): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, entries.length);
  for (const { clientID, clock, state } of entries) {
    encoding.writeVarUint(encoder, clientID);
    encoding.writeVarUint(encoder, clock);
    encoding.writeVarString(encoder, state);
  }
  return encoding.toUint8Array(encoder);
}

/** Readers parse a state and look into it: what does not parse to an object or null would throw at all of them. */
function checkState(json: string): string {
  if (json.length > maxStateLength) throw new ProtocolError(CloseCode.tooLarge, "presence too large");
  if (nestsDeeperThan(json, maxStateDepth)) throw fault("presence nested too deep");
  let state: unknown;
  try {
    state = JSON.parse(json);
  } catch {
    throw fault("presence is not JSON");
  }
  if (state === null) return leftState;
  if (typeof state !== "object" || Array.isArray(state)) throw fault("presence is not an object");
  return json;
}

function nestsDeeperThan(json: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const char = json[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") {
      if (++depth > limit) return true;
    } else if (char === "}" || char === "]") depth--;
  }
  return false;
}

function fault(reason: string): ProtocolError {
  return new ProtocolError(CloseCode.badFrame, reason);
}
