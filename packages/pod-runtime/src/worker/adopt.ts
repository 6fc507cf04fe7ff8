import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { newContainer, type ContainerLife, type ContainerRecord, type Termination } from "../pod/container-life.ts";
import { afterEnd } from "../pod/container-step.ts";
import type { Instant } from "../pod/instant.ts";
import { planPod, type PlannedContainer, type PodPlan } from "../pod/pod-plan.ts";
import type { PodEnding, PodState } from "../pod/pod-state.ts";
import { newPod } from "../pod/pod-step.ts";
import { lostTermination, toTermination } from "../pod/termination.ts";
import type { RuntimeContainer, RuntimeInventory, RuntimeSandbox } from "../runtime/container-runtime.ts";
import { tryAttempt, tryContainerIdentity, type ContainerIdentity } from "../runtime/labels.ts";

/** The newest attempt of a container that the runtime holds. */
interface Found {
  readonly identity: ContainerIdentity;
  readonly container: RuntimeContainer;
}

/**
 * The state of a pod that an earlier program has begun, from what the runtime holds and what the API server last heard.
 * Nothing that runs is disturbed; what the runtime does not hold begins anew.
 */
export function adoptPod(pod: DeepReadonly<Pod>, inventory: RuntimeInventory, now: Instant): PodState {
  const plan = planPod(pod);
  const fresh = newPod(plan, now);
  const sandbox = newestReady(inventory.sandboxes);
  const found = newestAttempts(inventory.containers);
  const ending = endingOf(pod, now);
  const hasBegunMain = plan.containers.some(
    ({ name, role }) => role === "main" && sandbox !== undefined && found.get(name)?.container.sandboxId === sandbox.id,
  );
  const containers = plan.containers.map((planned): [string, ContainerRecord] => [
    planned.name,
    adoptContainer({ plan, planned, now, sandbox, hasBegunMain, isEnding: ending !== undefined }, found.get(planned.name)),
  ]);
  return {
    ...fresh,
    stage: sandbox ? { kind: "up", sandboxId: sandbox.id, ips: sandbox.ips } : fresh.stage,
    sandboxAttempt: Math.max(-1, ...inventory.sandboxes.map(({ labels }) => tryAttempt(labels) ?? -1)),
    containers: new Map(containers),
    ending,
    isDeleted: pod.metadata?.deletionTimestamp !== undefined,
    activeSinceMs: monotonicOf(pod.status?.startTime, now) ?? now.monotonicMs,
  };
}

interface AdoptContext {
  readonly plan: PodPlan;
  readonly planned: PlannedContainer;
  readonly now: Instant;
  readonly sandbox: RuntimeSandbox | undefined;
  /** Whether a main container was begun in the sandbox, so that all before it must be through. */
  readonly hasBegunMain: boolean;
  readonly isEnding: boolean;
}

function adoptContainer(context: AdoptContext, found: Found | undefined): ContainerRecord {
  const { plan, planned, hasBegunMain } = context;
  const stored = storedStatus(plan.pod, planned.name);
  const isInit = planned.role === "init" || planned.role === "sidecar";
  const isInitialized = isInit && hasBegunMain;
  const hasRun = stored?.state?.running ?? stored?.state?.terminated ?? stored?.lastState?.terminated;
  const storedAttempt = hasRun ? (stored?.restartCount ?? 0) : -1;
  const blank = { ...newContainer, isInitialized, attempt: storedAttempt };
  if (found) return adoptFound(blank, found, { ...context, stored });
  const heard = heardEnd(stored, context.now);
  if (planned.role === "init" && isInitialized) return { ...blank, life: { kind: "ended" }, lastTermination: heard };
  // What the API server heard of, and the runtime does not hold, has ended: a pod that never restarts must not run twice.
  return heard ? againAfter(blank, heard, context) : blank;
}

function adoptFound(
  blank: ContainerRecord,
  { identity, container }: Found,
  context: AdoptContext & { readonly stored: DeepReadonly<ContainerStatus> | undefined },
): ContainerRecord {
  const { sandbox, now } = context;
  const { id, state } = container;
  const record: ContainerRecord = {
    ...blank,
    attempt: Math.max(blank.attempt, identity.attempt),
    specHash: identity.specHash,
    image: { name: container.image, id: container.imageId },
  };
  const isHere = sandbox !== undefined && container.sandboxId === sandbox.id;
  switch (state.kind) {
    case "running":
      if (isHere) return adoptRunning(record, { id, startedAtMs: state.startedAtMs }, context);
      return againAfter(record, lostTermination({ id, startedAtMs: state.startedAtMs }, now.wallMs), context);
    case "created":
      // Made but not started: the next try finds it again, in this sandbox.
      return isHere ? { ...record, attempt: identity.attempt - 1 } : record;
    case "exited":
      return isHere ? afterEnd(record, toTermination(state, id), context).state : againAfter(record, toTermination(state, id), context);
    default:
      state satisfies never;
      return record;
  }
}

