// The few globals that every runtime of ours has (Workers, browsers, Node) and that the ECMAScript library
// lacks. Seen by the core project alone; elsewhere they come with the platform's own types.

declare class TextEncoder {
  encode(input?: string): Uint8Array<ArrayBuffer>;
}

declare class TextDecoder {
  constructor(label?: "utf-8", options?: { fatal: boolean; ignoreBOM: boolean });
  decode(input?: Uint8Array | ArrayBuffer): string;
}

declare const crypto: {
  getRandomValues<T extends Uint8Array | Uint32Array>(array: T): T;
};

// To stop the timers of others (an Awareness starts one). The core starts none, so nothing else is here.
declare function clearInterval(id: unknown): void;
