// Control frames: what Dormouse's own clients and rooms tell each other beside the messages of y-protocols. PROTOCOL.md has
// the bytes. A room sends none to anybody who has not said hello.
import * as encoding from "lib0/encoding";
import { decodeAwarenessUpdate, type AwarenessEntry } from "./awareness.js";
import { CloseCode } from "./close-code.js";
import { ProtocolError } from "./protocol-error.js";
import { Reader } from "./reader.js";

/** The first number of a control frame. */
export const controlMessageType = 64;
/** The version of the control frames, in both hellos. */
export const controlVersion = 1;
/** Larger frames go in parts, in bytes: half of what the platform delivers in one. */
export const maxFrameBytes = 16_777_216;
/** In the query of an upgrade: who sends it reads close codes, and is told there why it is not let in. */
export const ownClientParam = "_dm";

const Kind = {
  hello: 0,
  update: 1,
  bundle: 2,
  ack: 3,
  denied: 4,
  access: 5,
  part: 6,
  closing: 7,
} as const;

/** Set in the flags of an update that answers a sync step 1: it has everything that the sender has and the room lacked. */
const isWholeFlag = 1;

/** What a connection may do, as control frames carry it: its place in this list. */
export const accessLevels = ["none", "read", "write", "admin"] as const;
export type AccessLevel = (typeof accessLevels)[number];

/** The first frame of a client. */
export interface ClientHello {
  readonly type: "hello";
  readonly version: number;
  /** The epoch that the client last synced with; empty for none. */
  readonly epoch: string;
  /** The last sequence number up to which the client has everything; 0 for none. */
  readonly cursor: number;
  /** Known to this client and its next connection only: what it announced comes over to that one. */
  readonly secret: string;
}

/** An update with a number, so that it can be acknowledged. */
export interface NumberedUpdate {
  readonly type: "update";
  /** Counts the updates of one connection, from 1. */
  readonly number: number;
  /** Whether it answers a sync step 1. */
  readonly isWhole: boolean;
  /** A V1 update, not yet checked. */
  readonly update: Uint8Array;
  /** The presence that came with it; empty for none. */
  readonly awareness: readonly AwarenessEntry[];
}

/** A piece of a frame. Pieces of one frame come in order, with nothing in between. */
export interface Part {
  readonly type: "part";
  readonly index: number;
  readonly count: number;
  readonly piece: Uint8Array;
}

/** What a client sends in control frames. */
export type ClientControl = ClientHello | NumberedUpdate | Part;

/** The answer to a hello, and sent again when the epoch of a new document is settled. */
export interface ServerHello {
  readonly type: "hello";
  readonly version: number;
  /** The life of the document; empty as long as nothing is stored. */
  readonly epoch: string;
  /** The sequence number of the newest flush. */
  readonly head: number;
  readonly access: AccessLevel;
  /** Frames above this are to be sent in parts. */
  readonly maxFrameBytes: number;
}

/** What a room sends in control frames. */
export type ServerControl =
  | ServerHello
  /**
   * All updates up to `accepted` were taken in and all up to `saved` are stored. What was sent before this frame is
   * covered by the sequence number `head`.
   */
  | { readonly type: "ack"; readonly accepted: number; readonly saved: number; readonly head: number }
  /** An update was refused; `number` is 0 for one without. */
  | { readonly type: "denied"; readonly number: number; readonly reason: string }
  | { readonly type: "access"; readonly access: AccessLevel }
  | Part
  /** Why the close that follows happens. */
  | { readonly type: "closing"; readonly code: number; readonly reason: string };

/** Whether a frame is a control frame. */
export function isControlFrame(frame: Uint8Array): boolean {
  return frame[0] === controlMessageType;
}

/** Encodes a control frame of a client. `awareness` of an update is given encoded. */
export function encodeClientControl(
  message:
    | ClientHello
    | Part
    | (Omit<NumberedUpdate, "awareness"> & { readonly awareness: Uint8Array | null }),
): Uint8Array {
  switch (message.type) {
    case "hello":
      return encode(Kind.hello, (encoder) => {
        encoding.writeVarUint(encoder, message.version);
        encoding.writeVarString(encoder, message.epoch);
        encoding.writeVarUint(encoder, message.cursor);
        encoding.writeVarString(encoder, message.secret);
      });
    case "update":
      return encode(message.awareness === null ? Kind.update : Kind.bundle, (encoder) => {
        encoding.writeVarUint(encoder, message.number);
        encoding.writeVarUint(encoder, message.isWhole ? isWholeFlag : 0);
        encoding.writeVarUint8Array(encoder, message.update);
        if (message.awareness !== null) encoding.writeVarUint8Array(encoder, message.awareness);
      });
    case "part":
      return encodePart(message);
  }
}

