// A strict reader of untrusted bytes. lib0's decoder is made for bytes of a friend: it accepts numbers that are longer
// than they need to be and reads past the end of a view into the buffer behind it.
import { CloseCode } from "./close-code.js";
import { ProtocolError } from "./protocol-error.js";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads a byte array from front to back. Every method throws {@link ProtocolError} 4400 at the first fault. */
export class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** How many bytes are left. */
  get left(): number {
    return this.#bytes.byteLength - this.#at;
  }

  /** A varint as lib0 writes it: minimal, at most 8 bytes and 2⁵³ − 1. */
  readVarUint(): number {
    let value = 0;
    let multiplier = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw fault("truncated");
      this.#at++;
      value += (byte & 0x7f) * multiplier;
      if (byte < 0x80) {
        if (byte === 0 && i > 0) throw fault("number not minimal");
        if (value > Number.MAX_SAFE_INTEGER) throw fault("number too large");
        return value;
      }
      multiplier *= 128;
    }
    throw fault("number too long");
  }

  /** A length as a varint, then that many bytes. A view into the array that is read, not a copy. */
  readVarUint8Array(): Uint8Array {
    const length = this.readVarUint();
    if (length > this.left) throw fault("truncated");
    const from = this.#at;
    this.#at += length;
    return this.#bytes.subarray(from, this.#at);
  }

  /** A string in UTF-8 behind its length in bytes. */
  readVarString(): string {
    const bytes = this.readVarUint8Array();
    try {
      return utf8.decode(bytes);
    } catch {
      throw fault("invalid UTF-8");
    }
  }

  /** To be called last: bytes left over are a fault. */
  end(): void {
    if (this.left > 0) throw fault("bytes left over");
  }
}

function fault(reason: string): ProtocolError {
  return new ProtocolError(CloseCode.badFrame, reason);
}
