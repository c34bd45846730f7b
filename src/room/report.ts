// The one place that writes to the log: one line an event, without tokens, text of documents or stacks of peers.

/** Writes one line about a room. `error` is named with its message and, for a fault of ours or the app's, its stack. */
export function report(level: "warn" | "error", room: string, text: string, error?: unknown): void {
  const line = `dormouse: room ${JSON.stringify(room)}: ${text}`;
  if (error === undefined) console[level](line);
  else console[level](line, error);
}
