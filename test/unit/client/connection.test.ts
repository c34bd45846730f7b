// When a provider opens a line, when it gives it up, and what it takes for final.
import { describe, expect, test, vi } from "vitest";
import { encodeSyncStep1, encodeSyncStep2 } from "../../../src/protocol/message.js";
import { FakeNetwork, nobody, nothing } from "../../support/fake-socket.ts";
import type { FakeSocket } from "../../support/fake-socket.ts";
import { pass, setUp, setUpRoom, textOf, useFakeTimers, write } from "./provider-fixture.ts";

useFakeTimers();

/** The most sockets that were made within any 60 s. */
function mostInAMinute(madeAt: readonly number[]): number {
  return Math.max(...madeAt.map((from) => madeAt.filter((at) => at >= from && at <= from + 60_000).length));
}

/** A network where each new socket is treated in one way, and the times at which sockets were made. */
function networkWhere(treat: (socket: FakeSocket) => void): { network: FakeNetwork; madeAt: number[] } {
  const network = new FakeNetwork();
  const madeAt: number[] = [];
  network.onSocket = (socket) => {
    madeAt.push(Date.now());
    treat(socket);
  };
  return { network, madeAt };
}

describe("connecting again", () => {
  const hostile: Record<string, (socket: FakeSocket) => void> = {
    "refuses, or serves HTML": (socket) => socket.refuse(),
    "closes at once": (socket) => {
      socket.accept();
      socket.drop(1006);
    },
    "closes with 4500": (socket) => {
      socket.accept();
      socket.say({ type: "closing", code: 4500, reason: "try again" });
    },
    "says hello and closes": (socket) => {
      socket.beRoom();
      socket.drop(1001);
    },
    "closes after three seconds": (socket) => {
      socket.beRoom();
      setTimeout(() => socket.drop(1006), 3_000);
    },
    "sends garbage": (socket) => {
      socket.accept();
      socket.deliver(Uint8Array.of(255, 255));
    },
  };
  const settings: [string, object, number][] = Object.keys(hostile).flatMap((title) => [
    [title, {}, 0.000_001],
    [title, { maxBackoffTime: 100 }, 0.999_999],
  ]);

  test.each(settings)(
    "[Y11] never more than 8 sockets in 60 s where a server %s (%o)",
    async (title, options, random) => {
      vi.spyOn(Math, "random").mockReturnValue(random);
      const { network, madeAt } = networkWhere(hostile[title] as (socket: FakeSocket) => void);
      const { provider } = setUp({ network, ...options });
      await pass(300_000);
      expect(mostInAMinute(madeAt)).toBeLessThanOrEqual(8);
      // It does not give up either.
      expect(madeAt.length).toBeGreaterThan(20);
      // Nor can the application drive it.
      for (let i = 0; i < 100; i++) {
        void provider.connect();
        await pass(100);
      }
      expect(mostInAMinute(madeAt)).toBeLessThanOrEqual(8);
      provider.destroy();
      await pass(3_000);
    },
  );

  test("[Y11] pauses grow, up to maxBackoffTime, with full jitter", async () => {
    const { network, madeAt } = networkWhere((socket) => socket.refuse());
    setUp({ network });
    await pass(200_000);
    const pauses = madeAt.slice(1).map((at, index) => Math.round((at - (madeAt[index] ?? 0)) / 1_000));
    expect(pauses.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    madeAt.length = 0;
    await pass(100_000);
    expect((madeAt[2] ?? 0) - (madeAt[1] ?? 0)).toBeCloseTo(15_000, -2);
  });

  test("[Y11] a line that was answered on and lived starts the pauses anew", async () => {
    const { network, madeAt } = networkWhere((socket) => {
      if (network.sockets.length === 6) socket.beRoom();
      else socket.refuse();
    });
    setUp({ network });
    await pass(31_000);
    expect(network.sockets).toHaveLength(6);
    await pass(10_000);
    network.last.drop(1006);
    const droppedAt = Date.now();
    await pass(1_000);
    expect(Math.round((madeAt.at(-1) ?? 0) - droppedAt)).toBeLessThanOrEqual(1_001);
    expect(network.sockets).toHaveLength(7);
  });

  test("[Y11] a line that opened and was never answered on does not", async () => {
    const { network, madeAt } = networkWhere((socket) => {
      socket.accept();
      setTimeout(() => socket.drop(1006), 12_000);
    });
    setUp({ network });
    await pass(130_000);
    const pauses = madeAt.slice(1).map((at, index) => at - (madeAt[index] ?? 0) - 12_000);
    expect(pauses.map((pause) => Math.round(pause / 1_000)).slice(0, 5)).toEqual([1, 2, 4, 8, 16]);
  });

  test.each([1000, 1001, 1005, 1006, 1008, 1011, 1012, 1013, 1015, 4000, 4399, 4500, 4503, 4529])(
    "[Y12] comes back after %i",
    async (code) => {
      const setup = await setUpRoom();
      setup.network.last.drop(code, "gone");
      expect(setup.told).toEqual([`connection-close:${code}`, "synced:false", "sync:false", "disconnected"]);
      await pass(1_000);
      expect(setup.network.sockets).toHaveLength(2);
    },
  );

  test.each([4400, 4401, 4403, 4404, 4409, 4410, 4413, 4499, 1009])(
    "[Y12] %i is final: one closed event, and nothing before connect()",
    async (code) => {
      const setup = await setUpRoom();
      const { network, provider, told } = setup;
      write(setup, "kept");
      network.last.drop(code, "why");
      const isTooLarge = code === 4413 || code === 1009;
      expect(told.filter((one) => one.startsWith("closed"))).toEqual([`closed:${code} why`]);
      expect(told.filter((one) => one.startsWith("error"))).toEqual(isTooLarge ? ["error:too-large"] : []);
      expect([provider.shouldConnect, provider.ws, provider.hasUnsyncedChanges]).toEqual([false, null, true]);
      await pass(300_000);
      expect(network.sockets).toHaveLength(1);
      void provider.connect();
      await pass();
      expect(network.sockets).toHaveLength(2);
      network.last.beRoom();
      expect(network.last.takeTypes()).toContain("update");
    },
  );

  test("[Y12] what closing says counts, whatever the close says", async () => {
    const setup = await setUpRoom();
    const { network, told } = setup;
    network.last.say({ type: "closing", code: 4403, reason: "not allowed" });
    network.last.drop(1006);
    await pass(60_000);
    expect(told).toContain("closed:4403 not allowed");
    expect(network.sockets).toHaveLength(1);
  });

  test("[Y12] a refusal may come before hello", async () => {
    const { network, told, provider } = setUp();
    await pass();
    network.last.accept();
    network.last.say({ type: "closing", code: 4401, reason: "sign in" });
    network.last.drop(4401, "sign in");
    expect(told).toEqual([
      "connecting",
      "connected",
      "connection-close:undefined",
      "disconnected",
      "closed:4401 sign in",
    ]);
    expect(provider.shouldConnect).toBe(false);
  });

  test("[Y12] a closed handler may connect again", async () => {
    const { network, madeAt } = networkWhere((socket) => {
      socket.accept();
      socket.drop(4401);
    });
    const { provider } = setUp({ network });
    provider.on("closed", () => void provider.connect());
    await pass(200_000);
    expect(madeAt.length).toBeGreaterThan(8);
    expect(mostInAMinute(madeAt)).toBeLessThanOrEqual(8);
  });
});

describe("a live line", () => {
  test("[Y13] to a room is pinged when it is silent, and given up when nothing comes", async () => {
    const { network, provider, told } = await setUpRoom();
    await pass(14_800);
    expect(network.last.take()).toEqual([]);
    await pass(200);
    expect(network.last.takeTypes()).toEqual(["ping"]);
    network.last.deliver("pong");
    await pass(15_100);
    expect(network.last.takeTypes()).toEqual(["ping"]);
    await pass(9_800);
    expect(provider.wsconnected).toBe(true);
    await pass(200);
    expect(provider.wsconnected).toBe(false);
    expect(told).toEqual(["connection-close:undefined", "synced:false", "sync:false", "disconnected"]);
    await pass(1_000);
    expect(network.sockets).toHaveLength(2);
    expect(network.sockets[0]?.readyState).toBe(2);
  });

  test("[Y13] whenever it falls silent, that is noticed within 30 s", async () => {
    for (let lived = 0; lived < 40_000; lived += 3_700) {
      const { network, provider } = await setUpRoom();
      network.last.onFrame = (frame) => frame === "ping" && network.last.deliver("pong");
      await pass(lived);
      network.last.onFrame = null;
      await pass(30_000);
      expect([provider.ws], `after ${lived} ms`).not.toContain(network.sockets[0]);
      provider.destroy();
    }
  });

  test("[Y13] is not pinged while anything comes", async () => {
    const { network, provider } = await setUpRoom();
    for (let i = 0; i < 20; i++) {
      await pass(10_000);
      network.last.ack(0);
    }
    expect(network.last.take()).toEqual([]);
    expect(provider.wsconnected).toBe(true);
    await pass(15_000);
    expect(network.last.takeTypes()).toEqual(["ping"]);
    network.last.deliver(encodeSyncStep1(nobody));
    await pass(11_000);
    expect(provider.wsconnected).toBe(true);
  });

  test("[Y13] a server that never opens, never answers or stops before it has is given up", async () => {
    const silent = networkWhere(() => undefined);
    const mute = networkWhere((socket) => socket.accept());
    const halting = networkWhere((socket) => {
      socket.accept();
      socket.deliver(encodeSyncStep1(nobody));
    });
    for (const { network } of [silent, mute, halting]) setUp({ network });
    await pass(25_000);
    await pass(1_000);
    for (const { network } of [silent, mute, halting]) expect(network.sockets).toHaveLength(2);
    await pass(300_000);
    for (const { madeAt } of [silent, mute, halting]) expect(mostInAMinute(madeAt)).toBeLessThanOrEqual(8);
  });

  test("[Y13] a slow answer is waited for as long as anything comes", async () => {
    const setup = setUp();
    await pass();
    setup.network.last.accept();
    for (let i = 0; i < 10; i++) {
      await pass(20_000);
      setup.network.last.deliver(encodeSyncStep1(nobody));
    }
    setup.network.last.deliver(encodeSyncStep2(nothing));
    expect(setup.provider.synced).toBe(true);
    expect(setup.network.sockets).toHaveLength(1);
  });

  test("[Y11, Y13] a clock that is set changes nothing", async () => {
    const { network, provider } = await setUpRoom();
    vi.setSystemTime(Date.now() - 3_600_000);
    await pass(24_900);
    expect([provider.ws]).not.toContain(network.sockets[0]);
    await pass(1_000);
    expect(network.sockets).toHaveLength(2);
  });

  test("[Y13] what an old socket still says is ignored", async () => {
    const setup = await setUpRoom();
    const [old] = setup.network.sockets;
    await pass(25_000);
    await pass(1_000);
    setup.network.last.beRoom();
    setup.told.length = 0;
    old?.deliver(encodeSyncStep2(nothing));
    old?.say({ type: "closing", code: 4403, reason: "" });
    old?.drop(4403);
    old?.dispatchEvent(new Event("open"));
    old?.dispatchEvent(new Event("error"));
    expect(setup.told).toEqual([]);
    expect(setup.provider.synced).toBe(true);
  });
});

describe("garbage", () => {
  const bytes: [string, Uint8Array | string][] = [
    ["nothing", new Uint8Array()],
    ["a number without end", Uint8Array.of(255, 255, 255)],
    ["a truncated frame", Uint8Array.of(0, 2, 200, 1)],
    ["an unknown sync message", Uint8Array.of(0, 9, 0)],
    ["an unknown control frame", Uint8Array.of(64, 77)],
    ["presence that is not JSON", Uint8Array.of(1, 5, 1, 7, 1, 1, 123)],
    ["a state vector that is none", encodeSyncStep1(Uint8Array.of(9, 9))],
  ];

  test.each(bytes)("[Y14] %s: one error event, the line is opened again", async (_title, data) => {
    const setup = await setUpRoom();
    setup.network.last.deliver(data);
    setup.network.last.deliver(data);
    expect(setup.told.filter((one) => one.startsWith("error"))).toEqual(["error:protocol"]);
    expect(setup.errors[0]?.cause).toBeInstanceOf(Error);
    await pass(1_000);
    setup.network.last.beRoom();
    expect(setup.provider.synced).toBe(true);
  });

  test("[Y14] something that is no bytes is garbage too", async () => {
    const setup = await setUpRoom();
    for (const data of [new Blob(["x"]), null, {}]) {
      setup.network.last.dispatchEvent(new MessageEvent("message", { data }));
      await pass(8_000);
      setup.network.last.beRoom();
    }
    expect(setup.errors.map(({ type }) => type)).toEqual(["protocol", "protocol", "protocol"]);
  });

  test("[Y14] a flood of it is one event for each line", async () => {
    const network = new FakeNetwork();
    network.onSocket = (socket) => {
      socket.accept();
      for (let i = 0; i < 1_000; i++) socket.deliver(Uint8Array.of(0, 0, 9));
    };
    const { errors } = setUp({ network });
    await pass(120_000);
    expect(errors.length).toBe(network.sockets.length);
    expect(errors.length).toBeLessThanOrEqual(16);
  });

  test("[Y15] an update that cannot be applied is one error event, and does not stop the next", async () => {
    const setup = await setUpRoom();
    const other = await setUpRoom();
    write(other, "fine");
    await pass(100);
    const [sent] = other.network.last.take();
    setup.network.last.deliver(Uint8Array.of(0, 2, 3, 1, 1, 1));
    setup.network.last.deliver(Uint8Array.of(0, 2, 4, 9, 200, 1, 7));
    const update = (sent as { update: Uint8Array }).update;
    setup.network.last.deliver(Uint8Array.of(0, 2, update.byteLength, ...update));
    expect(setup.told.filter((one) => one.startsWith("error"))).toEqual(["error:apply", "error:apply"]);
    expect(textOf(setup)).toBe("fine");
    expect(setup.provider.wsconnected).toBe(true);
  });

  test("[Y15] an observer of the application that throws costs nothing", async () => {
    const setup = await setUpRoom();
    const { provider, network, told } = setup;
    provider.doc.getText("text").observe(() => {
      throw new Error("of the application");
    });
    provider.awareness.on("change", () => {
      throw new Error("of the application");
    });
    const other = await setUpRoom();
    write(other, "fine");
    await pass(100);
    const update = (other.network.last.take()[0] as { update: Uint8Array }).update;
    network.last.deliver(Uint8Array.of(0, 2, update.byteLength, ...update));
    expect(textOf(setup)).toBe("fine");
    network.last.drop(1006);
    await pass(1_000);
    network.last.beRoom();
    expect(provider.synced).toBe(true);
    expect(new Set(told.filter((one) => one.startsWith("error")))).toEqual(new Set(["error:apply"]));
  });
});

describe("params and sockets", () => {
  test("[Y16] params are asked anew for each line", async () => {
    let token = 0;
    const { network, provider } = setUp({ params: async () => ({ token: `t${++token}`, none: null }) });
    expect(provider.url).toBe("wss://example.com/parties/main/room");
    await pass();
    expect(new URL(network.last.url).searchParams.get("token")).toBe("t1");
    expect(network.last.url).not.toContain("none");
    network.last.refuse();
    await pass(1_000);
    expect(new URL(network.last.url).searchParams.get("token")).toBe("t2");
    expect(provider.url).toBe(network.last.url);
  });

  test("[Y16] params that throw, reject or never come are asked again", async () => {
    const asked = vi
      .fn<() => Promise<Record<string, string>>>()
      .mockImplementationOnce(() => {
        throw new Error("sync");
      })
      .mockRejectedValueOnce(new Error("async"))
      .mockReturnValueOnce(new Promise(() => undefined))
      .mockResolvedValue({ token: "t" });
    const { network, errors } = setUp({ params: asked });
    await pass(3_100);
    expect(errors.map(({ type, cause }) => `${type} ${(cause as Error).message}`)).toEqual([
      "params sync",
      "params async",
    ]);
    expect(network.sockets).toHaveLength(0);
    await pass(25_000);
    await pass(4_000);
    expect(network.sockets).toHaveLength(1);
    expect(asked).toHaveBeenCalledTimes(4);
  });

  test("[Y16] disconnect, connect and destroy while params are asked leave one socket or none", async () => {
    const answers: ((params: Record<string, string>) => void)[] = [];
    const params = () => new Promise<Record<string, string>>((resolve) => answers.push(resolve));
    const { network, provider } = setUp({ params });
    void provider.connect();
    void provider.connect();
    provider.disconnect();
    void provider.connect();
    await pass();
    expect(answers).toHaveLength(4);
    for (const answer of answers.slice(0, 3)) answer({ n: "old" });
    await pass();
    expect(network.sockets).toHaveLength(0);
    answers[3]?.({ n: "new" });
    await pass();
    expect(network.sockets.map(({ url }) => new URL(url).searchParams.get("n"))).toEqual(["new"]);
    provider.disconnect();
    void provider.connect();
    provider.destroy();
    answers[4]?.({ n: "late" });
    void provider.connect();
    await pass(60_000);
    expect(network.sockets).toHaveLength(1);
    expect(network.sockets[0]?.readyState).toBe(2);
  });

  test("[Y16] disconnect while connecting, and connect again at once", async () => {
    const { network, provider, told } = setUp();
    await pass();
    provider.disconnect();
    expect([provider.ws, provider.wsconnecting, provider.shouldConnect]).toEqual([null, false, false]);
    await provider.connect();
    network.sockets[0]?.accept();
    expect(provider.wsconnected).toBe(false);
    network.last.beRoom();
    expect(provider.synced).toBe(true);
    expect(network.sockets).toHaveLength(2);
    expect(told.filter((one) => /^(dis)?connect(ed|ing)$/.test(one))).toEqual([
      "connecting",
      "disconnected",
      "connecting",
      "connected",
    ]);
  });

  test("[Y16] many disconnects by the application are not held against it", async () => {
    const { network, provider } = setUp();
    for (let i = 0; i < 30; i++) {
      await pass();
      expect(network.sockets).toHaveLength(i + 1);
      provider.disconnect();
      void provider.connect();
    }
  });

  test("[Y16] a URL that cannot be, or no WebSocket at all, is one error event and no loop", async () => {
    const throwing = vi.fn(() => {
      throw new SyntaxError("invalid URL");
    });
    vi.stubGlobal("WebSocket", undefined);
    const none = setUp({ WebSocketPolyfill: null });
    const invalid = setUp({ WebSocketPolyfill: throwing as unknown as typeof WebSocket });
    const rejected = expect(none.provider.whenSynced()).rejects.toThrow("no socket");
    await pass(60_000);
    await rejected;
    for (const { errors, provider, told } of [none, invalid]) {
      expect(errors.map(({ type }) => type)).toEqual(["socket"]);
      expect(provider.shouldConnect).toBe(false);
      expect(told).toEqual(["error:socket"]);
    }
    expect(throwing).toHaveBeenCalledOnce();
  });
});
