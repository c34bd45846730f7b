// Hashes of what is kept to recognise somebody by. Not lib0's base64: it wants a Buffer wherever it takes a Worker for Node.

/** The first 96 bits of a SHA-256 digest, in base64. */
export function encodeShortHash(digest: Uint8Array): string {
  return btoa(String.fromCharCode(...digest.subarray(0, 12)));
}
