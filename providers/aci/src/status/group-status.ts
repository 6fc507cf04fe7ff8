import {
  computePhase,
  isTerminalPhase,
  type ContainerStatus,
  type DeepReadonly,
  type Pod,
  type ProviderPodStatus,
} from "@virtual-kubelet/core";
import { createdAtOf, type Observation, type ObserveContext, type Progress } from "@virtual-kubelet/remote-pods";
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type { ContainerGroup, GroupMember } from "../azure/group-schema.ts";
import { sidecarsTag } from "../group/container-group-of.ts";
import { containerStateOf, lastStateOf, latestOf } from "./container-state.ts";
import { isReady } from "./readiness.ts";

/** Provisioning states in which Azure makes the group. */
const making: readonly string[] = ["NotSpecified", "Accepted", "Pending", "Creating"];
/** Provisioning states in which Azure changes an existing group. */
const changing: readonly string[] = ["Repairing", "Updating", "PreProvisioned"];
/** Provisioning states of a group that does not run, and that Azure leaves so. */
const failed: readonly string[] = ["Failed", "Unhealthy", "Canceled", "NotAccessible"];

/** Translates a container group to a pod's status. Pure. */
export function observeGroup(group: ContainerGroup, { pod, nowMs, isEnding }: ObserveContext<undefined>): Observation {
  const statuses = statusesOf(group, nowMs);
  const status: ProviderPodStatus = { ...phaseOf(group, { pod, isEnding, statuses }), ...addressesOf(group), ...statuses };
  return { progress: progressOf(group, status), status, createdAt: createdAtOf(group.tags), memory: undefined };
}

type Statuses = Pick<ProviderPodStatus, "containerStatuses" | "initContainerStatuses">;

function statusesOf(group: ContainerGroup, nowMs: number): Statuses {
  const { containers: main, initContainers } = group.properties;
  const sidecars = group.tags?.[sidecarsTag]?.split(",") ?? [];
  const isSidecar = ({ name }: GroupMember): boolean => sidecars.includes(name);
  const init = [
    ...(initContainers ?? []).map((member) => statusOf(group, member, false)),
    ...main.filter(isSidecar).map((member) => statusOf(group, member, isReady(member, nowMs))),
  ];
  return {
    containerStatuses: main.filter((member) => !isSidecar(member)).map((member) => statusOf(group, member, isReady(member, nowMs))),
    ...(init.length > 0 && { initContainerStatuses: init }),
  };
}

function statusOf({ id }: ContainerGroup, { name, properties }: GroupMember, isReadyWhileRunning: boolean): ContainerStatus {
  const { instanceView: view, image } = properties;
  const state = containerStateOf(view?.currentState, view?.events ?? []);
  const lastState = lastStateOf(view?.previousState);
  const isRunning = state.running !== undefined;
  return {
    name,
    image: image ?? "",
    imageID: "",
    ready: isRunning && isReadyWhileRunning,
    started: isRunning,
    restartCount: view?.restartCount ?? 0,
    state,
    ...(lastState && { lastState }),
    ...((isRunning || state.terminated) && { containerID: containerIdOf(id, name) }),
  };
}

/** Source: azure-aci v1.6.4 pkg/util/aci_utils.go (`GetContainerID`). */
function containerIdOf(groupId: string, container: string): string {
  const digest = createHash("sha256").update(`${groupId}/containers/${container}`.toUpperCase()).digest("hex");
  return `aci://${digest}`;
}

function phaseOf(
  group: ContainerGroup,
  { pod, isEnding, statuses }: { readonly pod: DeepReadonly<Pod> | undefined; readonly isEnding: boolean; readonly statuses: Statuses },
): Pick<ProviderPodStatus, "phase" | "reason" | "message"> {
  const { provisioningState: provisioning = "", instanceView, restartPolicy } = group.properties;
  const all = [...(statuses.containerStatuses ?? []), ...(statuses.initContainerStatuses ?? [])];
  const isDeleting = isEnding || provisioning === "Deleting";
  const computed = computePhase(
    specOf(group, pod, restartPolicy ?? "Always"),
    new Map(all.map((status) => [status.name, status])),
    isDeleting,
  );
  if (provisioning !== null && making.includes(provisioning)) return { phase: "Pending" };
  if (isTerminalPhase(computed)) return { phase: computed };
  if (provisioning !== null && failed.includes(provisioning))
    return failure(group, { reason: "ProviderFailed", text: `Azure: the container group is ${provisioning}` });
  const hasNothingRunning = all.every(({ state }) => state?.running === undefined);
  if (instanceView?.state === "Stopped" && !isDeleting && hasNothingRunning)
    return failure(group, { reason: "Stopped", text: "The container group was stopped in Azure, not by Kubernetes" });
  const isFinal = instanceView?.state === "Failed" && provisioning === "Succeeded" && restartPolicy !== "Always" && hasNothingRunning;
  return isFinal ? failure(group, { reason: "ProviderFailed", text: "Azure: the containers failed" }) : { phase: computed };
}

function failure(
  group: ContainerGroup,
  { reason, text }: { readonly reason: string; readonly text: string },
): Pick<ProviderPodStatus, "phase" | "reason" | "message"> {
  const { instanceView, containers, initContainers } = group.properties;
  const members = [...(initContainers ?? []), ...containers];
  const events = [...(instanceView?.events ?? []), ...members.flatMap(({ properties }) => properties.instanceView?.events ?? [])];
  const last = latestOf(events)?.message?.trim();
  return { phase: "Failed", reason, message: last ? `${text}: ${last}` : text };
}

/** The pod's spec, or what the group shows of it if the pod is gone at the API server. */
function specOf(group: ContainerGroup, pod: DeepReadonly<Pod> | undefined, restartPolicy: string): DeepReadonly<Pod> {
  if (pod?.spec) return pod;
  const { containers, initContainers } = group.properties;
  const sidecars = group.tags?.[sidecarsTag]?.split(",") ?? [];
  const names = (members: readonly GroupMember[]): { name: string }[] => members.map(({ name }) => ({ name }));
  const main = names(containers);
  return {
    spec: {
      restartPolicy,
      containers: main.filter(({ name }) => !sidecars.includes(name)),
      initContainers: [
        ...names(initContainers ?? []),
        ...main.filter(({ name }) => sidecars.includes(name)).map(({ name }) => ({ name, restartPolicy: "Always" })),
      ],
    },
  };
}

/** A public address is where the pod is reached, too: the pod has no other. */
function addressesOf({ properties }: ContainerGroup): Pick<ProviderPodStatus, "podIP" | "podIPs"> {
  const ip = properties.ipAddress?.ip;
  return ip && isIP(ip) !== 0 ? { podIP: ip, podIPs: [{ ip }] } : {};
}

function progressOf({ properties }: ContainerGroup, status: ProviderPodStatus): Progress {
  const provisioning = properties.provisioningState ?? "";
  if (isTerminalPhase(status.phase)) return "ended";
  if (provisioning === "Deleting") return "ending";
  const isSettled = status.phase === "Running" && !changing.includes(provisioning);
  const areReady = (status.containerStatuses ?? []).every(({ state, ready }) => state?.running !== undefined && ready);
  // An address may come after the containers have started.
  const lacksAddress = properties.ipAddress && status.podIP === undefined;
  return isSettled && areReady && !lacksAddress ? "running" : "starting";
}
