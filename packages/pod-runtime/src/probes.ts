/**
 * Startup, readiness and liveness probes for providers whose back ends have none: their schedule, their results, and HTTP, TCP and gRPC
 * checks. Needs no container runtime.
 *
 * @packageDocumentation
 */
export { hasProbes, PodProbes, type FailedContainer, type PodProbesOptions, type RunningContainer } from "./probe/pod-probes.ts";
export { portNumber, probeOnce, type Endpoint, type ProbeTarget } from "./probe/probe-action.ts";
export { timeoutMs, type ProbeKind, type ProbeOutcome, type ProbeSpec } from "./probe/probe-schedule.ts";
export { ProbeCounts, type CountedProbe } from "./probe/probe-counts.ts";
export type { ProbeStanding } from "./probe/probe-standing.ts";
export type { ProbeAttempt, ProberOptions, ProbeAction, WantedProbe } from "./probe/prober.ts";
