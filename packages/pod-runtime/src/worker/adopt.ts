import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { newContainer, type ContainerLife, type ContainerRecord, type Termination } from "../pod/container-life.ts";
import { afterEnd } from "../pod/container-step.ts";
import type { Instant } from "../pod/instant.ts";
import { desiredPodOf, type DesiredContainer, type DesiredPod } from "../pod/desired-pod.ts";
import type { PodEnding, PodState } from "../pod/pod-state.ts";
import { newPod } from "../pod/pod-step.ts";
import { withPodLimits, type Resources } from "../pod/resources.ts";
import { lostTermination, toTermination } from "../pod/termination.ts";
import type { RuntimeContainer, RuntimeExit, RuntimeInventory, RuntimeSandbox } from "../runtime/container-runtime.ts";
import { readOrigin, tryAttempt, tryContainerIdentity, type ContainerIdentity } from "../runtime/labels.ts";

/** An attempt of a container at the runtime. */
interface Found {
  readonly identity: ContainerIdentity;
  readonly container: RuntimeContainer;
  /** The newest earlier attempt that has ended. */
  readonly before?: Found | undefined;
}

/** What is known of a pod that is adopted, besides its spec. */
export interface Adoption {
  /** The pod's objects at the runtime. */
  readonly inventory: RuntimeInventory;
  /** Termination messages by container id; see {@link endedUnheard}. */
  readonly messages?: ReadonlyMap<string, string> | undefined;
}

/**
 * State of a pod that an earlier program has started, from its objects at the runtime and the last status at the API server. Running
 * containers are not disturbed; containers that do not exist are started again.
 */
export function adoptPod(pod: DeepReadonly<Pod>, { inventory, messages = new Map() }: Adoption, now: Instant): PodState {
  const desiredPod = desiredPodOf(pod);
  const fresh = newPod(desiredPod, now);
  const sandbox = newestReady(inventory);
  const found = newestAttempts(inventory.containers);
  const ending = endingOf(pod, now);
  const hasBegunMain = desiredPod.containers.some(
    ({ name, role }) => role === "main" && sandbox !== undefined && found.get(name)?.container.sandboxId === sandbox.id,
  );
  const adopt = (desired: DesiredContainer, isThrough: boolean): ContainerRecord =>
    adoptContainer(
      { desiredPod, desired, now, messages, sandbox, hasBegunMain: hasBegunMain || isThrough, isEnding: isThrough || ending !== undefined },
      found.get(desired.name),
    );
  const mains = desiredPod.containers.filter(({ role }) => role === "main");
  // A pod whose main containers have all ended for good does not need its sandbox and its init containers any more.
  const isThrough = mains.every((desired) => adopt(desired, false).life.kind === "ended");
  const containers = desiredPod.containers.map((desired): [string, ContainerRecord] => [desired.name, adopt(desired, isThrough)]);
  return {
    ...fresh,
    stage: sandbox ? { kind: "up", sandboxId: sandbox.id, ips: sandbox.ips } : fresh.stage,
    sandboxAttempt: Math.max(-1, ...inventory.sandboxes.map(({ labels }) => tryAttempt(labels) ?? -1)),
    deadSandboxes: sandbox ? [] : sandboxIds(inventory),
    containers: new Map(containers),
    whole: { resources: heardWhole(pod) ?? desiredPod.whole, isSure: false },
    ending,
    isDeleted: pod.metadata?.deletionTimestamp !== undefined,
    activeSinceMs: monotonicOf(pod.status?.startTime, now) ?? now.monotonicMs,
  };
}

/** A container that has ended. */
export interface EndedUnheard extends ContainerIdentity {
  readonly id: string;
  readonly exit: RuntimeExit;
}

/** Containers whose end the API server does not know yet. Their termination messages have to be read. */
export function endedUnheard(pod: DeepReadonly<Pod>, { containers }: RuntimeInventory): readonly EndedUnheard[] {
  return [...newestAttempts(containers).values()].flatMap(({ identity, container: { id, state } }) => {
    const isHeard = storedStatus(pod, identity.container)?.state?.terminated?.containerID?.endsWith(`://${id}`) ?? false;
    return state.kind === "exited" && !isHeard ? [{ ...identity, id, exit: state }] : [];
  });
}

/** Ids of all sandboxes that still exist, or that still have containers. */
function sandboxIds({ sandboxes, containers }: RuntimeInventory): readonly string[] {
  return [...new Set([...sandboxes.map(({ id }) => id), ...containers.map(({ sandboxId }) => sandboxId)])];
}

interface AdoptContext {
  readonly desiredPod: DesiredPod;
  readonly desired: DesiredContainer;
  readonly now: Instant;
  readonly sandbox: RuntimeSandbox | undefined;
  /** Whether a main container has started in the sandbox, or all main containers have ended. Init containers must have succeeded then. */
  readonly hasBegunMain: boolean;
  readonly isEnding: boolean;
  readonly messages: ReadonlyMap<string, string>;
}

function adoptContainer(context: AdoptContext, found: Found | undefined): ContainerRecord {
  const { desiredPod, desired, hasBegunMain } = context;
  const stored = storedStatus(desiredPod.pod, desired.name);
  const isInit = desired.role === "init" || desired.role === "sidecar";
  const isInitialized = isInit && hasBegunMain;
  const hasRun = stored?.state?.running ?? stored?.state?.terminated ?? stored?.lastState?.terminated;
  const storedAttempt = hasRun ? (stored?.restartCount ?? 0) : -1;
  const blank = { ...newContainer, isInitialized, attempt: storedAttempt };
  if (found) return adoptFound(blank, found, { ...context, stored });
  const heard = heardEnd(stored, context.now);
  if (desired.role === "init" && isInitialized) return { ...blank, life: { kind: "ended" }, lastTermination: heard };
  // A container that is in the stored status, but not at the runtime, has ended. A pod that never restarts must not run twice.
  return heard ? againAfter(blank, heard, context) : blank;
}

