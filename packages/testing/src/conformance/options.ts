import type { Clock, PodRef, ProviderDefinition } from "@virtual-kubelet/core";
import type { FeaturePart } from "./feature-parts.ts";
import type { Feature } from "./features.ts";
import type { Recipes } from "./programs.ts";

/** How long the suite waits, in milliseconds. */
export interface ConformanceTimeouts {
  /** From `createPod` until the pod runs; default 30,000. */
  readonly startMs?: number | undefined;
  /** From a pod's end until it is reported and its traces are removed; default 30,000. */
  readonly endMs?: number | undefined;
  /** Maximum duration of one call, and of an aborted call until it returns; default 15,000. */
  readonly callMs?: number | undefined;
  /** Maximum duration of one check until its pods are deleted; default 300,000. It must exceed the sum of the check's waits. */
  readonly checkMs?: number | undefined;
}

/** Operations of the suite on the back end. Checks that need an absent operation do not run, and the report says so. */
export interface BackendHooks {
  /** Removes a pod without a report, as a crash of its host does. */
  losePod?(ref: PodRef): Promise<void>;
  /** Makes the back end unreachable until the result is disposed. */
  breakBackend?(): Promise<AsyncDisposable>;
  /** Names of all objects that the back end holds for the suite's node: containers, jobs, volumes, ports. */
  leftovers?(): Promise<readonly string[]>;
  /** Makes lists incomplete until the result is disposed. */
  breakLists?(): Promise<AsyncDisposable>;
}

/** Back end that a provider ran against. */
export interface ReportedBackEnd {
  /** `real`: the back end that users have; `fake`: its substitute in tests; `own`: the provider has no separate back end. */
  readonly kind: "real" | "fake" | "own";
  /** Name for the report's readers, the same on every machine: `Docker Engine`. */
  readonly name: string;
  /** Version of the back end; for a fake, the version it imitates. Default: unknown. */
  readonly version?: string | undefined;
}

/** The functions of a test runner that the suite uses, as `node:test` exports them. */
export interface TestRunner {
  /** Groups the tests that `body` declares. */
  describe(name: string, body: () => void): unknown;
  /** Declares a test. @param options - `timeout` in milliseconds */
  test(name: string, options: { readonly timeout: number }, body: () => Promise<void>): unknown;
  /** Calls back when all tests of the group have run. */
  after(body: () => void): unknown;
}

/** Options of {@link describeProvider}. */
export interface ConformanceOptions {
  /** What the provider's package exports as `provider`. */
  readonly provider: ProviderDefinition;
  /** Its configuration as users write it; default: none. */
  readonly config?: unknown;
  /** Who runs the tests: `{ after, describe, test }` of `node:test`, or a runner with the same functions. Default: Vitest. */
  readonly runner?: TestRunner | undefined;
  /** Features without which the suite fails; {@link requiredFeatures} has them for the providers of this repository. */
  readonly required: readonly Feature[];
  /** Features that the provider lacks although its methods and capabilities declare them, with the reasons. Must not contain required features. */
  readonly lacks?: Readonly<Partial<Record<Feature, string>>> | undefined;
  /** Features that the provider has but that cannot be tested here, with the reasons: an older engine, missing hardware. */
  readonly notRun?: Readonly<Partial<Record<Feature, string>>> | undefined;
  /**
   * Features that pods with several containers lack although pods with one container have them, with the reasons: reports of a container's
   * end, stats, logs, probes by commands. The checks then use one container, or do not run, and the report says so.
   */
  readonly lacksInSeveral?: Readonly<Partial<Record<"ends" | "logs" | "probes" | "stats", string>>> | undefined;
  /**
   * Parts of features that the provider lacks, with the reasons. The checks then do without them, or do not run, and the report says so; see
   * {@link featureParts}.
   */
  readonly lacksPart?: Readonly<Partial<Record<FeaturePart, string>>> | undefined;
  /** Containers that run the suite's programs; default: {@link shellPrograms}. */
  readonly programs?: Recipes | undefined;
  /** Whether pods outlive the program; default `true`. If not, nothing can be adopted. */
  readonly podsOutliveProgram?: boolean | undefined;
  readonly backend?: BackendHooks | undefined;
  readonly timeouts?: ConformanceTimeouts | undefined;
  /** A port that nothing else listens on, for pods that answer HTTP; default 18080. */
  readonly port?: number | undefined;
  /** Path of the provider's README.md; default: the README is not checked. */
  readonly readme?: string | undefined;
  /** Back end that the provider runs against, for the report. Default: the provider itself. */
  readonly against?: ReportedBackEnd | undefined;
  /** File to which the report is written as JSON. Default: none. */
  readonly report?: string | undefined;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
}
