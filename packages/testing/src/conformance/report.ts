import { systemClock } from "@virtual-kubelet/clock";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Check } from "./check.ts";
import { featureParts, type FeaturePart } from "./feature-parts.ts";
import { featureNames, features, type Feature } from "./features.ts";
import type { ConformanceOptions, ReportedBackEnd } from "./options.ts";
import type { FeaturePlan, SuitePlan } from "./suite-plan.ts";

/** Reason for a check that was not selected in a partial run. */
export const notChosen = "it was not chosen in this run";

/** Result of one check. */
export interface CheckReport {
  readonly name: string;
  readonly state: "passed" | "failed" | "not-run";
  /** Why it failed or did not run. */
  readonly reason?: string | undefined;
}

/** Result of one feature: `passed` if at least one of its checks ran and none failed. */
export interface FeatureReport {
  readonly about: string;
  readonly state: "passed" | "failed" | "lacking" | "not-run";
  readonly required: boolean;
  readonly reason?: string | undefined;
  readonly checks: readonly CheckReport[];
}

/** Results of the suite for a provider; the source of the capability matrix in the documentation. */
export interface ConformanceReport {
  readonly provider: string;
  readonly against: ReportedBackEnd;
  /** Day of the run, in UTC: `2026-11-23`. */
  readonly date: string;
  readonly features: Readonly<Record<Feature, FeatureReport>>;
}

const ownBackEnd: ReportedBackEnd = { kind: "own", name: "the provider itself" };

/** Collects results of checks and builds the report. */
export class ReportBook {
  readonly #provider: string;
  readonly #against: ReportedBackEnd;
  readonly #date: string;
  readonly #plan: SuitePlan;
  readonly #lacksPart: ConformanceOptions["lacksPart"];
  readonly #results = new Map<Check, CheckReport>();

  constructor({ provider, against = ownBackEnd, clock = systemClock, lacksPart }: ConformanceOptions, plan: SuitePlan) {
    this.#provider = provider.name;
    this.#against = against;
    this.#date = new Date(clock.now()).toISOString().slice(0, 10);
    this.#plan = plan;
    this.#lacksPart = lacksPart;
  }

  note({ check, ...result }: { readonly check: Check; readonly state: CheckReport["state"]; readonly reason?: string | undefined }): void {
    this.#results.set(check, { name: check.name, ...result });
  }

  report(): ConformanceReport {
    const entries = featureNames.map((feature) => [feature, this.#feature(feature, this.#plan.features[feature])] as const);
    return {
      provider: this.#provider,
      against: this.#against,
      date: this.#date,
      features: Object.fromEntries(entries) as Record<Feature, FeatureReport>,
    };
  }

  /** Writes the report as JSON. */
  write(path: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(this.report(), undefined, 2)}\n`);
  }

  #feature(feature: Feature, { state, reason, required, checks }: FeaturePlan): FeatureReport {
    const about = features[feature];
    if (state !== "run") return { about, state, required, reason, checks: [] };
    const results = checks.map(({ check, needs }): CheckReport =>
      needs === undefined
        ? (this.#results.get(check) ?? { name: check.name, state: "not-run", reason: notChosen })
        : { name: check.name, state: "not-run", reason: needs },
    );
    const failed = results.some((result) => result.state === "failed");
    const passed = results.some((result) => result.state === "passed");
    return {
      about,
      state: failed ? "failed" : passed ? "passed" : "not-run",
      required,
      checks: [...results, ...this.#lackingParts(feature, results)],
    };
  }

  /** Parts that the provider lacks and that its checks did without. */
  #lackingParts(feature: Feature, results: readonly CheckReport[]): CheckReport[] {
    const lacking = Object.entries(this.#lacksPart ?? {}) as readonly [FeaturePart, string][];
    return lacking
      .filter(([part, reason]) => featureParts[part].feature === feature && !results.some((result) => result.reason === reason))
      .map(([part, reason]) => ({ name: featureParts[part].about, state: "not-run", reason }));
  }
}
