import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isDeepStrictEqual } from "node:util";
import type { Container, Instant } from "../container/container-state.ts";
import { adoptContainer } from "../container/adopt-container.ts";
import { dueMs, replaceContainer, startContainer, stepContainer, stopContainer } from "../container/container-step.ts";
import { plainContainer, plainInitContainer, type ContainerRole, type ContainerScript, type PodScript } from "../script/script.ts";

/** State of a simulated pod. */
export interface PodModel {
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** Init containers and sidecars in order, then app containers, then ephemeral ones. */
  readonly containers: readonly Container[];
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

/** State of a new pod after all immediate changes. */
export function newPodModel(pod: DeepReadonly<Pod>, script: PodScript, now: Instant): PodModel {
  const restartPolicy = restartPolicyOf(pod);
  return settle({ restartPolicy, containers: declare(pod, restartPolicy, script) }, now);
}

/**
 * State of a pod that runs according to its status at the API server, after all changes that were due meanwhile.
 *
 * @param wallMs - the wall-clock time of `now`, in milliseconds since the epoch
 * @returns `undefined` if no container of the pod has run at a mock provider
 */
export function adoptedPodModel(pod: DeepReadonly<Pod>, script: PodScript, now: Instant, wallMs: number): PodModel | undefined {
  const { status } = pod;
  const lists = [status?.initContainerStatuses, status?.containerStatuses, status?.ephemeralContainerStatuses];
  const ownId = `mock://${pod.metadata?.uid}/`;
  const found = lists.flatMap((list) => list ?? []).filter(({ containerID }) => containerID?.startsWith(ownId));
  if (found.length === 0) return undefined;
  const byName = new Map(found.map((each) => [each.name, each]));
  const restartPolicy = restartPolicyOf(pod);
  const containers = declare(pod, restartPolicy, script).map((container) => {
    const known = byName.get(container.name);
    return known ? adoptContainer(container, known, now, wallMs) : container;
  });
  return settle({ restartPolicy, containers }, now);
}

/** Time of the pod's next change, in monotonic milliseconds; `undefined` if none is due. */
export function podDueMs({ containers }: PodModel): number | undefined {
  let first: number | undefined;
  for (const container of containers) {
    const due = dueMs(container);
    if (due !== undefined && (first === undefined || due < first)) first = due;
  }
  return first;
}

/** The pod after all changes that are due. */
export function settle(pod: PodModel, now: Instant): PodModel {
  let { containers } = pod;
  for (;;) {
    const next = endSidecars(startNext(stepDue(containers, now), now), now);
    if (next === containers) return containers === pod.containers ? pod : { ...pod, containers };
    containers = next;
  }
}

/** The pod with all containers stopping by `deadlineMs`. */
export function stopPod(pod: PodModel, deadlineMs: number, now: Instant): PodModel {
  return { ...pod, containers: pod.containers.map((container) => stopContainer(container, deadlineMs, now)) };
}

/** Whether every container has ended for good. */
export function hasEnded({ containers }: PodModel): boolean {
  return containers.every(({ state }) => state.kind === "exited");
}

/**
 * The pod after an update of its object: new ephemeral containers start, containers with changed images restart, and changed scripts apply.
 */
export function updatePodModel(model: PodModel, pod: DeepReadonly<Pod>, script: PodScript, now: Instant): PodModel {
  const known = new Map(model.containers.map((container) => [container.name, container]));
  const containers = declare(pod, model.restartPolicy, script).map((declared) => {
    const current = known.get(declared.name);
    if (!current) return declared;
    if (current.image === declared.image && isDeepStrictEqual(current.script, declared.script)) return current;
    const changed = { ...current, image: declared.image, script: declared.script };
    if (current.state.kind === "exited" || current.state.kind === "blocked") return changed;
    if (current.image !== declared.image) return replaceContainer(changed, now);
    const failedBefore = current.script.fail !== undefined && current.state.kind !== "running";
    return failedBefore && declared.script.fail !== current.script.fail ? startContainer(changed, now) : changed;
  });
  const isSame =
    containers.length === model.containers.length && containers.every((container, index) => container === model.containers[index]);
  return settle(isSame ? model : { ...model, containers }, now);
}

/** Source: kubernetes v1.36 pkg/kubelet/kubelet_pods.go, getPhase. */
export function phaseOf({ containers }: PodModel): PodPhase {
  const inits = containers.filter(({ role }) => role === "init");
  if (inits.some(({ state }) => state.kind === "exited" && state.run.exitCode !== 0)) return "Failed";
  if (containers.some(({ role, state }) => role === "init" && state.kind !== "exited")) return "Pending";

  const apps = containers.filter(({ role }) => role === "app");
  if (apps.some(({ state, lastRun }) => isWaiting(state.kind) && !lastRun)) return "Pending";
  if (apps.some(({ state }) => state.kind !== "exited")) return "Running";
  return apps.some(({ state }) => state.kind === "exited" && state.run.exitCode !== 0) ? "Failed" : "Succeeded";
}

function restartPolicyOf({ spec }: DeepReadonly<Pod>): PodModel["restartPolicy"] {
  return spec?.restartPolicy === "OnFailure" || spec?.restartPolicy === "Never" ? spec.restartPolicy : "Always";
}

function isWaiting(kind: Container["state"]["kind"]): boolean {
  return kind !== "running" && kind !== "exited";
}

function declare({ spec }: DeepReadonly<Pod>, restartPolicy: PodModel["restartPolicy"], script: PodScript): Container[] {
  const containers: Container[] = [];
  const add = (
    name: string,
    image: string | undefined,
    role: ContainerRole,
    restarts: PodModel["restartPolicy"],
    fallback: ContainerScript,
  ): void => {
    const own = script.containers.get(name) ?? fallback;
    containers.push({
      name,
      image: image ?? "",
      role,
      restarts,
      script: own,
      state: blocked,
      restartCount: 0,
      lastRun: undefined,
      backOff: undefined,
    });
  };
  for (const { name, image, restartPolicy: own } of spec?.initContainers ?? []) {
    if (own === "Always") add(name, image, "sidecar", "Always", plainContainer);
    else add(name, image, "init", restartPolicy === "Never" ? "Never" : "OnFailure", plainInitContainer);
  }
  for (const { name, image } of spec?.containers ?? []) add(name, image, "app", restartPolicy, script.container);
  for (const { name, image } of spec?.ephemeralContainers ?? []) add(name, image, "ephemeral", "Never", plainContainer);
  return containers;
}

const blocked: Container["state"] = { kind: "blocked" };

function stepDue(containers: readonly Container[], now: Instant): readonly Container[] {
  return mapChanged(containers, (container) => {
    const due = dueMs(container);
    return due !== undefined && due <= now.ms ? stepContainer(container, now) : container;
  });
}

/** Starts blocked containers whose turn it is: init containers one after another, then all others. */
function startNext(containers: readonly Container[], now: Instant): readonly Container[] {
  const waitsFor = containers.find(({ role, state }) => (role === "init" || role === "sidecar") && !hasPassed(role, state));
  if (waitsFor)
    return waitsFor.state.kind === "blocked"
      ? mapChanged(containers, (container) => (container === waitsFor ? startContainer(container, now) : container))
      : containers;
  return mapChanged(containers, (container) => (container.state.kind === "blocked" ? startContainer(container, now) : container));
}

/** Whether the next container may start. */
function hasPassed(role: ContainerRole, state: Container["state"]): boolean {
  if (role === "sidecar") return state.kind !== "blocked" && state.kind !== "creating";
  return state.kind === "exited" && state.run.exitCode === 0;
}

/** Ends sidecars after the last app container has ended for good, or an init container has failed for good. */
function endSidecars(containers: readonly Container[], now: Instant): readonly Container[] {
  if (!containers.some(({ role, state }) => role === "sidecar" && state.kind !== "exited")) return containers;
  const initFailed = containers.some(({ role, state }) => role === "init" && state.kind === "exited" && state.run.exitCode !== 0);
  const appsEnded = containers.every(({ role, state }) => role !== "app" || state.kind === "exited");
  if (!initFailed && !appsEnded) return containers;
  return mapChanged(containers, (container) => (container.role === "sidecar" ? stopContainer(container, now.ms, now) : container));
}

/** Like `map`, but returns the same list if nothing changed. */
function mapChanged(containers: readonly Container[], change: (container: Container) => Container): readonly Container[] {
  let changed = false;
  const next = containers.map((container) => {
    const after = change(container);
    changed ||= after !== container;
    return after;
  });
  return changed ? next : containers;
}
