// @vitest-environment happy-dom
// How many lines and people a component makes, in every way in which React mounts and renders.
import { Activity, StrictMode, Suspense, useEffect, type ReactElement } from "react";
import { renderToString } from "react-dom/server";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Awareness } from "y-protocols/awareness";
import { Doc } from "yjs";
import type { YProvider } from "../../../client/index.js";
import { Room, useProvider, useStatus, useYDoc } from "../../../client/react/index.js";
import { usePage } from "./page-fixture.tsx";

const page = usePage();

/** Who a watcher sees, without himself. */
function others(watcher: YProvider): unknown[] {
  const { clientID } = watcher.awareness;
  return [...watcher.awareness.getStates()].filter(([id]) => id !== clientID).map(([, state]) => state);
}

function countObservers(doc: Doc): number {
  return [...doc._observers.values()].reduce((sum, listeners) => sum + listeners.size, 0);
}

/** Providers that effects of `Me` were given since the test began. */
const used = new Set<YProvider>();
beforeEach(() => used.clear());

/** Announces a name, as an application does. */
function Me({ name = "Ada" }: { name?: string }): ReactElement {
  const provider = useProvider();
  const { awareness } = provider;
  useEffect(() => void used.add(provider), [provider]);
  useEffect(() => awareness.setLocalStateField("name", name), [awareness, name]);
  return <span>{useStatus().status}</span>;
}

describe("one socket and one person", () => {
  test("[X1] in strict mode: one socket is made, one person is seen, nobody after unmount", async () => {
    const watcher = page.rooms.watch("a");
    await page.run();
    page.rooms.takeMade();
    await page.render(
      <StrictMode>
        <Room {...page.options} room="a">
          <Me />
        </Room>
      </StrictMode>,
    );
    expect(page.text).toBe("connected");
    expect(page.rooms.takeMade()).toBe(1);
    expect(page.rooms.get("a").lines.size).toBe(2);
    expect(others(watcher)).toEqual([{ name: "Ada" }]);
    expect([...used].map((provider) => provider.wsconnected)).toEqual([true]);
    await page.unmount();
    expect(page.rooms.get("a").lines.size).toBe(1);
    expect(others(watcher)).toEqual([]);
    expect(page.rooms.takeMade()).toBe(0);
  });

  test("[X1] an unmount before the socket is open leaves nobody", async () => {
    page.rooms.network.onSocket = null;
    await page.render(<Room {...page.options} room="b" />);
    expect(page.rooms.network.last.readyState).toBe(0);
    await page.render(null);
    expect(page.rooms.network.last.readyState).toBe(2);
  });

  test("[X1] a component that suspends inside does not make another line", async () => {
    let resume = (): void => {};
    let isReady = false;
    const ready = new Promise<void>((resolve) => {
      resume = () => {
        isReady = true;
        resolve();
      };
    });
    const Slow = (): ReactElement => {
      // React catches what is thrown, and renders again when it resolves.
      // eslint-disable-next-line typescript/only-throw-error
      if (!isReady) throw ready;
      return <Me />;
    };
    await page.render(
      <StrictMode>
        <Room {...page.options} room="a">
          <Suspense fallback="wait">
            <Slow />
          </Suspense>
        </Room>
      </StrictMode>,
    );
    expect(page.text).toBe("wait");
    await page.run(resume);
    expect(page.text).toBe("connected");
    expect(page.rooms.takeMade()).toBe(1);
  });

  test("[X5] after unmount no socket, timer or listener is left, also none on a given document", async () => {
    const doc = new Doc();
    await page.render(
      <Room {...page.options} room="a" doc={doc}>
        <Me />
      </Room>,
    );
    expect(page.countListeners()).toBeGreaterThan(0);
    expect(countObservers(doc)).toBeGreaterThan(countObservers(new Doc()));
    await page.unmount();
    expect(page.countListeners()).toBe(0);
    expect(countObservers(doc)).toBe(countObservers(new Doc()));
    expect(vi.getTimerCount()).toBe(0);
    expect(page.rooms.get("a").lines.size).toBe(0);
  });

  test("[X5] what was written just before unmount still goes out", async () => {
    const doc = new Doc();
    await page.render(<Room {...page.options} room="a" doc={doc} />);
    await page.run(() => {
      doc.getText("text").insert(0, "last words");
      page.show(null);
    });
    expect(page.rooms.get("a").doc.getText("text").toJSON()).toBe("last words");
  });
});

