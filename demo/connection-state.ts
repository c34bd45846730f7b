// How the connection is doing, in words.
import type { YProvider } from "../client/index.js";

/** `online`: this page and the room have exchanged what each had. */
export type ConnectionState = "connecting" | "online" | "offline" | "refused";

/** What to tell people; the editor works in all of them. */
export const connectionWords: Readonly<Record<ConnectionState, string>> = {
  connecting: "Connecting…",
  online: "Connected",
  offline: "No connection. Changes are sent when it is back.",
  refused: "This room does not let you in.",
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
  provider.on("closed", () => change("refused"));
  onChange(state);
}
