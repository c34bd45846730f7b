// From a request to a room. The routing is PartyServer's; names, unknown parties and headers are checked before it.
import { getServerByName, routePartykitRequest, type PartyServerOptions, type Server } from "partyserver";
import { decodeRoomName, encodeRoomName } from "./protocol/room-name.js";
import { refuse, refuseReadably } from "./room/refusal.js";

/** What can be passed through to PartyServer: `prefix`, `cors`, `locationHint`, `jurisdiction`, `props`, … */
export type RouteRoomsOptions<Env = Cloudflare.Env> = PartyServerOptions<Env>;

/** Headers by which the router talks to a room: from outside they are dropped. */
const internalHeaders = [
  "x-partykit-props",
  "x-partykit-room",
  "x-partykit-namespace",
  "x-partykit-jurisdiction",
];

/**
 * Answers requests to `/parties/:party/:room`, where `party` is the name of a Durable Object binding in kebab-case
 * (`MAIN` and `Main` are `main`). Null for any other path. A name or a party that cannot be is refused in one sentence,
 * and nothing is written for it.
 */
export async function routeRooms<Env extends Cloudflare.Env = Cloudflare.Env>(
  request: Request,
  env: Env,
  options: RouteRoomsOptions<Env> = {},
): Promise<Response | null> {
  const response = await route(request, env, options);
  return response === null ? null : refuseReadably(request, response);
}

async function route<Env extends Cloudflare.Env>(
  request: Request,
  env: Env,
  options: RouteRoomsOptions<Env>,
): Promise<Response | null> {
  const url = new URL(request.url);
  const prefix = (options.prefix ?? "parties").split("/").filter(Boolean);
  const [, ...segments] = url.pathname.split("/");
  if (!prefix.every((part, index) => segments[index] === part)) return null;
  const [party, room, ...rest] = segments.slice(prefix.length);
  if (party === undefined) return null;
  // Before a browser shows a page why its request was refused, it asks whether it may.
  const isPreflight = request.method === "OPTIONS" && options.cors !== undefined && options.cors !== false;
  if (isPreflight && !hasParty(env, party)) return withCors(new Response(null), options.cors);
  if (!hasParty(env, party)) return withCors(refuse(404, "There is no such party here."), options.cors);
  let segment: string;
  try {
    segment = encodeRoomName(decodeRoomName(room ?? ""));
  } catch (error) {
    const sentence = error instanceof RangeError ? error.message : "The name of a room is not valid.";
    return withCors(refuse(400, sentence), options.cors);
  }
  url.pathname = ["", ...prefix, party, segment, ...rest].join("/");
  const inner = new Request(url, request);
  for (const header of internalHeaders) inner.headers.delete(header);
  return routePartykitRequest<Env>(inner, env, { ...options, prefix: prefix.join("/") });
}

/** What {@link getRoom} passes on to PartyServer. */
export type GetRoomOptions = NonNullable<Parameters<typeof getServerByName>[2]>;

/**
 * The room called `name`, started: its `onLoad` and `onStart` have run. `name` is the plain one, as people write it.
 * @throws RangeError when no room can be called so
 */
export async function getRoom<Room extends Server>(
  namespace: DurableObjectNamespace<Room>,
  name: string,
  options: GetRoomOptions = {},
): Promise<DurableObjectStub<Room>> {
  return getServerByName(namespace, encodeRoomName(name), options);
}

/** A page of another origin may read a refusal where it may read an answer. */
function withCors(response: Response, cors: boolean | HeadersInit | undefined): Response {
  if (cors === undefined || cors === false) return response;
  const headers = cors === true ? { "Access-Control-Allow-Origin": "*" } : cors;
  for (const [name, value] of new Headers(headers)) response.headers.set(name, value);
  return response;
}

function hasParty(env: object, party: string): boolean {
  return Object.entries(env).some(
    ([name, binding]: [string, unknown]) => isNamespace(binding) && toKebabCase(name) === party,
  );
}

function isNamespace(binding: unknown): boolean {
  return (
    typeof binding === "object" &&
    binding !== null &&
    "idFromName" in binding &&
    typeof binding.idFromName === "function"
  );
}

/** The name of a binding as PartyServer spells it in a path. */
function toKebabCase(name: string): string {
  if (name === name.toUpperCase() && name !== name.toLowerCase()) {
    return name.toLowerCase().replaceAll("_", "-");
  }
  return name
    .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    .replace(/^-/, "")
    .replaceAll("_", "-")
    .replace(/-$/, "");
}