describe("another room", () => {
  test("[X2] is entered with one line, one person and another document; the old one is left", async () => {
    const [inA, inB] = [page.rooms.watch("a"), page.rooms.watch("b")];
    const seen: (readonly [string, string, Doc])[] = [];
    const Look = ({ room }: { room: string }): ReactElement => {
      const provider = useProvider();
      seen.push([room, provider.roomname, useYDoc()]);
      expect(provider.doc).toBe(useYDoc());
      return <Me />;
    };
    await page.run();
    page.rooms.takeMade();
    for (const room of ["a", "b"]) {
      await page.render(
        <StrictMode>
          <Room {...page.options} room={room}>
            <Look room={room} />
          </Room>
        </StrictMode>,
      );
    }
    expect(page.rooms.takeMade()).toBe(2);
    expect(page.rooms.get("a").lines.size).toBe(1);
    expect(page.rooms.get("b").lines.size).toBe(2);
    expect(others(inA)).toEqual([]);
    expect(others(inB)).toEqual([{ name: "Ada" }]);
    // Nothing ever rendered in one room what belongs to the other.
    expect(seen.filter(([wanted, got]) => wanted !== got)).toEqual([]);
    expect(new Set(seen.map(([, , doc]) => doc)).size).toBeGreaterThanOrEqual(2);
    expect(seen.at(0)?.[2]).not.toBe(seen.at(-1)?.[2]);
  });

  test("[X2] and back, in one task each: the line that stays is the last one's", async () => {
    await page.run(() => {
      for (const room of ["a", "b", "c", "a"]) page.show(<Room {...page.options} room={room} />);
    });
    const open = ["a", "b", "c"].map((room) => page.rooms.get(room).lines.size);
    expect(open).toEqual([1, 0, 0]);
  });

  test("[X2] the same room under another spelling of its host is the same", async () => {
    await page.render(<Room {...page.options} room="a" />);
    await page.render(<Room {...page.options} host="wss://example.com/" party="main" room="a" />);
    expect(page.rooms.takeMade()).toBe(1);
  });

  test("[X2] another document or awareness is another line", async () => {
    const [first, second] = [new Doc(), new Doc()];
    const awareness = new Awareness(second);
    await page.render(<Room {...page.options} room="a" doc={first} />);
    await page.render(<Room {...page.options} room="a" doc={second} />);
    await page.render(<Room {...page.options} room="a" doc={second} awareness={awareness} />);
    expect(page.rooms.takeMade()).toBe(3);
    expect(page.rooms.get("a").lines.size).toBe(1);
    expect(page.rooms.get("a").people.map(({ clientID }) => clientID)).toEqual([second.clientID]);
    awareness.destroy();
  });
});