function adoptFound(
  blank: ContainerRecord,
  { identity, container, before }: Found,
  context: AdoptContext & { readonly stored: DeepReadonly<ContainerStatus> | undefined },
): ContainerRecord {
  const { desiredPod, sandbox, now, stored } = context;
  const { id, state } = container;
  const resources = knownResources(container, stored);
  const termination = (exit: RuntimeExit): Termination => {
    const heard = stored?.state?.terminated;
    const isSame = heard?.containerID?.endsWith(`://${id}`) ?? false;
    const read = toTermination(exit, id, context.messages.get(id));
    return isSame ? { ...read, message: heard?.message } : read;
  };
  const record: ContainerRecord = {
    ...blank,
    attempt: Math.max(blank.attempt, identity.attempt),
    specHash: identity.specHash,
    image: { name: readOrigin(container.labels).image || container.image, id: container.imageId },
    user: container.user,
    resources,
    effective: withPodLimits(resources, (heardWhole(desiredPod.pod) ?? desiredPod.pod.spec?.resources)?.limits),
    lastTermination: before && endOf(before, stored),
  };
  const isHere = sandbox !== undefined && container.sandboxId === sandbox.id;
  switch (state.kind) {
    case "running":
      if (isHere) return adoptRunning(record, { id, startedAtMs: state.startedAtMs }, context);
      return againAfter(record, lostTermination({ id, startedAtMs: state.startedAtMs }, now.wallMs), context);
    case "created":
      // Created but not started: the next try finds it in this sandbox. In another sandbox it is removed first.
      return isHere
        ? { ...record, attempt: identity.attempt - 1 }
        : { ...record, attempt: Math.max(blank.attempt, identity.attempt - 1), unbegun: identity.attempt };
    case "exited":
      return isHere ? afterEnd(record, termination(state), context).state : againAfter(record, termination(state), context);
    default:
      state satisfies never;
      return record;
  }
}

/** End of an attempt before the newest. */
function endOf({ container: { id, state } }: Found, stored: DeepReadonly<ContainerStatus> | undefined): Termination | undefined {
  const heard = [stored?.state?.terminated, stored?.lastState?.terminated].find((known) => known?.containerID?.endsWith(`://${id}`));
  return state.kind === "exited" ? { ...toTermination(state, id), ...(heard?.message ? { message: heard.message } : {}) } : undefined;
}

/** Resources from the stored status, else those of its creation. */
function knownResources({ id, labels }: RuntimeContainer, stored: DeepReadonly<ContainerStatus> | undefined): ContainerRecord["resources"] {
  const isSame = stored?.containerID?.endsWith(`://${id}`) ?? false;
  return (isSame ? stored?.resources : undefined) ?? readOrigin(labels).resources;
}

/** The pod-level resources of the stored status, for a pod that has some. */
function heardWhole({ spec, status }: DeepReadonly<Pod>): Resources | undefined {
  return spec?.resources ? status?.resources : undefined;
}

/** State of a container that has ended with its sandbox. Init containers run again. */
function againAfter(record: ContainerRecord, termination: Termination, context: AdoptContext): ContainerRecord {
  const ended = afterEnd(record, termination, context).state;
  const runsAgain = ended.isInitialized && !context.isEnding;
  return runsAgain ? { ...ended, isInitialized: false, life: { kind: "idle" } } : ended;
}

/** End of a container according to the stored status. A container that ran is lost. */
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
  { desired, stored }: { readonly desired: DesiredContainer; readonly stored: DeepReadonly<ContainerStatus> | undefined },
): ContainerRecord {
  const isSame = stored?.containerID?.endsWith(`://${instance.id}`) ?? false;
  const isStarted = desired.container.startupProbe === undefined || (isSame && stored?.started === true);
  const isReady = isStarted && (desired.container.readinessProbe === undefined || (isSame && stored?.ready === true));
  const life: ContainerLife = { kind: "running", instance, isStarted, isReady };
  return { ...record, life, isInitialized: record.isInitialized || (desired.role === "sidecar" && isStarted) };
}

/** The newest ready sandbox. Of two with the same attempt, after a call with an unclear outcome, the one that has containers. */
function newestReady({ sandboxes, containers }: RuntimeInventory): RuntimeSandbox | undefined {
  const used = ({ id }: RuntimeSandbox): number => containers.filter(({ sandboxId }) => sandboxId === id).length;
  const ready = sandboxes.filter(({ isReady }) => isReady);
  return ready.sort((a, b) => (tryAttempt(b.labels) ?? -1) - (tryAttempt(a.labels) ?? -1) || used(b) - used(a))[0];
}

function newestAttempts(containers: readonly RuntimeContainer[]): ReadonlyMap<string, Found> {
  const newest = new Map<string, Found>();
  const attempts = containers.flatMap((container): Found[] => {
    const identity = tryContainerIdentity(container.labels);
    return identity ? [{ identity, container }] : [];
  });
  for (const found of attempts.sort((a, b) => a.identity.attempt - b.identity.attempt)) {
    const before = newest.get(found.identity.container);
    const isEnd = before?.container.state.kind === "exited";
    newest.set(found.identity.container, { ...found, before: isEnd ? { ...before, before: undefined } : undefined });
  }
  return newest;
}

/** An ending in progress. The deletion's time stamp is the end of the grace period. */
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
