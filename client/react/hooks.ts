// What components inside a `<Room>` ask for.
import { useSyncExternalStore } from "react";
import type { Doc } from "yjs";
import type { YProvider } from "../provider.js";
import type { AwarenessStates, RoomStatus } from "./room-store.js";
import { useRoomStore } from "./room.js";
import { useSelected } from "./use-selected.js";

const itself = <Value>(value: Value): Value => value;

/** The document of the room. It is another one in another room, and stays the same otherwise. */
export function useYDoc(): Doc {
  return useRoomStore().doc;
}

/**
 * The provider of the room, for its events, its `awareness` and its messages. It is alive whenever the component is mounted,
 * and another one after the component was hidden and shown again.
 */
export function useProvider(): YProvider {
  const { subscribe, getProvider } = useRoomStore();
  return useSyncExternalStore(subscribe, getProvider, getProvider);
}

/** Everybody's awareness states, one's own too. Nobody on a server. */
export function useAwareness(): AwarenessStates;
/** What `select` makes of everybody's awareness states; renders again only when that differs in what it holds. */
export function useAwareness<Value>(select: (states: AwarenessStates, ownClientID: number) => Value): Value;
export function useAwareness(
  select: (states: AwarenessStates, ownClientID: number) => unknown = itself,
): unknown {
  const { awareness, subscribeStates, getStates, getServerStates } = useRoomStore();
  return useSelected({ subscribe: subscribeStates, get: getStates, getServer: getServerStates }, (states) =>
    select(states, awareness.clientID),
  );
}

/** How the room is doing. */
export function useStatus(): RoomStatus;
/** What `select` makes of how the room is doing; renders again only when that differs in what it holds. */
export function useStatus<Value>(select: (status: RoomStatus) => Value): Value;
export function useStatus(select: (status: RoomStatus) => unknown = itself): unknown {
  const { subscribe, getStatus, getServerStatus } = useRoomStore();
  return useSelected({ subscribe, get: getStatus, getServer: getServerStatus }, select);
}
