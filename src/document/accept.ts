// What of an update is new and can be stored: the rules of the closed log (trim, closed part, clip, deletes of structs
// without content, known deletes). With them no row of the log ever has a gap or a reference to what is not there, the
// state vector is exact, and a client that sends what is known changes nothing. Pure: whoever stores `fresh` advances the
// vector and the known deletes.
import { closedPart, type ClosedPart } from "./closed-part.js";
import {
  clipDeletes,
  clipRanges,
  equalDeletes,
  subtractDeletes,
  uniteDeletes,
  type DeleteSet,
  type ReadonlyDeleteSet,
} from "./delete-set.js";
import { encodeUpdate, replaceDeletes } from "./normal-form.js";
import { scanUpdate } from "./scan.js";
import type { ScannedUpdate } from "./scanned-update.js";
import type { ReadonlyStateVector } from "./state-vector.js";
import { storedUpdateLimits } from "./update-limits.js";

/** The result of {@link acceptUpdate}. */
export interface AcceptedUpdate {
  /**
   * What to store and to relay, in normal form; null when nothing is new. Its structs continue the vector and refer to
   * nothing unknown; its deletes include the clocks of its structs without content.
   */
  readonly fresh: ScannedUpdate | null;
  /**
   * False when something had to be left out because what it builds on is missing. It must not be acknowledged; the sender
   * is asked again by a sync step 1.
   */
  readonly complete: boolean;
}

/**
 * Decides what of `update` to store over a log with this state vector. `knownDeletes` are all deletes in the log, or null
 * when they are not at hand: known ones are then not left out.
 */
export function acceptUpdate(
  update: ScannedUpdate,
  vector: ReadonlyStateVector,
  knownDeletes: ReadonlyDeleteSet | null,
): AcceptedUpdate {
  const part = follows(update, vector) ? null : closedPart(update, vector);
  const isWhole = part === null || part.isWhole;
  const isComplete = part === null || part.isComplete;
  if (isWhole && update.deletes.size === 0 && update.dead.size === 0) {
    return { fresh: update.sections.length > 0 ? update : null, complete: isComplete };
  }
  const reached = reachedClocks(update, vector, part);
  const areDeletesKnown = isWithin(update.deletes, reached);
  const written = areDeletesKnown ? update.deletes : clipDeletes(update.deletes, reached);
  const all = update.dead.size === 0 ? written : uniteDeletes(written, newDead(update.dead, vector, reached));
  const deletes = knownDeletes === null ? all : subtractDeletes(all, knownDeletes);
  return {
    fresh: isWhole ? withDeletes(update, deletes) : assemble(part.groups, deletes),
    complete: isComplete && areDeletesKnown,
  };
}

/**
 * Whether the whole update is new and follows: the usual case, told by a comparison for each section and each client
 * referred to. References inside the update are not followed here, since they may form a circle.
 */
function follows(update: ScannedUpdate, vector: ReadonlyStateVector): boolean {
  if (update.hasSkip) return false;
  for (const section of update.sections) {
    if (section.clock !== (vector.get(section.client) ?? 0)) return false;
  }
  for (const [client, clock] of update.references) {
    if (clock > (vector.get(client) ?? 0)) return false;
  }
  return true;
}

/** Up to which clock each client is known once the structs are stored. */
function reachedClocks(
  update: ScannedUpdate,
  vector: ReadonlyStateVector,
  part: ClosedPart | null,
): (client: number) => number {
  const ends = part?.reached ?? new Map(update.sections.map(({ client, end }) => [client, end]));
  return (client) => ends.get(client) ?? vector.get(client) ?? 0;
}

function isWithin(deletes: ReadonlyDeleteSet, reached: (client: number) => number): boolean {
  for (const [client, ranges] of deletes) {
    if (ranges.at(-1)! > reached(client)) return false;
  }
  return true;
}

/** The clocks without content among the structs that are stored now. */
function newDead(
  dead: ReadonlyDeleteSet,
  vector: ReadonlyStateVector,
  reached: (client: number) => number,
): DeleteSet {
  const stored: DeleteSet = new Map();
  for (const [client, ranges] of dead) {
    const clipped = clipRanges(ranges, vector.get(client) ?? 0, reached(client));
    if (clipped.length > 0) stored.set(client, clipped);
  }
  return stored;
}

function withDeletes(update: ScannedUpdate, deletes: ReadonlyDeleteSet): ScannedUpdate | null {
  if (update.sections.length === 0 && deletes.size === 0) return null;
  return equalDeletes(update.deletes, deletes) ? update : replaceDeletes(update, deletes);
}

function assemble(groups: ClosedPart["groups"], deletes: ReadonlyDeleteSet): ScannedUpdate | null {
  if (groups.length === 0 && deletes.size === 0) return null;
  return scanUpdate(encodeUpdate(groups, deletes), { limits: storedUpdateLimits });
}
