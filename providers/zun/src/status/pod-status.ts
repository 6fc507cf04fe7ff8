import { computePhase, type ContainerStatus, type DeepReadonly, type Pod, type ProviderPodStatus } from "@virtual-kubelet/core";
import type { PodLabels } from "../pod/pod-labels.ts";
import { addressesOf, type ObservedMember, type ZunObject } from "./zun-object.ts";
import type { RunRecord } from "./run-record.ts";

/** Condition of a pod whose containers Zun does not look after once they run. */
const refreshedCondition = "ContainerStatusRefreshed";

/**
 * A pod's status, from what Zun said last and what is known of its containers' runs. Probes are not considered.
 *
 * @param recordOf - what is known of the runs of a container, by its name
 * @param isEnding - whether the pod is to end
 */
export function toPodStatus(
  observed: ZunObject,
  {
    recordOf,
    isEnding,
  }: {
    readonly recordOf: (container: string) => RunRecord | undefined;
    readonly isEnding: boolean;
  },
): ProviderPodStatus {
  const { labels, members, initMembers, status, reason } = observed;
  const toStatuses = (names: readonly string[], list: readonly ObservedMember[]): ContainerStatus[] =>
    names.map((name, index) => toContainerStatus(name, list[index] ?? absent(observed), recordOf(name)));
  const containerStatuses = toStatuses(labels.containers, members);
  const initContainerStatuses = toStatuses(labels.initContainers, initMembers);
  const [podIP, ...others] = addressesOf(observed);
  const failed = status === "Error" || status === "Dead";
  return {
    phase: failed ? "Failed" : phaseOf(labels, [...containerStatuses, ...initContainerStatuses], isEnding),
    ...(failed && { reason: "ProviderFailed", message: `Zun: ${reason || `the ${observed.kind} is in ${status}`}` }),
    ...(podIP !== undefined && { podIP, podIPs: [podIP, ...others].map((ip) => ({ ip })) }),
    containerStatuses,
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
    ...(observed.kind === "capsule" && status === "Running" && { conditions: [notRefreshed] }),
  };
}

/** Source: zun 18.0.0 zun/compute/manager.py (`sync_container_state`): capsules are compared with plain containers only. */
const notRefreshed = {
  type: refreshedCondition,
  status: "False",
  reason: "CapsuleMembersNotRefreshed",
  message: "Zun does not look at a capsule's containers again once they run: one that has ended is still said to run",
} as const;

function toContainerStatus(name: string, member: ObservedMember, record: RunRecord | undefined): ContainerStatus {
  const base = {
    name,
    image: member.image,
    imageID: "",
    restartCount: record?.restarts ?? 0,
    ...(member.uuid !== "" && { containerID: containerIdOf(member) }),
    ...(record?.lastEnd && { lastState: { terminated: terminated(record, record.lastEnd) } }),
  };
  const isRunning = member.status === "Running" || member.status === "Paused";
  if (isRunning && record) {
    return { ...base, ready: member.status === "Running", started: true, state: { running: { startedAt: record.startedAt } } };
  }
  if (record?.end && member.status !== "Restarting")
    return { ...base, ready: false, started: false, state: { terminated: terminated(record, record.end) } };
  const lastState = record?.end && { lastState: { terminated: terminated(record, record.end) } };
  return { ...base, ...lastState, ready: false, started: false, state: { waiting: waitingFor(member) } };
}

/** A container's id as its status has it; `undefined` before Zun has made it. */
function containerIdOf({ uuid }: Pick<ObservedMember, "uuid">): string | undefined {
  return uuid === "" ? undefined : `zun://${uuid}`;
}

function terminated(
  record: RunRecord,
  end: NonNullable<RunRecord["end"]>,
): NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]> {
  return {
    exitCode: end.exitCode,
    reason: end.reason,
    ...(end.message !== undefined && { message: end.message }),
    startedAt: record.end === end ? record.startedAt : end.finishedAt,
    finishedAt: end.finishedAt,
  };
}

function waitingFor({ status, taskState }: ObservedMember): { reason: string; message?: string } {
  switch (status) {
    case "Restarting":
      return { reason: "CrashLoopBackOff", message: "Zun starts the container again" };
    case "Rebuilding":
      return { reason: "Rebuilding" };
    case "Creating":
    case "Created":
    case "Pending":
      return taskState === "" ? { reason: "ContainerCreating" } : { reason: "ContainerCreating", message: taskState.replaceAll("_", " ") };
    default:
      return { reason: "ContainerStatusUnknown", message: `Zun says ${status}` };
  }
}

function phaseOf(labels: PodLabels, statuses: readonly ContainerStatus[], isEnding: boolean): ProviderPodStatus["phase"] {
  const image = "";
  const pod: DeepReadonly<Pod> = {
    spec: {
      restartPolicy: labels.restartPolicy,
      containers: labels.containers.map((name) => ({ name, image })),
      initContainers: labels.initContainers.map((name) => ({ name, image })),
    },
  };
  const phase = computePhase(pod, new Map(statuses.map((status) => [status.name, status])), isEnding);
  // Zun runs the containers of a capsule whatever its init containers' exit codes are.
  return phase === "Failed" && statuses.some(({ state }) => state?.running) ? "Running" : phase;
}

/** A member that Zun does not list yet: it is as its capsule is. */
function absent({ status, reason, taskState }: ZunObject): ObservedMember {
  return { uuid: "", image: "", status: status === "Running" ? "Creating" : status, reason, detail: "", taskState };
}
