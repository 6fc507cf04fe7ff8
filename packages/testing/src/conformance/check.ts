import { leakCheck } from "../leak-check.ts";
import type { Feature } from "./features.ts";
import type { ConformanceOptions } from "./options.ts";
import { ProviderRig } from "./provider-rig.ts";

/** One thing a provider must do. */
export interface Check {
  readonly feature: Feature;
  /** What the provider does, as a sentence. */
  readonly name: string;
  /** Why it cannot be tried with these options and features; `undefined` if it can. */
  needs?(options: ConformanceOptions, has: (feature: Feature) => boolean): string | undefined;
  /** Throws if the provider does not. */
  run(rig: ProviderRig): Promise<void>;
}

/** A check of a feature. */
export function check(feature: Feature, name: string, run: Check["run"], needs?: Check["needs"]): Check {
  return { feature, name, run, ...(needs && { needs }) };
}

/**
 * Runs one check with a provider of its own, deletes its pods, and looks at what the provider showed meanwhile and
 * what it left open.
 *
 * @throws if the provider fails it
 */
export async function runCheck({ run }: Check, options: ConformanceOptions): Promise<void> {
  await using _open = leakCheck();
  let problems: readonly string[];
  {
    await using rig = await ProviderRig.open(options);
    await run(rig);
    problems = rig.problems();
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}
