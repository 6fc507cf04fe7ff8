import { invariants } from "./invariants.ts";
import type { SeedResult } from "./simulate.ts";

/** The command that lives through one seed once more, and shows all that happens in it. */
export function replayCommand(seed: number): string {
  return `SEED=${seed} npx vitest run --project simulation`;
}

/** How a violation is told: what did not hold, the last events, and how to see it again. */
export function describeResult({ seed, kind, violation, trace }: SeedResult): string {
  if (!violation) return `seed ${seed} (${kind}): every invariant held`;
  const { invariant, problem, atMs } = violation;
  return [
    `seed ${seed} (${kind}): ${invariant}, ${invariants[invariant]}: ${problem} (at ${(atMs / 1000).toFixed(3)} s)`,
    "the last events:",
    ...trace.slice(-60).map((line) => `  ${line}`),
    `replay: ${replayCommand(seed)}`,
  ].join("\n");
}
