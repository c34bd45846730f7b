// The two ways in which an update is refused. Reasons are fixed phrases: they travel to the peer in the close frame and
// into logs, and must carry nothing of its data.
import { CloseCode } from "../protocol/close-code.js";
import { ProtocolError } from "../protocol/protocol-error.js";

/** The bytes are not what a client of Yjs writes: 4400. */
export function badFrame(reason: string): ProtocolError {
  return new ProtocolError(CloseCode.badFrame, reason);
}

/** A limit was passed: 4413. */
export function tooLarge(reason: string): ProtocolError {
  return new ProtocolError(CloseCode.tooLarge, reason);
}
