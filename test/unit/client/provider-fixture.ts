// A provider whose server is the test, on fake timers.
import { afterEach, beforeEach, expect, vi } from "vitest";
import { YProvider } from "../../../client/index.js";
import type { ProviderError, ProviderOptions } from "../../../client/index.js";
import { FakeNetwork } from "../../support/fake-socket.ts";

/** Fakes the timers of each test, and makes each pause the longest it can be. */
export function useFakeTimers(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000 });
    vi.spyOn(Math, "random").mockReturnValue(0.999_999);
  });
  afterEach(() => {
    for (const provider of providers.splice(0)) provider.destroy();
    expect(vi.getTimerCount(), "timers that are left").toBe(0);
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
}

const providers: YProvider[] = [];

/** A provider, its network, and what it told. */
export interface Setup {
  readonly provider: YProvider;
  readonly network: FakeNetwork;
  /** Everything it told, as `name` or `name:value`. */
  readonly told: string[];
  readonly errors: ProviderError[];
}

export function setUp(
  options: ProviderOptions & { readonly doc?: YProvider["doc"]; readonly network?: FakeNetwork } = {},
): Setup {
  const { doc, network = new FakeNetwork(), ...rest } = options;
  const provider = new YProvider("example.com", "room", doc, {
    WebSocketPolyfill: network.WebSocket,
    ...rest,
  });
  providers.push(provider);
  const told: string[] = [];
  const errors: ProviderError[] = [];
  provider.on("status", ({ status }) => told.push(status));
  provider.on("synced", (isSynced) => told.push(`synced:${isSynced}`));
  provider.on("sync", (isSynced) => told.push(`sync:${isSynced}`));
  provider.on("saved", (isSaved) => told.push(`saved:${isSaved}`));
  provider.on("access", (access) => told.push(`access:${access}`));
  provider.on("epoch", (epoch) => told.push(`epoch:${epoch}`));
  provider.on("denied", ({ reason }) => told.push(`denied:${reason}`));
  provider.on("closed", ({ code, reason }) => told.push(`closed:${code} ${reason}`));
  provider.on("connection-close", (event) => told.push(`connection-close:${event?.code}`));
  provider.on("connection-error", () => told.push("connection-error"));
  provider.on("custom-message", (message) => told.push(`message:${message}`));
  provider.on("error", (error) => {
    told.push(`error:${error.type}`);
    errors.push(error);
  });
  return { provider, network, told, errors };
}

/** Lets promises and timers of the next `ms` milliseconds run. */
export async function pass(ms = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** A provider that is connected to a room which has nothing. What was sent so far is forgotten. */
export async function setUpRoom(options: Parameters<typeof setUp>[0] = {}): Promise<Setup> {
  const setup = setUp(options);
  await pass();
  setup.network.last.beRoom();
  await pass(100);
  setup.network.last.take();
  setup.told.length = 0;
  return setup;
}

/** Writes at the end. */
export function write({ provider }: Setup, text: string): void {
  const shared = provider.doc.getText("text");
  shared.insert(shared.length, text);
}

export function textOf({ provider }: Setup): string {
  return provider.doc.getText("text").toJSON();
}
