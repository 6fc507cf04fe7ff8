import type { Container, DeepReadonly } from "@virtual-kubelet/core";

/** A container's probe, as the spec has it. */
export type ProbeSpec = NonNullable<DeepReadonly<Container>["livenessProbe"]>;

/** What a probe is for. */
export type ProbeKind = "startup" | "liveness" | "readiness";

/** One probe of one container instance. Times are monotonic milliseconds. */
export interface ProbeState {
  readonly kind: ProbeKind;
  readonly spec: ProbeSpec;
  /** When to probe next. */
  readonly dueMs: number;
  /** The result so far in a row, and how often. */
  readonly last?: boolean | undefined;
  readonly run: number;
  /** What counts now. Readiness begins as failed, liveness as passed; a startup probe has no result before its first. */
  readonly published?: boolean | undefined;
  /** A liveness or startup probe that has failed is not run again: the container is being stopped. */
  readonly isOver: boolean;
}

/** What one attempt came to. An error is no result: nothing is known. */
export type ProbeOutcome = "success" | "failure" | "error";

/** A probe of a container that started at a time; of one that is ready already, after a restart of ours, readiness has passed. */
export function newProbe(kind: ProbeKind, spec: ProbeSpec, startedAtMs: number, isReady: boolean = false): ProbeState {
  const published = kind === "startup" ? undefined : kind === "liveness" || isReady;
  return { kind, spec, dueMs: startedAtMs + (spec.initialDelaySeconds ?? 0) * 1000, run: 0, published, isOver: false };
}

/**
 * The probe after an attempt, and its result if that is now another one.
 * Source: doProbe in kubernetes v1.36.3 pkg/kubelet/prober/worker.go.
 */
export function afterProbe(state: ProbeState, outcome: ProbeOutcome, nowMs: number): { state: ProbeState; result?: boolean } {
  const next = { ...state, dueMs: Math.max(nowMs, state.dueMs + periodMs(state.spec)) };
  if (outcome === "error") return { state: next };
  const isSuccess = outcome === "success";
  const run = state.last === isSuccess ? state.run + 1 : 1;
  const counted = { ...next, last: isSuccess, run };
  const threshold = isSuccess ? (state.spec.successThreshold ?? 1) : (state.spec.failureThreshold ?? 3);
  if (run < threshold) return { state: counted };
  const isOver = state.kind !== "readiness" && (!isSuccess || state.kind === "startup");
  const isNews = state.published !== isSuccess;
  return { state: { ...counted, published: isSuccess, isOver }, ...(isNews ? { result: isSuccess } : {}) };
}

/** Milliseconds between two attempts; 10 s by default. */
export function periodMs(spec: ProbeSpec): number {
  return (spec.periodSeconds ?? 10) * 1000;
}

/** Milliseconds an attempt may take; 1 s by default. */
export function timeoutMs(spec: ProbeSpec): number {
  return (spec.timeoutSeconds ?? 1) * 1000;
}
