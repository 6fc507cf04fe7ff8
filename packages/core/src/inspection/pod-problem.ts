import { overdueMs } from "../pod/state/end-deadline.ts";
import { providerMessage } from "../provider-calls/provider-message.ts";
import type { PodParts } from "./pod-parts.ts";

/** Time after which a provider's call counts as a problem. An event tells of it after the same time. */
const slowCallMs = 30_000;

/** Reasons of waiting containers that every pod passes through. */
const ordinaryReasons: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

/** What is wrong with a pod: a text, and the error or message that explains it. */
export interface PodProblem {
  readonly text: string;
  /** Default: the text says all. */
  readonly cause?: unknown;
}

/** Finds what is wrong with a pod. Cheap: it is called for every pod, and {@link describeProblem} only for those that are shown. */
export function findPodProblem(parts: PodParts, nowMs: number): PodProblem | undefined {
  return problemOfCall(parts, nowMs) ?? problemOfWork(parts) ?? problemOfEnd(parts, nowMs) ?? problemOfContainers(parts);
}

/** One line, without credentials. */
export function describeProblem({ text, cause }: PodProblem): string {
  return cause === undefined ? text : `${text}: ${providerMessage(cause)}`;
}

function problemOfCall({ state: { call } }: PodParts, nowMs: number): PodProblem | undefined {
  if (!call) return undefined;
  const forMs = nowMs - call.startedMs;
  if (call.isGivenUp) return { text: `the provider ignores that its call to ${call.kind} the pod was aborted` };
  if (forMs < slowCallMs) return undefined;
  return {
    text: call.isQueued
      ? `the pod waits for its turn to ${call.kind}: other calls take long`
      : `the provider has not answered its call to ${call.kind} the pod`,
  };
}

function problemOfWork({ state, work, writing }: PodParts): PodProblem | undefined {
  const { api, failedCall, verdict } = state;
  if (work?.failure) {
    const what = failedCall ? `${failedCall.kind} failed` : "failed";
    return { text: `${what} ${times(work.failures)}`, cause: work.failure.error };
  }
  if (verdict) return { text: verdict.reason, ...(verdict.message && { cause: verdict.message }) };
  if (writing?.failure) return { text: `writing the status failed ${times(writing.failures)}`, cause: writing.failure.error };
  if (failedCall) return { text: `${failedCall.kind} failed`, cause: failedCall.message };
  return api === "missing" ? { text: "a list of the API server lacks the pod; its end is not confirmed" } : undefined;
}

function problemOfEnd({ state: { backend } }: PodParts, nowMs: number): PodProblem | undefined {
  if (backend.kind !== "ending" || nowMs < backend.deadlineMs + overdueMs) return undefined;
  return { text: "the pod has not ended in its grace period" };
}

function problemOfContainers({ state: { reported } }: PodParts): PodProblem | undefined {
  if (!reported) return undefined;
  const { initContainerStatuses = [], containerStatuses = [] } = reported;
  for (const { name, state } of [...initContainerStatuses, ...containerStatuses]) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || ordinaryReasons.has(reason)) continue;
    return { text: `container ${name} waits: ${reason}`, ...(message && { cause: message }) };
  }
  return undefined;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
