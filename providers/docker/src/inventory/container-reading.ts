import { labelNames, type RuntimeContainer, type RuntimeContainerState, type RuntimeSandbox } from "@virtual-kubelet/pod-runtime";
import type { ContainerInfo, ContainerInspectInfo } from "dockerode";
import { isIP } from "node:net";
import { dockerLabels } from "../engine/object-names.ts";

/** Whether the labels are those of a container of ours, not of a sandbox. */
export function isContainer(labels: Readonly<Record<string, string>>): boolean {
  return labels[labelNames.container] !== undefined;
}

/** A container for pod-runtime, from an inspection. */
export function readContainer(inspected: ContainerInspectInfo): RuntimeContainer {
  const labels = inspected.Config.Labels;
  return {
    id: inspected.Id,
    sandboxId: labels[labelNames.sandboxId] ?? "",
    labels,
    image: labels[dockerLabels.image] || inspected.Config.Image,
    imageId: labels[dockerLabels.imageId] || inspected.Image,
    user: readUser(inspected),
    state: readState(inspected),
  };
}

/**
 * State of a container. One that could not start is `exited` with the engine's exit code and message, unless its sandbox had stopped
 * before: that is not its own fault, and it stays `created`.
 */
export function readState({ State: state, Created }: ContainerInspectInfo): RuntimeContainerState {
  const startedAtMs = timeOf(state.StartedAt);
  const message = state.Error === "" ? undefined : state.Error;
  switch (state.Status) {
    case "running":
    case "paused":
    case "restarting":
      return { kind: "running", startedAtMs: startedAtMs ?? timeOf(Created) ?? 0 };
    case "created":
    // podman's word for a container that was never started.
    case "configured":
    case "initialized":
      if (state.ExitCode === 0 || sandboxGone.test(message ?? "")) return { kind: "created" };
      return { kind: "exited", exitCode: state.ExitCode, finishedAtMs: timeOf(Created) ?? 0, message };
    default:
      return {
        kind: "exited",
        exitCode: state.ExitCode,
        startedAtMs,
        // The engine may note the end of a process that ends at once before its start.
        finishedAtMs: Math.max(timeOf(state.FinishedAt) ?? startedAtMs ?? timeOf(Created) ?? 0, startedAtMs ?? 0),
        // If the main process succeeded, a child that was killed for its memory does not matter.
        isOutOfMemory: state.OOMKilled && state.ExitCode !== 0,
        message,
      };
  }
}

/**
 * Engines' messages about a container whose sandbox does not run. Source: 20.10's daemon/container_operations_unix.go; errors.go and
 * container_operations.go of moby v2.0.0-beta.18.
 */
const sandboxGone =
  /cannot join (network|ipc|pid)( namespace)? of a non.?running container|joining (network|ipc|pid) namespace of container|^container \S+ is not running/i;

/** IP family of the main address of a dual-stack pod. */
export type MainFamily = 4 | 6;

export interface AddressReading {
  readonly family: MainFamily;
  /** Addresses that others than the engine assigned, for a sandbox without a network of the engine. */
  readonly others: readonly string[];
}

/** A sandbox from the engine's list, without an inspection. */
export function readListedSandbox(listed: ContainerInfo, reading: AddressReading): RuntimeSandbox {
  return readSandbox(reading, {
    id: listed.Id,
    labels: listed.Labels,
    isRunning: listed.State === "running",
    isOnHost: listed.HostConfig.NetworkMode === "host",
    networks: listed.NetworkSettings.Networks,
    createdAtMs: listed.Created * 1000,
  });
}

/** A sandbox from an inspection. */
export function readInspectedSandbox(inspected: ContainerInspectInfo, reading: AddressReading): RuntimeSandbox {
  return readSandbox(reading, {
    id: inspected.Id,
    labels: inspected.Config.Labels,
    isRunning: inspected.State.Running,
    isOnHost: inspected.HostConfig.NetworkMode === "host",
    networks: inspected.NetworkSettings.Networks,
    createdAtMs: timeOf(inspected.Created) ?? 0,
  });
}

interface SandboxFacts {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isRunning: boolean;
  readonly isOnHost: boolean;
  readonly networks: Readonly<Record<string, { readonly IPAddress?: string; readonly GlobalIPv6Address?: string } | null>> | null;
  readonly createdAtMs: number;
}

function readSandbox(
  { family, others }: AddressReading,
  { id, labels, isRunning, isOnHost, networks, createdAtMs }: SandboxFacts,
): RuntimeSandbox {
  // The addresses at the top level are the first network's on old engines, and missing on new ones.
  const found = isOnHost ? [] : Object.values(networks ?? {}).flatMap((network) => [network?.IPAddress, network?.GlobalIPv6Address]);
  const given = [...found, ...(isOnHost ? [] : others)].filter((ip): ip is string => ip !== undefined && ip !== "");
  // Source: sortPodIPs in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
  const ips = given.toSorted((a, b) => Number(isIP(a) !== family) - Number(isIP(b) !== family));
  return { id, labels, isReady: isRunning && (isOnHost || ips.length > 0), ips, createdAtMs };
}

/** A time of the engine in milliseconds; `undefined` for the year one, which means never. */
function timeOf(text: string): number | undefined {
  if (text === "" || text.startsWith("0001-")) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

function readUser({ Config, HostConfig }: ContainerInspectInfo): RuntimeContainer["user"] {
  // Engines from API 1.52 on omit empty fields.
  const { User: user = "" } = Config as { readonly User?: string };
  const [, uid, gid] = /^(\d+):(\d+)$/.exec(user === "" ? "0:0" : user) ?? [];
  if (uid === undefined || gid === undefined) return undefined;
  const groups = (HostConfig.GroupAdd ?? []).map(Number).filter((group) => !Number.isNaN(group));
  return { uid: Number(uid), gid: Number(gid), supplementalGroups: [...new Set([Number(gid), ...groups])] };
}