/** A container that has ended with its sandbox: what has to come before the others runs again. */
function againAfter(record: ContainerRecord, termination: Termination, context: AdoptContext): ContainerRecord {
  const ended = afterEnd(record, termination, context).state;
  const runsAgain = ended.isInitialized && !context.isEnding;
  return runsAgain ? { ...ended, isInitialized: false, life: { kind: "idle" } } : ended;
}

/** How a container ended by what the API server heard; one that ran was lost. */
function heardEnd(stored: DeepReadonly<ContainerStatus> | undefined, now: Instant): Termination | undefined {
  const id = stored?.containerID?.replace(/^.*:\/\//, "") ?? "";
  const { running, terminated } = stored?.state ?? {};
  if (running) return lostTermination({ id, startedAtMs: timeOf(running.startedAt) ?? now.wallMs }, now.wallMs);
  if (!terminated) return undefined;
  const { exitCode, reason = "Error", message, startedAt, finishedAt } = terminated;
  return { exitCode, reason, message, startedAtMs: timeOf(startedAt), finishedAtMs: timeOf(finishedAt) ?? now.wallMs, id };
}

function timeOf(time: string | undefined): number | undefined {
  const wallMs = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(wallMs) ? undefined : wallMs;
}

function adoptRunning(
  record: ContainerRecord,
  instance: { readonly id: string; readonly startedAtMs: number },
  { planned, stored }: { readonly planned: PlannedContainer; readonly stored: DeepReadonly<ContainerStatus> | undefined },
): ContainerRecord {
  const isSame = stored?.containerID?.endsWith(`://${instance.id}`) ?? false;
  const isStarted = planned.container.startupProbe === undefined || (isSame && stored?.started === true);
  const isReady = isStarted && (planned.container.readinessProbe === undefined || (isSame && stored?.ready === true));
  const life: ContainerLife = { kind: "running", instance, isStarted, isReady };
  return { ...record, life, isInitialized: record.isInitialized || (planned.role === "sidecar" && isStarted) };
}

function newestReady(sandboxes: readonly RuntimeSandbox[]): RuntimeSandbox | undefined {
  return sandboxes.filter(({ isReady }) => isReady).sort((a, b) => (tryAttempt(b.labels) ?? -1) - (tryAttempt(a.labels) ?? -1))[0];
}

function newestAttempts(containers: readonly RuntimeContainer[]): ReadonlyMap<string, Found> {
  const newest = new Map<string, Found>();
  for (const container of containers) {
    const identity = tryContainerIdentity(container.labels);
    if (!identity) continue;
    const held = newest.get(identity.container);
    if (!held || held.identity.attempt < identity.attempt) newest.set(identity.container, { identity, container });
  }
  return newest;
}

/** An ending that was under way: the deletion's time stamp is when its grace is over. */
function endingOf(pod: DeepReadonly<Pod>, now: Instant): PodEnding | undefined {
  const deadlineMs = monotonicOf(pod.metadata?.deletionTimestamp, now);
  if (deadlineMs !== undefined) return { why: "deleted", deadlineMs };
  const { phase, reason, message } = pod.status ?? {};
  if (phase === "Failed") return { why: "failed", deadlineMs: now.monotonicMs, reason, message };
  return phase === "Succeeded" ? { why: "finished", deadlineMs: now.monotonicMs } : undefined;
}

function monotonicOf(time: string | undefined, now: Instant): number | undefined {
  const wallMs = timeOf(time);
  return wallMs === undefined ? undefined : now.monotonicMs + wallMs - now.wallMs;
}

function storedStatus({ status }: DeepReadonly<Pod>, name: string): DeepReadonly<ContainerStatus> | undefined {
  const lists = [status?.initContainerStatuses, status?.containerStatuses, status?.ephemeralContainerStatuses];
  return lists.flatMap((list) => list ?? []).find((entry) => entry.name === name);
}
