// Frames of the y-protocols messages 0 to 3, and the text frames of applications. PROTOCOL.md has the bytes.
import * as encoding from "lib0/encoding";
import { decodeAwarenessUpdate, encodeAwarenessUpdate, type AwarenessEntry } from "./awareness.js";
import { CloseCode } from "./close-code.js";
import { controlMessageType } from "./control.js";
import { ProtocolError } from "./protocol-error.js";
import { Reader } from "./reader.js";

/** The first number of a binary frame. */
export const MessageType = {
  sync: 0,
  awareness: 1,
  /** Server to client only: permission denied. */
  auth: 2,
  queryAwareness: 3,
} as const;

/** The second number of a sync frame. */
export const SyncType = { step1: 0, step2: 1, update: 2 } as const;

/** What a client can send in a binary frame. */
export type ClientMessage =
  /** `vector` is an encoded state vector, not yet checked. */
  | { readonly type: "step1"; readonly vector: Uint8Array }
  /** `update` is a V1 update, not yet checked. */
  | { readonly type: "step2" | "update"; readonly update: Uint8Array }
  | { readonly type: "awareness"; readonly entries: readonly AwarenessEntry[] }
  | { readonly type: "queryAwareness" };

/** Text frames that start so carry application messages, as in y-partyserver. */
export const customMessagePrefix = "__YPS:";

/** Whether a binary frame starts with the number of a message that this protocol knows. */
export function isKnownFrame(frame: Uint8Array): boolean {
  const type = frame[0];
  return type !== undefined && (type <= MessageType.queryAwareness || type === controlMessageType);
}

/**
 * Decodes an untrusted binary frame. Byte arrays in the result are views into the frame.
 * @throws ProtocolError 4400, or 4413 for presence that is too large
 */
export function decodeClientMessage(frame: Uint8Array): ClientMessage {
  const reader = new Reader(frame);
  const message = readClientMessage(reader);
  reader.end();
  return message;
}

function readClientMessage(reader: Reader): ClientMessage {
  switch (reader.readVarUint()) {
    case MessageType.sync:
      return readSyncMessage(reader);
    case MessageType.awareness:
      return { type: "awareness", entries: decodeAwarenessUpdate(reader.readVarUint8Array()) };
    case MessageType.queryAwareness:
      return { type: "queryAwareness" };
    default:
      throw new ProtocolError(CloseCode.badFrame, "unknown message");
  }
}

function readSyncMessage(reader: Reader): ClientMessage {
  switch (reader.readVarUint()) {
    case SyncType.step1:
      return { type: "step1", vector: reader.readVarUint8Array() };
    case SyncType.step2:
      return { type: "step2", update: reader.readVarUint8Array() };
    case SyncType.update:
      return { type: "update", update: reader.readVarUint8Array() };
    default:
      throw new ProtocolError(CloseCode.badFrame, "unknown sync message");
  }
}

/** Sync step 1: asks for everything that `vector`, an encoded state vector, does not cover. */
export function encodeSyncStep1(vector: Uint8Array): Uint8Array {
  return encodeSync(SyncType.step1, vector);
}

/** Sync step 2: the last part of an answer to step 1. `update` is a V1 update. */
export function encodeSyncStep2(update: Uint8Array): Uint8Array {
  return encodeSync(SyncType.step2, update);
}

/** An update to a document. `update` is a V1 update. */
export function encodeUpdate(update: Uint8Array): Uint8Array {
  return encodeSync(SyncType.update, update);
}

/** Tells where people are. */
export function encodeAwareness(entries: readonly AwarenessEntry[]): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, MessageType.awareness);
  encoding.writeVarUint8Array(encoder, encodeAwarenessUpdate(entries));
  return encoding.toUint8Array(encoder);
}

/** Asks a client to announce where it is. */
export function encodeQueryAwareness(): Uint8Array {
  return Uint8Array.of(MessageType.queryAwareness);
}

/** Tells a client that what it sent was refused. Stock providers print `reason` to the console. */
export function encodePermissionDenied(reason: string): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, MessageType.auth);
  encoding.writeVarUint(encoder, 0);
  encoding.writeVarString(encoder, reason);
  return encoding.toUint8Array(encoder);
}

function encodeSync(type: number, bytes: Uint8Array): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, MessageType.sync);
  encoding.writeVarUint(encoder, type);
  encoding.writeVarUint8Array(encoder, bytes);
  return encoding.toUint8Array(encoder);
}
