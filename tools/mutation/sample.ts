import { createHash } from "node:crypto";
import type { Mutant } from "./mutants.ts";

/** Identity of a mutant that survives changes to surrounding code: its file, function and text, not its line. */
export function identityOf({
  file,
  within,
  original,
  mutated,
  nth,
}: Pick<Mutant, "file" | "within" | "original" | "mutated" | "nth">): string {
  return JSON.stringify([file, within, original, mutated, nth]);
}

/**
 * A random sample that depends on the seed and on each mutant alone: a change to one file leaves the sample of the others as it was.
 *
 * @param size - all of them if there are fewer
 */
export function takeSample(mutants: readonly Mutant[], size: number, seed: number): Mutant[] {
  return mutants
    .map((mutant) => ({
      mutant,
      rank: createHash("sha256")
        .update(`${seed} ${identityOf(mutant)}`)
        .digest("hex"),
    }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .slice(0, size)
    .map(({ mutant }) => mutant);
}
