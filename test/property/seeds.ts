// Runs a property over many seeds. Owns how many, and how a failure names the seed that shows it again.
import * as prng from "lib0/prng";

/** Multiplies the number of seeds of every property; 1 by default. */
const multiplier = Number(process.env["DORMOUSE_FUZZ"] ?? "1");
/** Time for one property, in milliseconds. */
export const propertyTimeoutMs: number = 60_000 * Math.max(1, multiplier);
/** One seed to run alone. */
const onlySeed = process.env["DORMOUSE_SEED"];

/** Runs `property` for `count` seeds. @throws Error that names the first seed that failed */
export function forSeeds(count: number, property: (random: prng.PRNG, seed: number) => void): void {
  const seeds = onlySeed === undefined ? Math.ceil(count * multiplier) : 1;
  for (let i = 0; i < seeds; i++) {
    const seed = onlySeed === undefined ? i + 1 : Number(onlySeed);
    try {
      property(prng.create(seed), seed);
    } catch (error) {
      throw new Error(`seed ${seed} (again with DORMOUSE_SEED=${seed}): ${String(error)}`, { cause: error });
    }
  }
}
