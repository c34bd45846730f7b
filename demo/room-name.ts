// Which room this page is about. The name stands after the # of the address: short to share, and whoever
// serves the page never learns it, since browsers keep that part to themselves.
import { encodeRoomName } from "../src/protocol/room-name.js";

const adjectives = (
  "amber brave bright calm clever cosy dreamy drowsy gentle golden happy hazy " +
  "kind lucky mellow misty nimble quiet sleepy snug soft sunny warm wild"
).split(" ");
const nouns = (
  "acorn beech bramble burrow clover fern forest garden glade hazel hedge hollow " +
  "ivy maple meadow moss nest oak orchard pine thicket walnut willow wood"
).split(" ");

function pick(words: readonly string[]): string {
  return words[Math.floor(Math.random() * words.length)] ?? "room";
}

function inventRoomName(): string {
  return `${pick(adjectives)}-${pick(nouns)}-${100 + Math.floor(Math.random() * 900)}`;
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment; // a stray %, typed by hand: then the name has a % in it
  }
}

/** The room that the address names. Where it names none, one is invented and put there. */
export function readRoomName(): string {
  const named = decode(location.hash.slice(1)).trim();
  if (named !== "") return named;
  const invented = inventRoomName();
  history.replaceState(null, "", `#${invented}`);
  return invented;
}

/** Why there can be no room of this name, in a sentence; undefined where there can be. */
export function findFault(name: string): string | undefined {
  try {
    encodeRoomName(name);
    return undefined;
  } catch (error) {
    return error instanceof RangeError ? error.message : String(error);
  }
}
