// @vitest-environment happy-dom
// What the hooks show, and that they render nothing again for nothing.
import { Component, type ReactElement, type ReactNode } from "react";
import { describe, expect, test, vi } from "vitest";
import { applyAwarenessUpdate, encodeAwarenessUpdate } from "y-protocols/awareness";
import {
  Room,
  useAwareness,
  useProvider,
  useStatus,
  useYDoc,
  type AwarenessStates,
  type RoomStatus,
} from "../../../client/react/index.js";
import { usePage } from "./page-fixture.tsx";

const page = usePage();

/** Collects what a hook gave at each render. */
function collect<Value>(useValue: () => Value): { seen: Value[]; Show: () => ReactElement } {
  const seen: Value[] = [];
  const Show = (): ReactElement => {
    seen.push(useValue());
    return <i />;
  };
  return { seen, Show };
}

describe("status", () => {
  test("[X8] goes from connecting to connected, synced and saved, and tells what is not saved", async () => {
    const { seen, Show } = collect(() => useStatus());
    let write = (_text: string): void => {};
    const Writer = (): ReactElement => {
      const doc = useYDoc();
      write = (text) => doc.getText("text").insert(0, text);
      return <Show />;
    };
    await page.render(
      <Room {...page.options} room="a">
        <Writer />
      </Room>,
    );
    expect(seen[0]).toEqual({
      status: "connecting",
      synced: false,
      saved: false,
      access: null,
      refusal: null,
    });
    const good = { status: "connected", synced: true, saved: true, access: "write", refusal: null };
    expect(seen.at(-1)).toEqual(good);
    page.rooms.get("a").isSlow = true;
    await page.run(() => write("x"));
    expect(seen.at(-1)).toEqual({ ...good, saved: false });
    await page.run(() => page.rooms.network.last.ack(1));
    expect(seen.at(-1)).toEqual(good);
    page.rooms.network.onSocket = null;
    await page.run(() => page.rooms.network.last.drop(1006));
    expect(seen.at(-1)).toMatchObject({ synced: false, saved: true });
    expect(seen.at(-1)?.status).not.toBe("connected");
  });

  test("[X8] tells a refusal and its code, until it connects again", async () => {
    const room = page.rooms.get("a");
    room.refusal = 4403;
    const { seen, Show } = collect(() => useStatus());
    const show = (connect: boolean) => (
      <Room {...page.options} room="a" connect={connect}>
        <Show />
      </Room>
    );
    await page.render(show(true));
    expect(seen.at(-1)).toMatchObject({
      status: "disconnected",
      refusal: { code: 4403, reason: "not here" },
    });
    room.refusal = 0;
    await page.render(show(false));
    await page.render(show(true));
    expect(seen.at(-1)).toMatchObject({ status: "connected", refusal: null });
  });

  test("[X8] a socket that cannot be made is no line that is being connected", async () => {
    const { seen, Show } = collect(() => useStatus((status) => status.status));
    await page.render(
      <Room {...page.options} room="a" WebSocketPolyfill={Broken}>
        <Show />
      </Room>,
    );
    expect(seen.at(-1)).toBe("disconnected");
  });

  test("[X7] siblings never show two states at once", async () => {
    const frames: string[] = [];
    const One = (): ReactElement => <b>{JSON.stringify(useStatus())}</b>;
    const observer = new MutationObserver(() => {
      const shown = new Set([...document.querySelectorAll("b")].map((one) => one.textContent));
      frames.push([...shown].join(" | "));
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    await page.render(
      <Room {...page.options} room="a">
        <One />
        <One />
        <One />
      </Room>,
    );
    await page.run(() => page.rooms.network.last.drop(1006));
    await page.run(() => vi.advanceTimersByTime(2_000));
    observer.disconnect();
    expect(frames.length).toBeGreaterThan(1);
    expect(frames.filter((frame) => frame.includes(" | "))).toEqual([]);
  });
});

describe("awareness", () => {
  test("[X8] shows everybody, and who leaves is gone", async () => {
    const { seen, Show } = collect(() =>
      useAwareness((states, own) => [...states].filter(([id]) => id !== own).map(([, { name }]) => name)),
    );
    await page.render(
      <Room {...page.options} room="a">
        <Show />
      </Room>,
    );
    expect(seen.at(-1)).toEqual([]);
    const other = page.rooms.watch("a");
    await page.run(() => other.awareness.setLocalState({ name: "Grace" }));
    expect(seen.at(-1)).toEqual(["Grace"]);
    await page.run(() => other.destroy());
    expect(seen.at(-1)).toEqual([]);
  });

  test("[X7] nothing renders again when nothing changed, with or without a selector", async () => {
    const all = collect<AwarenessStates>(() => useAwareness());
    const names = collect(() =>
      useAwareness((states) => [...states.values()].map(({ name }) => ({ name })).slice(1)),
    );
    const status = collect<RoomStatus>(() => useStatus());
    const isOpen = collect(() => useStatus((now) => ({ isOpen: now.status === "connected" })));
    const provider = collect(() => useProvider());
    const shows = [all, names, status, isOpen, provider];
    const other = page.rooms.watch("a");
    other.awareness.setLocalState({ name: "Grace", cursor: 0 });
    const show = () => (
      <Room {...page.options} room="a">
        {shows.map(({ Show }, index) => (
          <Show key={index} />
        ))}
      </Room>
    );
    await page.render(show());
    const count = () => shows.map(({ seen }) => seen.length);
    const before = count();
    // The same state under a higher clock, as when somebody quiet is told again.
    const renew = () => {
      const { awareness } = other;
      awareness.setLocalState({ ...awareness.getLocalState() });
      const mine = provider.seen.at(-1)?.awareness;
      if (mine) applyAwarenessUpdate(mine, encodeAwarenessUpdate(awareness, [awareness.clientID]), null);
    };
    await page.run(renew);
    expect(count()).toEqual(before);
    await page.run(() => other.awareness.setLocalStateField("cursor", 1));
    const [everybody = 0, ...rest] = before;
    expect(count()).toEqual([everybody + 1, ...rest]);
    // Rendered for another reason, everything is the same object as before, and so is who did not change.
    const known = shows.map(({ seen }) => seen.at(-1));
    await page.run(renew);
    await page.render(show());
    expect(count()).toEqual([everybody + 2, ...rest.map((renders) => renders + 1)]);
    for (const [index, { seen }] of shows.entries()) expect(seen.at(-1)).toBe(known[index]);
    await page.run(() => provider.seen.at(-1)?.awareness.setLocalStateField("name", "Ada"));
    const { clientID } = other.awareness;
    expect(all.seen.at(-1)).not.toBe(all.seen.at(-2));
    expect(all.seen.at(-1)?.get(clientID)).toBe(all.seen.at(-2)?.get(clientID));
  });

  test("[X9] what somebody hostile announces renders once and no more", async () => {
    const all = collect(() => useAwareness());
    const some = collect(() => useAwareness((states) => [...states.values()]));
    await page.render(
      <Room {...page.options} room="a">
        <all.Show />
        <some.Show />
      </Room>,
    );
    const before = all.seen.length;
    const other = page.rooms.watch("a");
    await page.run(() =>
      other.awareness.setLocalState({ constructor: 1, __proto__: { a: 1 }, size: "x", toString: 0 }),
    );
    expect(all.seen.length).toBeGreaterThan(before);
    expect(all.seen.length).toBeLessThan(before + 5);
    expect(some.seen.length).toBeLessThan(before + 5);
  });

  test("[X7] a selector that gives what cannot be compared renders once for each change", async () => {
    const { seen, Show } = collect(() => useAwareness(() => () => {}));
    await page.render(
      <Room {...page.options} room="a">
        <Show />
      </Room>,
    );
    expect(seen.length).toBeLessThan(5);
  });
});

describe("misuse", () => {
  class Boundary extends Component<{ children: ReactNode }, { message: string }> {
    override state = { message: "" };
    static getDerivedStateFromError({ message }: Error): { message: string } {
      return { message };
    }
    override render(): ReactNode {
      return this.state.message || this.props.children;
    }
  }

  test("[X10] a hook outside of a room throws, and so does a room that cannot be", async () => {
    vi.mocked(console.error).mockImplementation(() => {});
    const { Show } = collect(() => useYDoc());
    await page.render(
      <Boundary>
        <Show />
      </Boundary>,
    );
    expect(page.text).toBe("There is no <Room> around this component.");
    await page.render(
      <Boundary key="other">
        <Room {...page.options} room={"\ud800"} />
      </Boundary>,
    );
    expect(page.text).toMatch(/URI/);
    vi.mocked(console.error).mockClear();
  });
});

class Broken extends WebSocket {
  constructor() {
    super("wss://example.com");
    throw new TypeError("no socket");
  }
}
