// A page with React in it, on fake timers, and the rooms that it can enter.
import { act, type ReactNode } from "react";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { RoomOptions } from "../../../client/react/index.js";
import { OpenRooms } from "./open-rooms.ts";

/** What a test has. Made anew for each. */
export interface Page {
  readonly rooms: OpenRooms;
  /** The options that lead to these rooms. */
  readonly options: Omit<RoomOptions, "room">;
  /** Renders, or renders again; for within `run`. */
  show(node: ReactNode): void;
  /** Renders, or renders again, and waits until all is quiet. */
  render(node: ReactNode): Promise<void>;
  /** Takes over what a server rendered. */
  hydrate(html: string, node: ReactNode): Promise<void>;
  unmount(): Promise<void>;
  /** Does something, and waits until all is quiet. */
  run(action?: () => void): Promise<void>;
  readonly text: string | null;
  /** How many listeners there are on the page. */
  countListeners(): number;
}

/** React listens for this on the document, once and for good. */
const ofReact = "selectionchange";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

/** A page for each test. After each nothing may be left: no socket, no timer, no listener, no complaint. */
export function usePage(): Page {
  let rooms: OpenRooms;
  let root: Root | null = null;
  let place: HTMLElement;
  let listeners = 0;
  const run = (action: () => void = () => {}) =>
    act(async () => {
      action();
      await vi.advanceTimersByTimeAsync(200);
    });

  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(console, "error");
    rooms = new OpenRooms();
    listeners = 0;
    for (const target of [window, document]) {
      const count = (by: number) => (type: string) => void (listeners += type === ofReact ? 0 : by);
      vi.spyOn(target, "addEventListener").mockImplementation(count(1));
      vi.spyOn(target, "removeEventListener").mockImplementation(count(-1));
    }
    place = document.body.appendChild(document.createElement("div"));
  });
  const show = (node: ReactNode) => (root ??= createRoot(place)).render(node);
  const unmount = async () => {
    await run(() => root?.unmount());
    root = null;
  };
  afterEach(async () => {
    await unmount();
    rooms.destroyWatchers();
    place.remove();
    expect(vi.getTimerCount(), "timers that are left").toBe(0);
    expect(listeners, "listeners that are left").toBe(0);
    expect(rooms.network.sockets.filter((socket) => socket.readyState < 2)).toEqual([]);
    expect(console.error).not.toHaveBeenCalled();
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  return {
    get rooms() {
      return rooms;
    },
    get options() {
      return { host: "example.com", WebSocketPolyfill: rooms.network.WebSocket, disableBc: true };
    },
    show,
    render: (node) => run(() => show(node)),
    hydrate: (html, node) => {
      place.innerHTML = html;
      return run(() => (root = hydrateRoot(place, node)));
    },
    unmount,
    run,
    get text() {
      return place.textContent;
    },
    countListeners: () => listeners,
  };
}
