import type { ContainerStatus, DeepReadonly, Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import { isIP } from "node:net";

type Status = DeepReadonly<ContainerStatus>;

const phases: readonly unknown[] = [undefined, "Pending", "Running", "Succeeded", "Failed"];
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** Whether the value is a time in the API's format. */
export function isTime(value: unknown): boolean {
  return typeof value === "string" && rfc3339.test(value) && !Number.isNaN(Date.parse(value));
}

/**
 * Problems in a pod's status, one line each; empty if a kubelet could have written it.
 *
 * Source: kubernetes v1.36 pkg/kubelet/kubelet_pods.go (convertStatusToAPIStatus, getPhase), pkg/apis/core/validation.
 */
export function statusProblems({ spec }: DeepReadonly<Pod>, status: ProviderPodStatus): string[] {
  return [
    ...phaseProblems(status),
    ...listProblems("containerStatuses", spec?.containers, status.containerStatuses),
    ...readyProblems(status),
    ...listProblems("initContainerStatuses", spec?.initContainers, status.initContainerStatuses),
    ...addressProblems(status),
  ];
}

/** Problems in the transition from one status of a pod to the next. */
export function transitionProblems(before: ProviderPodStatus, after: ProviderPodStatus): string[] {
  const problems: string[] = [];
  if ((before.phase === "Succeeded" || before.phase === "Failed") && after.phase !== before.phase)
    problems.push(`phase went from ${before.phase} to ${after.phase}: a pod that has ended stays as it ended`);
  if (before.phase === "Running" && after.phase === "Pending") problems.push("phase went from Running to Pending");
  const now = new Map(containersOf(after).map((each) => [each.name, each]));
  for (const was of containersOf(before)) {
    const is = now.get(was.name);
    if (is) problems.push(...runProblems(was, is).map((problem) => `container ${was.name}: ${problem}`));
  }
  return problems;
}

function containersOf({ containerStatuses = [], initContainerStatuses = [] }: ProviderPodStatus): readonly Status[] {
  return [...containerStatuses, ...initContainerStatuses];
}

function phaseProblems({ phase, containerStatuses = [] }: ProviderPodStatus): string[] {
  const states = containerStatuses.map(({ state }) => state);
  switch (phase) {
    case "Succeeded":
    case "Failed":
      if (states.some((state) => state?.running)) return [`phase is ${phase} while a container runs`];
      return phase === "Succeeded" && states.some((state) => (state?.terminated?.exitCode ?? 0) !== 0)
        ? ["phase is Succeeded though a container failed"]
        : [];
    case "Running":
      return states.length > 0 && containerStatuses.every(({ state, lastState }) => state?.waiting && !lastState?.terminated)
        ? ["phase is Running though no container has ever run"]
        : [];
    default:
      return phases.includes(phase) ? [] : [`phase is ${String(phase)}, expected Pending, Running, Succeeded or Failed`];
  }
}

/** An init container is ready after success; any other container is ready only while it runs. */
function readyProblems({ containerStatuses = [], initContainerStatuses = [] }: ProviderPodStatus): string[] {
  const ended = containerStatuses.filter(({ ready, state }) => ready && state?.terminated);
  const failed = initContainerStatuses.filter(({ ready, state }) => ready && (state?.terminated?.exitCode ?? 0) !== 0);
  return [
    ...ended.map(({ name }) => `containerStatuses of ${name}: is ready though it has ended`),
    ...failed.map(({ name }) => `initContainerStatuses of ${name}: is ready though it has failed`),
  ];
}

function listProblems(list: string, containers: readonly { readonly name: string }[] = [], statuses: readonly Status[] = []): string[] {
  const wanted = containers.map(({ name }) => name).toSorted();
  const given = statuses.map(({ name }) => name).toSorted();
  return [
    ...(wanted.join() === given.join() ? [] : [`${list} are of [${given.join(" ")}], expected one for each of [${wanted.join(" ")}]`]),
    ...statuses.flatMap((each) => containerProblems(each).map((problem) => `${list} of ${each.name}: ${problem}`)),
  ];
}

function addressProblems({ podIP, podIPs = [] }: ProviderPodStatus): string[] {
  const wrong = [...(podIP === undefined ? [] : [podIP]), ...podIPs.map(({ ip }) => ip)].filter((ip) => isIP(ip) === 0);
  return [
    ...wrong.map((ip) => `${JSON.stringify(ip)} is no IP address`),
    ...(podIPs.length > 0 && podIP !== podIPs[0]?.ip ? [`podIP is ${podIP}, and not the first of podIPs`] : []),
  ];
}

function containerProblems(status: Status): string[] {
  const { state, ready, restartCount, image, imageID } = status;
  const { waiting, running, terminated } = state ?? {};
  const kinds = [waiting, running, terminated].filter((each) => each !== undefined && each !== null);
  return [
    ...(kinds.length === 1 ? [] : [`has ${kinds.length} states, expected one of waiting, running and terminated`]),
    ...(typeof ready === "boolean" ? [] : [`ready is ${JSON.stringify(ready)}, expected true or false`]),
    ...(typeof image === "string" && typeof imageID === "string" ? [] : ["image and imageID must be strings"]),
    ...(Number.isInteger(restartCount) && restartCount >= 0 ? [] : [`restartCount is ${String(restartCount)}, expected a count`]),
    ...(waiting ? waitingProblems(status, waiting) : []),
    ...(running && !isTime(running.startedAt) ? [`startedAt is ${String(running.startedAt)}, expected a time of RFC 3339`] : []),
    ...(terminated ? endProblems(terminated) : []),
  ];
}

function waitingProblems({ ready, started }: Status, { reason }: { readonly reason?: string | undefined }): string[] {
  return [
    ...(ready ? ["is ready while it waits"] : []),
    ...(started === true ? ["has started while it waits"] : []),
    ...(reason ? [] : ["waits without a reason"]),
  ];
}

function endProblems({ exitCode, startedAt, finishedAt }: NonNullable<NonNullable<Status["state"]>["terminated"]>): string[] {
  const order = Date.parse(String(finishedAt)) < Date.parse(String(startedAt));
  return [
    ...(Number.isInteger(exitCode) && exitCode >= 0 && exitCode <= 255 ? [] : [`exitCode is ${String(exitCode)}, expected 0 to 255`]),
    ...(isTime(finishedAt) ? [] : [`finishedAt is ${String(finishedAt)}, expected a time of RFC 3339`]),
    ...(startedAt === undefined || isTime(startedAt) ? [] : [`startedAt is ${startedAt}, expected a time of RFC 3339`]),
    ...(order ? [`finishedAt ${String(finishedAt)} is before startedAt ${String(startedAt)}`] : []),
  ];
}

/** Problems in a container's transition from one state to another. */
function runProblems(was: Status, is: Status): string[] {
  if (is.restartCount < was.restartCount) return [`restartCount fell from ${was.restartCount} to ${is.restartCount}`];
  if (is.restartCount > was.restartCount) return [];
  if (was.state?.terminated && is.state?.running) return ["runs again with the same restartCount"];
  if (!was.state?.running) return [];
  if (is.state?.waiting && !is.lastState?.terminated) return ["waits after it ran, and lastState does not say how it ended"];
  if (!is.state?.running) return [];
  const [before, after] = [was.state.running.startedAt, is.state.running.startedAt];
  return [
    ...(before === after ? [] : [`startedAt changed from ${before} to ${after} during one run`]),
    ...(was.containerID && is.containerID && was.containerID !== is.containerID
      ? [`containerID changed from ${was.containerID} to ${is.containerID} during one run`]
      : []),
  ];
}
