// Rendering on a server: nothing happens but HTML.
import type { ReactElement } from "react";
import { renderToString } from "react-dom/server";
import { afterEach, expect, test, vi } from "vitest";
import { Doc } from "yjs";
import { Room, useAwareness, useProvider, useStatus, useYDoc } from "../../../client/react/index.js";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function Everything(): ReactElement {
  const { status, synced, saved } = useStatus();
  const people = useAwareness((states) => states.size);
  const { roomname } = useProvider();
  const length = useYDoc().getText("text").length;
  return <p>{JSON.stringify({ status, synced, saved, people, roomname, length })}</p>;
}

test("[X4] makes no socket, looks at no page, leaves no timer and no listener", () => {
  vi.useFakeTimers();
  const touched: string[] = [];
  const doc = new Doc();
  const observers = [...doc._observers.values()].map(({ size }) => size);
  const listeners = process.eventNames().length;
  vi.stubGlobal(
    "WebSocket",
    vi.fn(() => touched.push("WebSocket")),
  );
  for (const name of ["window", "document", "navigator", "localStorage", "BroadcastChannel"]) {
    Object.defineProperty(globalThis, name, {
      configurable: true,
      get: () => {
        touched.push(name);
        return undefined;
      },
    });
  }
  for (let i = 0; i < 100; i++) {
    const html = renderToString(
      <Room host="example.com" room="a" doc={doc} warnOnClose params={() => ({ token: "t" })}>
        <Everything />
      </Room>,
    );
    expect(html).toContain("&quot;status&quot;:&quot;connecting&quot;");
    expect(html).toContain("&quot;people&quot;:0");
  }
  for (const name of ["window", "document", "localStorage"]) Reflect.deleteProperty(globalThis, name);
  expect(touched).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  expect([...doc._observers.values()].map(({ size }) => size)).toEqual(observers);
  expect(process.eventNames().length).toBe(listeners);
});