/** Encodes a control frame of a room. */
export function encodeServerControl(message: ServerControl): Uint8Array {
  switch (message.type) {
    case "hello":
      return encode(Kind.hello, (encoder) => {
        encoding.writeVarUint(encoder, message.version);
        encoding.writeVarString(encoder, message.epoch);
        encoding.writeVarUint(encoder, message.head);
        encoding.writeVarUint(encoder, accessLevels.indexOf(message.access));
        encoding.writeVarUint(encoder, message.maxFrameBytes);
      });
    case "ack":
      return encode(Kind.ack, (encoder) => {
        encoding.writeVarUint(encoder, message.accepted);
        encoding.writeVarUint(encoder, message.saved);
        encoding.writeVarUint(encoder, message.head);
      });
    case "denied":
      return encode(Kind.denied, (encoder) => {
        encoding.writeVarUint(encoder, message.number);
        encoding.writeVarString(encoder, message.reason);
      });
    case "access":
      return encode(Kind.access, (encoder) => {
        encoding.writeVarUint(encoder, accessLevels.indexOf(message.access));
      });
    case "part":
      return encodePart(message);
    case "closing":
      return encode(Kind.closing, (encoder) => {
        encoding.writeVarUint(encoder, message.code);
        encoding.writeVarString(encoder, message.reason);
      });
  }
}

/** Decodes an untrusted control frame of a client. @throws ProtocolError 4400 */
export function decodeClientControl(frame: Uint8Array): ClientControl {
  const reader = readHeader(frame);
  const message = readClientControl(reader, reader.readVarUint());
  reader.end();
  return message;
}

/** Decodes a control frame of a room. @throws ProtocolError 4400 */
export function decodeServerControl(frame: Uint8Array): ServerControl {
  const reader = readHeader(frame);
  const message = readServerControl(reader, reader.readVarUint());
  reader.end();
  return message;
}

/** Cuts a frame into control frames of at most `maxBytes` bytes, some twenty of them for the header. */
export function cutFrame(frame: Uint8Array, maxBytes: number): Uint8Array[] {
  const size = Math.max(1, maxBytes - 24);
  const count = Math.ceil(frame.byteLength / size);
  return Array.from({ length: count }, (_, index) =>
    encodePart({ type: "part", index, count, piece: frame.subarray(index * size, (index + 1) * size) }),
  );
}

function readClientControl(reader: Reader, kind: number): ClientControl {
  switch (kind) {
    case Kind.hello:
      return {
        type: "hello",
        version: reader.readVarUint(),
        epoch: reader.readVarString(),
        cursor: reader.readVarUint(),
        secret: reader.readVarString(),
      };
    case Kind.update:
    case Kind.bundle:
      return {
        type: "update",
        number: reader.readVarUint(),
        isWhole: (reader.readVarUint() & isWholeFlag) !== 0,
        update: reader.readVarUint8Array(),
        awareness: kind === Kind.bundle ? decodeAwarenessUpdate(reader.readVarUint8Array()) : [],
      };
    case Kind.part:
      return readPart(reader);
    default:
      throw fault("unknown control message");
  }
}

function readServerControl(reader: Reader, kind: number): ServerControl {
  switch (kind) {
    case Kind.hello:
      return {
        type: "hello",
        version: reader.readVarUint(),
        epoch: reader.readVarString(),
        head: reader.readVarUint(),
        access: readAccess(reader),
        maxFrameBytes: reader.readVarUint(),
      };
    case Kind.ack:
      return {
        type: "ack",
        accepted: reader.readVarUint(),
        saved: reader.readVarUint(),
        head: reader.readVarUint(),
      };
    case Kind.denied:
      return { type: "denied", number: reader.readVarUint(), reason: reader.readVarString() };
    case Kind.access:
      return { type: "access", access: readAccess(reader) };
    case Kind.part:
      return readPart(reader);
    case Kind.closing:
      return { type: "closing", code: reader.readVarUint(), reason: reader.readVarString() };
    default:
      throw fault("unknown control message");
  }
}

function readHeader(frame: Uint8Array): Reader {
  const reader = new Reader(frame);
  if (reader.readVarUint() !== controlMessageType) throw fault("not a control frame");
  return reader;
}

function readAccess(reader: Reader): AccessLevel {
  const access = accessLevels[reader.readVarUint()];
  if (access === undefined) throw fault("unknown access");
  return access;
}

function readPart(reader: Reader): Part {
  const index = reader.readVarUint();
  const count = reader.readVarUint();
  if (index >= count) throw fault("part out of range");
  return { type: "part", index, count, piece: reader.readVarUint8Array() };
}

function encodePart({ index, count, piece }: Part): Uint8Array {
  return encode(Kind.part, (encoder) => {
    encoding.writeVarUint(encoder, index);
    encoding.writeVarUint(encoder, count);
    encoding.writeVarUint8Array(encoder, piece);
  });
}

function encode(kind: number, write: (encoder: encoding.Encoder) => void): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, controlMessageType);
  encoding.writeVarUint(encoder, kind);
  write(encoder);
  return encoding.toUint8Array(encoder);
}

function fault(reason: string): ProtocolError {
  return new ProtocolError(CloseCode.badFrame, reason);
}
