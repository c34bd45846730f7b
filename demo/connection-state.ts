// How the connection is doing, in words.
import type YProvider from "y-partyserver/provider";

/** `online`: this page and the room have exchanged what each had. */
export type ConnectionState = "connecting" | "online" | "offline";

/** What to tell people; the editor works in all three. */
export const connectionWords: Readonly<Record<ConnectionState, string>> = {
  connecting: "Connecting…",
  online: "Connected",
  offline: "No connection. Changes are sent when it is back.",
};

/** Calls `onChange` at once and at every change. */
export function watchConnection(provider: YProvider, onChange: (state: ConnectionState) => void): void {
  let state: ConnectionState = "connecting";
  const change = (next: ConnectionState) => {
    if (next === state) return;
    state = next;
    onChange(state);
  };
  provider.on("sync", (isSynced: boolean) => {
    if (isSynced) change("online");
  });
  // Not from "status": that says "connecting" at every attempt, and the words would flicker.
  provider.on("connection-close", () => change("offline"));
  onChange(state);
}
