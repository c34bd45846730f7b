// The numbers with which a room closes or refuses. Owned here so that server and client read one list;
// what to do on each is said in PROTOCOL.md.

/**
 * WebSocket close codes of a room. 44xx are final: the peer must not come back with the same request
 * (y-websocket 3.1 reads them so too). 45xx ask to come back later, with a jittered backoff.
 */
export const CloseCode = {
  /** A frame broke the protocol, or an update broke a structural rule. */
  badFrame: 4400,
  unauthenticated: 4401,
  forbidden: 4403,
  noSuchDocument: 4404,
  /** The peer holds a copy from an earlier life of the document. */
  staleCopy: 4409,
  deleted: 4410,
  /** A limit on size or count was passed. */
  tooLarge: 4413,
  tryAgain: 4500,
  /** The stored document cannot be read now. */
  cannotLoad: 4503,
  tooManyRequests: 4529,
} as const;

/** One of the numbers in {@link CloseCode}. */
export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];
