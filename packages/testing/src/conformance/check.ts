import { messageOf } from "@virtual-kubelet/errdefs";
import { leakCheck } from "../leak-check.ts";
import type { Feature } from "./features.ts";
import type { ConformanceOptions } from "./options.ts";
import { ProviderRig, timeoutsOf } from "./provider-rig.ts";

/** One thing a provider must do. */
export interface Check {
  readonly feature: Feature;
  /** What the provider does, as a sentence. */
  readonly name: string;
  /** Reason why the check cannot run with these options and features; `undefined` if it can. */
  needs?(options: ConformanceOptions, has: (feature: Feature) => boolean): string | undefined;
  /** Throws if the provider does not do it. */
  run(rig: ProviderRig): Promise<void>;
}

/** A check of a feature. */
export function check(feature: Feature, name: string, run: Check["run"], needs?: Check["needs"]): Check {
  return { feature, name, run, ...(needs && { needs }) };
}

/**
 * Runs one check with a new provider, deletes its pods, and examines what the provider reported, logged and left open.
 * Returns in bounded time, whatever the provider does: `checkMs` plus the time of the deletion.
 *
 * @throws Error if the provider fails it; where more than one thing failed, it names all of them, and the first is its cause
 */
export async function runCheck(check: Check, options: ConformanceOptions): Promise<void> {
  try {
    await runAndLook(check, options);
  } catch (error) {
    const first = firstFailure(error);
    throw first === error ? error : new Error(messageOf(error), { cause: first });
  }
}

async function runAndLook({ run }: Check, options: ConformanceOptions): Promise<void> {
  await using _open = leakCheck();
  let problems: readonly string[];
  {
    await using rig = await ProviderRig.open(options);
    await rig.work(() => run(rig));
    problems = rig.problems();
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Maximum duration of a check in milliseconds, including the deletion of its pods and the search for open resources. */
export function longestMs(options: ConformanceOptions): number {
  const { endMs, callMs, checkMs } = timeoutsOf(options);
  return checkMs + 3 * callMs + endMs + leftOpenMs;
}

/** {@link leakCheck} waits ten seconds; the rest is for a busy machine. */
const leftOpenMs = 30_000;

/** Returns the first error of a SuppressedError, which `await using` throws when disposals fail after the work has failed. */
function firstFailure(error: unknown): unknown {
  return error instanceof Error && "suppressed" in error ? firstFailure(error.suppressed) : error;
}
