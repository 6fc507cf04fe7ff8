import type { Capabilities, Provider } from "@virtual-kubelet/core";
import { allChecks } from "./all-checks.ts";
import type { Check } from "./check.ts";
import { featureNames, missingClaim, type Feature } from "./features.ts";
import type { ConformanceOptions } from "./options.ts";

/** How a run of the suite treats a feature. */
export interface FeaturePlan {
  readonly required: boolean;
  /** `lacking`: the provider does not have it; `not-run`: it cannot be tried here. */
  readonly state: "run" | "lacking" | "not-run";
  /** Why it is not run. */
  readonly reason?: string | undefined;
  /** Checks, each with the reason why it cannot run, if any. */
  readonly checks: readonly { readonly check: Check; readonly needs: string | undefined }[];
}

/** Checks of a run of the suite. */
export interface SuitePlan {
  readonly features: Readonly<Record<Feature, FeaturePlan>>;
  /** Required features that the provider does not have, each a line. */
  readonly missing: readonly string[];
}

/** Plans the suite for a provider. */
export function planSuite(options: ConformanceOptions, provider: Provider, capabilities: Capabilities): SuitePlan {
  const required = new Set<Feature>(options.required);
  const gapOf = (feature: Feature): string | undefined => options.lacks?.[feature] ?? missingClaim(feature, provider, capabilities);
  const has = (feature: Feature): boolean => gapOf(feature) === undefined && options.notRun?.[feature] === undefined;
  const entries = featureNames.map((feature) => [feature, planFeature(feature, { options, lacking: gapOf(feature), has })] as const);
  const plans = Object.fromEntries(entries) as Record<Feature, FeaturePlan>;
  const missing = featureNames
    .filter((feature) => required.has(feature) && plans[feature].state === "lacking")
    .map((feature) => `${feature}: ${plans[feature].reason}`);
  return { features: plans, missing };
}

function planFeature(
  feature: Feature,
  {
    options,
    lacking,
    has,
  }: { readonly options: ConformanceOptions; readonly lacking: string | undefined; readonly has: (feature: Feature) => boolean },
): FeaturePlan {
  const required = options.required.includes(feature);
  if (lacking !== undefined) return { required, state: "lacking", reason: lacking, checks: [] };
  const notRun = options.notRun?.[feature];
  if (notRun !== undefined) return { required, state: "not-run", reason: notRun, checks: [] };
  const checks = allChecks.filter((check) => check.feature === feature).map((check) => ({ check, needs: check.needs?.(options, has) }));
  const [first] = checks;
  const allNeed = first?.needs !== undefined && checks.every(({ needs }) => needs !== undefined);
  // Pods that end with the program cannot be adopted. This is a property of the provider, not of this run.
  if (allNeed && feature === "adoption") return { required, state: "lacking", reason: first.needs, checks: [] };
  return { required, state: "run", checks };
}
