// How much one update may hold. Owns the numbers and their reasons; the scan counts against them in its one pass, so
// that an update over a limit costs no more than the bytes up to it.

/**
 * Limits of one update. Passing `maxDepth` or `maxKeyBytes` breaks the format (4400), since no client of Yjs writes such
 * a thing by accident; passing any other is too large (4413).
 */
export interface UpdateLimits {
  /**
   * Bytes of the whole update. Protects memory: everything else here grows with them. 32 MiB, the largest frame the
   * platform delivers.
   */
  readonly maxBytes: number;
  /**
   * Structs, Skips included. Protects the time of a scan (0.1–0.2 µs each) and of every reader that integrates them
   * (microseconds each). 2 097 152: typed text takes about 20 bytes per struct, so what an honest client can put into
   * `maxBytes` passes.
   */
  readonly maxStructs: number;
  /**
   * Ranges of the delete set. Protects memory: 16 bytes each while they are held. 1 048 576, since 50 MB of typing leave
   * some 700 000 and every client sends its whole delete set when it connects.
   */
  readonly maxDeleteRanges: number;
  /**
   * Clients with structs (not clients with deletes: one "select all, delete" touches every author there ever was).
   * Protects readers, whose cost of integrating crossed clients grows faster than their number.
   */
  readonly maxSections: number;
  /**
   * Different root names. Protects readers: Yjs makes a type for each and nothing ever removes it. 4 096, far above what
   * an editor or a whiteboard uses.
   */
  readonly maxRoots: number;
  /**
   * Subdocuments. Protects readers: Yjs builds a Y.Doc for each while it merely decodes, 25 µs and 2.3 kB. 256 is some
   * milliseconds.
   */
  readonly maxSubdocuments: number;
  /**
   * Nesting of one JSON or `any` value. Protects the stack: Yjs reads and writes them recursively, and a document that
   * holds one 5 000 deep can be encoded by no client. 100, far above what editors nest in one value.
   */
  readonly maxDepth: number;
  /**
   * UTF-8 bytes of a root name, a map key, a format key or a node name. Protects memory: names are kept as strings, for
   * ever. 4 096.
   */
  readonly maxKeyBytes: number;
}

/**
 * Limits of one update of a client. A whole document may come in one: in a sync step 2, and also in an update, when a copy
 * that the browser keeps is read after the line is open. Hence 131 072 clients: some 15 MB of sections in memory, and more
 * page loads than one document sees in years.
 */
export const defaultUpdateLimits: UpdateLimits = {
  maxBytes: 33_554_432,
  maxStructs: 2_097_152,
  maxDeleteRanges: 1_048_576,
  maxSections: 131_072,
  maxRoots: 4_096,
  maxSubdocuments: 256,
  maxDepth: 100,
  maxKeyBytes: 4_096,
};

/** For bytes of our own making, which passed a limit before they were stored and are merged since. */
export const storedUpdateLimits: UpdateLimits = {
  ...defaultUpdateLimits,
  maxBytes: Infinity,
  maxStructs: Infinity,
  maxDeleteRanges: Infinity,
  maxSections: Infinity,
  maxRoots: Infinity,
  maxSubdocuments: Infinity,
};
