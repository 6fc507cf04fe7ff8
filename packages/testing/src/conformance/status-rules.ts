import type { ContainerStatus, DeepReadonly, Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import { isIP } from "node:net";

const phases: readonly unknown[] = [undefined, "Pending", "Running", "Succeeded", "Failed"];
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/**
 * What is wrong with a pod's status, each a line; nothing if it could be a kubelet's.
 *
 * Source: kubernetes v1.36 pkg/kubelet/kubelet_pods.go (convertStatusToAPIStatus, getPhase), pkg/apis/core/validation.
 */
export function statusProblems({ spec }: DeepReadonly<Pod>, status: ProviderPodStatus): string[] {
  const problems: string[] = [];
  const { phase, podIP, podIPs } = status;
  if (!phases.includes(phase)) problems.push(`phase is ${String(phase)}, expected Pending, Running, Succeeded or Failed`);
  const lists = [
    ["containerStatuses", spec?.containers, status.containerStatuses],
    ["initContainerStatuses", spec?.initContainers, status.initContainerStatuses],
  ] as const;
  for (const [list, containers = [], statuses = []] of lists) {
    const wanted = containers.map(({ name }) => name).toSorted();
    const given = statuses.map(({ name }) => name).toSorted();
    if (wanted.join() !== given.join())
      problems.push(`${list} are of [${given.join(" ")}], expected one for each of [${wanted.join(" ")}]`);
    for (const each of statuses) problems.push(...containerProblems(each).map((problem) => `${list} of ${each.name}: ${problem}`));
  }
  const mains = status.containerStatuses ?? [];
  if ((phase === "Succeeded" || phase === "Failed") && mains.some(({ state }) => state?.running !== undefined))
    problems.push(`phase is ${phase} while a container runs`);
  if (phase === "Succeeded" && mains.some(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0))
    problems.push("phase is Succeeded though a container failed");
  if (
    phase === "Running" &&
    mains.length > 0 &&
    mains.every(({ state, lastState }) => state?.waiting !== undefined && !lastState?.terminated)
  )
    problems.push("phase is Running though no container has ever run");
  if (podIP !== undefined && isIP(podIP) === 0) problems.push(`podIP is ${JSON.stringify(podIP)}, expected an IP address`);
  for (const { ip } of podIPs ?? []) if (isIP(ip) === 0) problems.push(`podIPs holds ${JSON.stringify(ip)}, expected an IP address`);
  if (podIPs !== undefined && podIPs.length > 0 && podIP !== podIPs[0]?.ip) problems.push(`podIP is ${podIP}, and not the first of podIPs`);
  return problems;
}

/** What is wrong with going from one status of a pod to the next. */
export function transitionProblems(before: ProviderPodStatus, after: ProviderPodStatus): string[] {
  const problems: string[] = [];
  if ((before.phase === "Succeeded" || before.phase === "Failed") && after.phase !== before.phase)
    problems.push(`phase went from ${before.phase} to ${after.phase}: a pod that has ended stays as it ended`);
  if (before.phase === "Running" && after.phase === "Pending") problems.push("phase went from Running to Pending");
  for (const was of [...(before.containerStatuses ?? []), ...(before.initContainerStatuses ?? [])]) {
    const is = [...(after.containerStatuses ?? []), ...(after.initContainerStatuses ?? [])].find(({ name }) => name === was.name);
    if (!is) continue;
    const say = (problem: string): void => void problems.push(`container ${was.name}: ${problem}`);
    if (is.restartCount < was.restartCount) say(`restartCount fell from ${was.restartCount} to ${is.restartCount}`);
    if (is.restartCount !== was.restartCount) continue;
    if (was.state?.terminated && is.state?.running) say("runs again with the same restartCount");
    if (was.state?.running && is.state?.waiting) say("waits after it ran, with the same restartCount");
    if (was.state?.running && is.state?.running && was.state.running.startedAt !== is.state.running.startedAt)
      say(`startedAt changed from ${was.state.running.startedAt} to ${is.state.running.startedAt} during one run`);
    if (was.containerID && is.containerID && was.state?.running && is.state?.running && was.containerID !== is.containerID)
      say(`containerID changed from ${was.containerID} to ${is.containerID} during one run`);
  }
  return problems;
}

function containerProblems(status: DeepReadonly<ContainerStatus>): string[] {
  const problems: string[] = [];
  const { state, ready, started, restartCount, image, imageID } = status;
  const { waiting, running, terminated } = state ?? {};
  const kinds = [waiting, running, terminated].filter((each) => each !== undefined && each !== null);
  if (kinds.length !== 1) problems.push(`has ${kinds.length} states, expected one of waiting, running and terminated`);
  if (typeof ready !== "boolean") problems.push(`ready is ${JSON.stringify(ready)}, expected true or false`);
  if (typeof image !== "string" || typeof imageID !== "string") problems.push("image and imageID must be strings");
  if (!Number.isInteger(restartCount) || restartCount < 0) problems.push(`restartCount is ${String(restartCount)}, expected a count`);
  if (waiting && ready) problems.push("is ready while it waits");
  if (waiting && !waiting.reason) problems.push("waits without a reason");
  if (started === true && waiting) problems.push("has started while it waits");
  if (running && !isTime(running.startedAt)) problems.push(`startedAt is ${String(running.startedAt)}, expected a time of RFC 3339`);
  if (terminated) {
    const { exitCode, startedAt, finishedAt } = terminated;
    if (!Number.isInteger(exitCode) || exitCode < 0 || exitCode > 255) problems.push(`exitCode is ${String(exitCode)}, expected 0 to 255`);
    if (!isTime(finishedAt)) problems.push(`finishedAt is ${String(finishedAt)}, expected a time of RFC 3339`);
    if (startedAt !== undefined && !isTime(startedAt)) problems.push(`startedAt is ${String(startedAt)}, expected a time of RFC 3339`);
    if (isTime(startedAt) && isTime(finishedAt) && Date.parse(String(finishedAt)) < Date.parse(String(startedAt)))
      problems.push(`finishedAt ${String(finishedAt)} is before startedAt ${String(startedAt)}`);
  }
  return problems;
}

/** Whether it is a time as the API takes it. */
export function isTime(value: unknown): boolean {
  return typeof value === "string" && rfc3339.test(value) && !Number.isNaN(Date.parse(value));
}
