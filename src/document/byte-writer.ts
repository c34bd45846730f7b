// A growing byte array. lib0's encoder does the same, but copies every piece by way of two views. Updates are put together
// from thousands of pieces of some ten bytes, for which that takes three times as long.

/** Writes bytes and varints one after the other. */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  /** `capacity` is a guess of the bytes to come; a right one saves copying. */
  constructor(capacity = 64) {
    this.#bytes = new Uint8Array(capacity);
  }

  /** How many bytes were written. */
  get length(): number {
    return this.#length;
  }

  writeByte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
  }

  /** A varint as lib0 writes it. `value` is an integer from 0 to 2⁵³ − 1. */
  writeVarUint(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = 0x80 | (rest % 128);
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#length++] = rest;
  }

  /** Copies the bytes [from, to) of `source`. */
  writeBytes(source: Uint8Array, from = 0, to: number = source.length): void {
    const count = to - from;
    this.#reserve(count);
    if (count > 48) {
      this.#bytes.set(source.subarray(from, to), this.#length);
    } else {
      // a short copy by hand is several times faster than a view and `set`
      for (let i = 0; i < count; i++) this.#bytes[this.#length + i] = source[from + i]!;
    }
    this.#length += count;
  }

  /** What was written, as an array of its own. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
