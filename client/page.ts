// What the provider needs of a browser's page: its events, and whether there is a network. On a server
// there is no page, and nothing here does anything.

/** An event of a page, with what matters of it. */
export interface PageEvent {
  readonly type: string;
  preventDefault(): void;
}

type Listener = (event: PageEvent) => void;

const globals = globalThis as unknown as {
  readonly window?: {
    // Some platforms have a window that is none.
    addEventListener?(type: string, listener: Listener): void;
    removeEventListener?(type: string, listener: Listener): void;
  };
  readonly navigator?: { readonly onLine?: boolean };
};

// The last one happens at the document, and bubbles.
const events = ["online", "offline", "pagehide", "pageshow", "beforeunload", "visibilitychange"];

/** Whether there is a page. */
export function hasPage(): boolean {
  return globals.window?.addEventListener !== undefined;
}

/** Whether the browser knows that there is no network. */
export function isOffline(): boolean {
  return globals.navigator?.onLine === false;
}

/** Listens to everything that matters of the page. Returns how to stop. */
export function listenToPage(listener: Listener): () => void {
  const { window } = globals;
  for (const type of events) window?.addEventListener?.(type, listener);
  return () => {
    for (const type of events) window?.removeEventListener?.(type, listener);
  };
}
