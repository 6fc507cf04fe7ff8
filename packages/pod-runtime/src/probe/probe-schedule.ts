import type { Container, DeepReadonly } from "@virtual-kubelet/core";

/** A probe of the spec. */
export type ProbeSpec = NonNullable<DeepReadonly<Container>["livenessProbe"]>;

/** Kind of a probe. */
export type ProbeKind = "startup" | "liveness" | "readiness";

/** One probe of one container instance. Times are monotonic milliseconds. */
export interface ProbeState {
  readonly kind: ProbeKind;
  readonly spec: ProbeSpec;
  /** Time of the next attempt. */
  readonly dueMs: number;
  /** Last result, and how often it was repeated. */
  readonly last?: boolean | undefined;
  readonly run: number;
  /** Result in force. Readiness starts as failed, liveness as passed; a startup probe has no result before its first. */
  readonly published?: boolean | undefined;
  /** True after a liveness or startup probe has failed, because the container is being stopped. */
  readonly isOver: boolean;
}

/** Outcome of one attempt. `error` means that the result is unknown. */
export type ProbeOutcome = "success" | "failure" | "error";

/** Initial state of a probe. After a restart of the program, the readiness of a ready container has passed. */
export function newProbe(kind: ProbeKind, spec: ProbeSpec, startedAtMs: number, isReady: boolean = false): ProbeState {
  const published = kind === "startup" ? undefined : kind === "liveness" || isReady;
  return { kind, spec, dueMs: startedAtMs + (spec.initialDelaySeconds ?? 0) * 1000, run: 0, published, isOver: false };
}

/** State after an attempt, with the result if it has changed. Source: doProbe in kubernetes v1.36.3 pkg/kubelet/prober/worker.go. */
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

/** Time between two attempts, in milliseconds. Default: 10,000. */
export function periodMs(spec: ProbeSpec): number {
  return (spec.periodSeconds ?? 10) * 1000;
}

/** Time-out of an attempt, in milliseconds. Default: 1,000. */
export function timeoutMs(spec: ProbeSpec): number {
  return (spec.timeoutSeconds ?? 1) * 1000;
}
