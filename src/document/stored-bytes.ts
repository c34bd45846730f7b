// The edge between the strict readers, which blame a peer, and bytes that we wrote ourselves, where nobody else is to
// blame: a fault in those is damage to the storage.
import { ProtocolError } from "../protocol/protocol-error.js";

/**
 * Runs a decoder over stored bytes.
 * @throws Error naming what is damaged, so that no connection is closed for it
 */
export function readStored<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new Error(`damaged ${what}: ${error.reason}`, { cause: error });
  }
}
