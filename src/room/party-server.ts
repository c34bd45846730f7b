// What a room has to know of PartyServer beyond its public interface: the record that it keeps of a name, the header in
// which its router sends props, and its part of an attachment. One place, to be looked through at each of its releases.

/**
 * PartyServer stores the object's name for alarms of old runtimes, which did not know it: 12 KB for every name that
 * anybody tries. Where the platform knows the name, that record is left out.
 */
export function skipNameRecord(ctx: DurableObjectState): void {
  if (ctx.id.name === undefined) return;
  const { storage } = ctx;
  const put = storage.put.bind(storage) as (...args: unknown[]) => Promise<void>;
  Object.defineProperty(storage, "put", {
    configurable: true,
    value: (...args: unknown[]): Promise<void> =>
      args[0] === "__ps_name" ? Promise.resolve() : put(...args),
  });
}

/** The props that its router put into a request: JSON in UTF-8, in base64. Undefined when there are none. */
export function readProps(request: Request): Record<string, unknown> | undefined {
  const header = request.headers.get("x-partykit-props");
  if (header === null) return undefined;
  const bytes = Uint8Array.from(atob(header), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
}

/** The id of a connection of PartyServer's; null for a socket that the application accepted by itself. */
export function readPartyId(socket: WebSocket): string | null {
  const raw: unknown = WebSocket.prototype.deserializeAttachment.call(socket);
  if (typeof raw !== "object" || raw === null || !("__pk" in raw)) return null;
  const own = raw.__pk;
  if (typeof own !== "object" || own === null || !("id" in own)) return null;
  return typeof own.id === "string" ? own.id : null;
}
