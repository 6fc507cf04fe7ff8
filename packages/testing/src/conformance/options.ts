import type { Clock, PodRef, ProviderDefinition } from "@virtual-kubelet/core";
import type { Feature } from "./features.ts";
import type { Recipes } from "./programs.ts";

/** How long the suite waits, in milliseconds. */
export interface ConformanceTimeouts {
  /** From `createPod` until the pod runs; default 30,000. */
  readonly startMs?: number | undefined;
  /** From a pod's end until it is told, and until its traces are gone; default 30,000. */
  readonly endMs?: number | undefined;
  /** How long one call may take, and how long an aborted call may take to come back; default 15,000. */
  readonly callMs?: number | undefined;
  /** Most that one check may take until the pods it made are deleted; default 300,000. Less than its waits together is of no use. */
  readonly checkMs?: number | undefined;
}

/** What the suite may do to the back end. What is absent is not tried, and the report says so. */
export interface BackendHooks {
  /** Lets a pod vanish, as when its host dies. */
  losePod?(ref: PodRef): Promise<void>;
  /** Makes the back end unreachable until it is disposed. */
  breakBackend?(): Promise<AsyncDisposable>;
  /** Names of all that the back end holds for the suite's node: containers, jobs, volumes, ports. */
  leftovers?(): Promise<readonly string[]>;
  /** Makes lists come back with something missing until it is disposed. */
  breakLists?(): Promise<AsyncDisposable>;
}

/** What a provider ran against. */
export interface ReportedBackEnd {
  /** `real`: what users run it on; `fake`: what stands for it in tests; `own`: the provider has no back end but itself. */
  readonly kind: "real" | "fake" | "own";
  /** In words for the report's readers, the same on every machine: `Docker Engine`. */
  readonly name: string;
  /** Version of the back end; of a fake, the version of what it stands for. Default: it is not known. */
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

/** What {@link describeProvider} is told of a provider. */
export interface ConformanceOptions {
  /** What the provider's package exports as `provider`. */
  readonly provider: ProviderDefinition;
  /** Its configuration as users write it; default: none. */
  readonly config?: unknown;
  /** Who runs the tests: `{ after, describe, test }` of `node:test`, or a runner with the same functions. Default: Vitest. */
  readonly runner?: TestRunner | undefined;
  /** What it must have; for those of the catalogue {@link requiredFeatures} says it. */
  readonly required: readonly Feature[];
  /** What it does not have, though its methods and capabilities look so, and why. A required feature cannot be here. */
  readonly lacks?: Readonly<Partial<Record<Feature, string>>> | undefined;
  /** What it has and what cannot be tried here, and why: an older engine, no such hardware. */
  readonly notRun?: Readonly<Partial<Record<Feature, string>>> | undefined;
  /**
   * What pods of several containers lack, though those of one have it, and why: to be told when a container ends, to be
   * measured, to have logs, to be probed by commands. Its checks are then made with one container, or not at all, and the report says so.
   */
  readonly lacksInSeveral?: Readonly<Partial<Record<"ends" | "logs" | "probes" | "stats", string>>> | undefined;
  /** How its containers do what the suite asks of them; default: {@link shellPrograms}. */
  readonly programs?: Recipes | undefined;
  /** Whether pods outlive the program; default `true`. Without, there is nothing to adopt. */
  readonly podsOutliveProgram?: boolean | undefined;
  readonly backend?: BackendHooks | undefined;
  readonly timeouts?: ConformanceTimeouts | undefined;
  /** A port that nothing else listens on, for pods that answer HTTP; default 18080. */
  readonly port?: number | undefined;
  /** Path of the provider's README.md; default: it is not looked at. */
  readonly readme?: string | undefined;
  /** What the provider ran against, for the report's readers; default: nothing but itself. */
  readonly against?: ReportedBackEnd | undefined;
  /** File that the report is written to, as JSON; default: none is. */
  readonly report?: string | undefined;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
}
