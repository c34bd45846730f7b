// Where a room is: from a host and a name to an address, and from that to the URL of one connection.
import { encodeQueryParams } from "lib0/url";
import { ownClientParam } from "../src/protocol/control.js";

/** What is added to the query of each connection. What is null or undefined is left out. */
export type Params = Readonly<Record<string, string | null | undefined>>;

/** The options that decide where a room is. Names and defaults as in y-partyserver. */
export interface AddressOptions {
  /** `ws` for this machine and private networks, else `wss`, unless it is given. */
  readonly protocol?: "ws" | "wss";
  /** The kind of room, `main` unless it is given. */
  readonly party?: string;
  /** The whole path, in place of `/parties/:party/:room`. */
  readonly prefix?: string;
  /** Whether `prefix` names the room already, which it does unless this is false. */
  readonly isPrefixedUrl?: boolean;
}

/** Hosts that have no certificate: this machine and private networks. */
const plainHost = /^(localhost(:|\/|$)|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\])/;

/**
 * The address of a room, without a query. Its name is encoded so that it stays one segment and names the same room at
 * servers that do not decode it; which names can be is for the room to say.
 * @throws TypeError when `host` or `room` is not a string; URIError when `room` is not well-formed
 */
export function createAddress(host: string, room: string, options: AddressOptions): string {
  if (typeof host !== "string" || typeof room !== "string") throw new TypeError("host, room: strings only");
  const { prefix, party = "main", isPrefixedUrl } = options;
  const bareHost = host.replace(/^(https?|wss?):\/\/|\/+$/g, "");
  const protocol = options.protocol ?? (plainHost.test(bareHost) ? "ws" : "wss");
  const name = encodeURI(room).replace(/[/?#]/g, encodeURIComponent);
  const path = prefix && isPrefixedUrl !== false ? prefix : `${prefix || `/parties/${party}`}/${name}`;
  return `${protocol}://${bareHost}${path}`;
}

/** The URL of one connection. `id` is its label, as in y-partyserver. */
export function createUrl(address: string, id: string, params: Params): string {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined);
  return `${address}?${encodeQueryParams({ _pk: id, [ownClientParam]: "1", ...Object.fromEntries(given) })}`;
}
