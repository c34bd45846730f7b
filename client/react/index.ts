"use client";
// What `dormouse/react` exports.
export { Room, type RoomProps } from "./room.js";
export { useAwareness, useProvider, useStatus, useYDoc } from "./hooks.js";
export type { AwarenessStates, RoomOptions, RoomStatus } from "./room-store.js";