describe("rendering again", () => {
  test("[X3] with new objects and functions makes no other line; the next one asks the latest params", async () => {
    const asked: string[] = [];
    const show = (token: string) => (
      <Room
        {...page.options}
        room="a"
        params={() => {
          asked.push(token);
          return { token };
        }}
      >
        <Me />
      </Room>
    );
    for (const token of ["one", "two", "three"]) await page.render(show(token));
    expect(page.rooms.network.sockets).toHaveLength(1);
    expect(asked).toEqual(["one"]);
    await page.run(() => page.rooms.network.last.drop(1006));
    await page.run(() => vi.advanceTimersByTime(2_000));
    expect(asked).toEqual(["one", "three"]);
    expect(new URL(page.rooms.network.last.url).searchParams.get("token")).toBe("three");
  });

  test("[X3] `connect` connects and disconnects, and the document stays", async () => {
    const docs = new Set<Doc>();
    const Look = (): ReactElement => {
      docs.add(useYDoc());
      return <Me />;
    };
    const shown: (string | null)[] = [];
    for (const connect of [false, true, false, true]) {
      await page.render(
        <Room {...page.options} room="a" connect={connect}>
          <Look />
        </Room>,
      );
      shown.push(page.text);
    }
    expect(shown).toEqual(["disconnected", "connected", "disconnected", "connected"]);
    expect(page.rooms.takeMade()).toBe(2);
    expect(docs.size).toBe(1);
  });
});

describe("coming back", () => {
  test("[X6] what was hidden and is shown again has the same document and a provider that lives", async () => {
    const watcher = page.rooms.watch("a");
    const shown: { doc: Doc; provider: YProvider }[] = [];
    const Look = (): ReactElement => {
      shown.push({ doc: useYDoc(), provider: useProvider() });
      return <Me />;
    };
    const show = (mode: "visible" | "hidden") => (
      <StrictMode>
        <Activity mode={mode}>
          <Room {...page.options} room="a">
            <Look />
          </Room>
        </Activity>
      </StrictMode>
    );
    await page.run();
    page.rooms.takeMade();
    await page.render(show("visible"));
    const before = shown.at(-1);
    await page.run(() => before?.doc.getText("text").insert(0, "kept"));
    await page.render(show("hidden"));
    expect(others(watcher)).toEqual([]);
    expect(page.rooms.get("a").lines.size).toBe(1);
    await page.run(() => before?.doc.getText("text").insert(0, "also "));
    await page.render(show("visible"));
    const after = shown.at(-1);
    expect(after?.doc).toBe(before?.doc);
    expect(after?.provider).not.toBe(before?.provider);
    expect(after?.provider.wsconnected).toBe(true);
    expect(after?.provider.epoch).toBe("e1");
    expect(after?.provider.saved).toBe(true);
    expect(others(watcher)).toEqual([{ name: "Ada" }]);
    expect(watcher.doc.getText("text").toJSON()).toBe("also kept");
    expect(page.rooms.takeMade()).toBe(2);
  });

  test("[X6] what is shown again knows which life its document is from", async () => {
    const Reason = (): ReactElement => <>{useStatus().refusal?.code}</>;
    const show = (mode: "visible" | "hidden") => (
      <Activity mode={mode}>
        <Room {...page.options} room="a">
          <Reason />
        </Room>
      </Activity>
    );
    await page.render(show("visible"));
    await page.render(show("hidden"));
    page.rooms.get("a").epoch = "e2";
    await page.render(show("visible"));
    expect(page.text).toBe("4409");
  });

  test("[X6] another component for the same room at once, with the same document: one line, one person", async () => {
    const watcher = page.rooms.watch("a");
    const doc = new Doc();
    for (const key of ["one", "two", "three"]) {
      await page.render(
        <StrictMode>
          <Room key={key} {...page.options} room="a" doc={doc}>
            <Me />
          </Room>
        </StrictMode>,
      );
      expect(page.text).toBe("connected");
    }
    expect(page.rooms.get("a").lines.size).toBe(2);
    expect(others(watcher)).toEqual([{ name: "Ada" }]);
  });
});

describe("taking over from a server", () => {
  test("[X4] what a server rendered is taken over as it is, and then connects once", async () => {
    const app = (
      <StrictMode>
        <Room {...page.options} room="a">
          <Me />
        </Room>
      </StrictMode>
    );
    const html = renderToString(app);
    expect(html).toBe("<span>connecting</span>");
    await page.hydrate(html, app);
    expect(page.text).toBe("connected");
    expect(page.rooms.takeMade()).toBe(1);
  });
});
