// One name per room, whichever way it is spelled in a URL. Owned here because server and client must agree on it.

/** The longest name, in bytes of UTF-8. */
export const maxRoomNameBytes = 512;
/** The longest name as it stands in a path, in bytes: the platform names an object up to 1 024 bytes. */
const maxSegmentBytes = 1024;

const textEncoder = new TextEncoder();

/**
 * The one spelling of a room's name in a path: what a URL parser makes of the plain name, and `/ ? # % \` encoded.
 * `encodeRoomName("doc:1")` is `doc:1`, `encodeRoomName("a b")` is `a%20b`.
 * @throws RangeError when the name is empty, too long, has a control character or a lone surrogate, or is `.` or `..`
 */
export function encodeRoomName(name: string): string {
  if (name === "") throw new RangeError("The name of a room must not be empty.");
  if (name === "." || name === "..") throw new RangeError("A room cannot be named . or ..");
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) {
    throw new RangeError("The name of a room must not have control characters.");
  }
  if (/\p{Surrogate}/u.test(name)) throw new RangeError("The name of a room must be well-formed Unicode.");
  const segment = name.replace(/[ "#%/<>?\\^`{}]|[^ -~]+/gu, encodeURIComponent);
  if (textEncoder.encode(name).byteLength > maxRoomNameBytes || segment.length > maxSegmentBytes) {
    throw new RangeError(`The name of a room must not be longer than ${maxRoomNameBytes} bytes.`);
  }
  return segment;
}

/**
 * The name that a path segment spells.
 * @throws RangeError when its percent-encoding is not valid UTF-8
 */
export function decodeRoomName(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new RangeError("The name of the room is not valid percent-encoded UTF-8.");
  }
}
