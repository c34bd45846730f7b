// The one error that means "this peer broke a rule". It is thrown by every decoder of untrusted bytes and
// caught where a frame enters the room, which closes that connection and nothing else.
import type { CloseCode } from "./close-code.js";

/** A peer broke the protocol or passed a limit. Costs that peer its connection. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly closeCode: CloseCode;
  /** Why, in a few words without any of the peer's data: it is sent as the close reason (≤ 123 bytes). */
  readonly reason: string;

  constructor(closeCode: CloseCode, reason: string) {
    super(`${closeCode} ${reason}`);
    this.closeCode = closeCode;
    this.reason = reason;
  }
}
