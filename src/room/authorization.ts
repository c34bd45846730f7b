// Who may do what: the answer of the application's `onAuthorize`, checked at the edge. It is asked before a socket is
// accepted and before a request is answered; what it decides is enforced elsewhere, by the connection's flags.
import { refuse, refuseForNow } from "./refusal.js";
import { report } from "./report.js";

/** What somebody may do in a room. Each includes those before it. */
export type Access = "none" | "read" | "write" | "admin";

/** The answer of `onAuthorize`. */
export interface Authorization {
  readonly access: Access;
  /** Who it is: a user id, the same for all connections of one person. Not shown to others. */
  readonly subject?: string | null;
}

/** Asked of an application without `onAuthorize`: everybody may write, nobody is known. */
export const openAuthorization: Authorization = { access: "write", subject: null };

/** The longest subject, in UTF-16 units: it is kept in the attachment. */
const maxSubjectLength = 256;

/**
 * Checks what `onAuthorize` returned.
 * @throws TypeError when it is neither an authorization nor a response: the room then refuses
 */
export function parseAuthorization(value: unknown): Authorization | Response {
  if (value instanceof Response) return value;
  if (typeof value !== "object" || value === null || !("access" in value)) {
    throw new TypeError("onAuthorize must return { access, subject } or a Response.");
  }
  const { access } = value;
  const subject = "subject" in value ? (value.subject ?? null) : null;
  if (access !== "none" && access !== "read" && access !== "write" && access !== "admin") {
    throw new TypeError('onAuthorize must return an access of "none", "read", "write" or "admin".');
  }
  if (subject !== null && (typeof subject !== "string" || subject.length > maxSubjectLength)) {
    throw new TypeError(`onAuthorize must return a subject of at most ${maxSubjectLength} characters.`);
  }
  return { access, subject };
}

/** Asks `hook` about a request. Whatever is not a clear yes is a refusal. */
export async function authorize(
  hook: ((request: Request) => unknown) | null,
  request: Request,
  room: string,
): Promise<Authorization | Response> {
  if (hook === null) return openAuthorization;
  let answer: Authorization | Response;
  try {
    answer = parseAuthorization(await hook(request));
  } catch (error) {
    report("error", room, "onAuthorize failed", error);
    return refuseForNow("Access to this room cannot be checked now. Try again later.");
  }
  if (answer instanceof Response || answer.access !== "none") return answer;
  return (answer.subject ?? null) === null
    ? refuse(401, "This room is open to those who sign in.", { "WWW-Authenticate": "Bearer" })
    : refuse(403, "This room is not open to you.");
}
