import type { NodeDescription, NodeImage } from "@virtual-kubelet/core";
import { nodeAllocatable, type Allocatable, type HostMachine, type Threshold } from "@virtual-kubelet/pod-runtime";
import { statfs } from "node:fs/promises";
import type { DockerConfig } from "../config.ts";
import { gpuResource } from "../container/gpu-allocator.ts";
import type { EngineFacts } from "../engine/engine-facts.ts";

/** Prefix of the node's labels that say which OCI runtimes the engine has; for a RuntimeClass's `nodeSelector`. */
export const runtimeLabelPrefix = "runtime.docker.virtual-kubelet.io/";

/** Pods a node takes. Source: a kubelet's `--max-pods`. */
const defaultPods = 110;

/** Containers that share a device at once, unless the configuration says otherwise. */
const defaultDeviceCount = 100;

/** What {@link describeNode} is given. */
export interface NodeFacts {
  readonly facts: EngineFacts;
  readonly gpus: readonly string[];
  readonly config: Pick<DockerConfig, "capacity" | "devices" | "kubeReserved" | "systemReserved">;
  readonly machine: Pick<HostMachine, "machineID" | "systemUUID" | "bootID" | "hugePages" | "maxProcesses">;
  readonly images: readonly NodeImage[];
  /** Bytes of the file system that the engine's data is on; absent where it cannot be seen. */
  readonly diskBytes?: number | undefined;
  /** Thresholds of eviction: what hard ones keep free is not allocatable. */
  readonly thresholds: readonly Threshold[];
  readonly conditions: NonNullable<NodeDescription["conditions"]>;
}

/** What {@link nodeResources} is given. */
export type NodeResourceFacts = Pick<NodeFacts, "facts" | "gpus" | "config" | "diskBytes" | "thresholds"> & {
  readonly machine: Pick<HostMachine, "hugePages" | "maxProcesses">;
};

/** What the node has, and what of it is for pods. @throws InvalidInputError if more is reserved than there is */
export function nodeResources(options: NodeResourceFacts): Allocatable & { readonly capacity: Readonly<Record<string, string>> } {
  const { facts, gpus, config, diskBytes, machine, thresholds } = options;
  const devices = Object.entries(config.devices).map(([name, { count = defaultDeviceCount }]): [string, string] => [name, String(count)]);
  const capacity = {
    cpu: String(facts.cpus),
    memory: `${Math.floor(facts.memoryBytes / 1024)}Ki`,
    pods: String(defaultPods),
    ...(diskBytes !== undefined && { "ephemeral-storage": `${Math.floor(diskBytes / 1024)}Ki` }),
    ...Object.fromEntries(Object.entries(machine.hugePages).map(([name, bytes]) => [name, bytes === 0 ? "0" : `${bytes / 1024}Ki`])),
    ...(gpus.length > 0 && { [gpuResource]: String(gpus.length) }),
    ...Object.fromEntries(devices),
    ...config.capacity,
  };
  return { capacity, ...nodeAllocatable(capacity, { ...config, thresholds, processes: machine.maxProcesses }) };
}

/** The node of an engine: its size, its architecture, its runtimes. @throws InvalidInputError if more is reserved than there is */
export function describeNode(options: NodeFacts): NodeDescription {
  const { facts, machine, images, conditions } = options;
  const { capacity, allocatable } = nodeResources(options);
  return {
    capacity,
    allocatable,
    conditions,
    operatingSystem: "linux",
    architecture: facts.architecture,
    labels: Object.fromEntries(facts.runtimes.filter(isLabelName).map((name) => [`${runtimeLabelPrefix}${name}`, "true"])),
    // Without it an API server refuses changes of what a pod has as a whole.
    declaredFeatures: ["InPlacePodLevelResourcesVerticalScaling"],
    containerRuntimeVersion: `${facts.isPodman ? "podman" : "docker"}://${facts.serverVersion}`,
    osImage: facts.operatingSystem,
    kernelVersion: facts.kernelVersion,
    machineID: machine.machineID,
    systemUUID: machine.systemUUID,
    bootID: machine.bootID,
    images,
  };
}

/** Bytes of the file system a folder is on; `undefined` where it cannot be seen. */
export async function diskSize(folder: string): Promise<number | undefined> {
  try {
    const { blocks, bsize } = await statfs(folder);
    return blocks * bsize;
  } catch {
    return undefined;
  }
}

function isLabelName(name: string): boolean {
  return name.length <= 63 && /^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/.test(name);
}
