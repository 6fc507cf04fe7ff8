import type { NodeDescription, NodeImage } from "@virtual-kubelet/core";
import { nodeAllocatable, type Allocatable, type HostMachine, type Threshold } from "@virtual-kubelet/pod-runtime";
import { statfs } from "node:fs/promises";
import type { DockerConfig } from "../config.ts";
import { gpuResource } from "../container/gpu-allocator.ts";
import type { EngineFacts } from "../engine/engine-facts.ts";

/** Prefix of node labels for the engine's OCI runtimes, which a RuntimeClass's `nodeSelector` can use. */
const runtimeLabelPrefix = "runtime.docker.virtual-kubelet.io/";

/** Maximum number of pods. Source: a kubelet's `--max-pods`. */
const defaultPods = 110;

/** Default number of containers that can share a device. */
const defaultDeviceCount = 100;

/** Facts that the node's description is computed from. */
export interface NodeFacts {
  readonly facts: EngineFacts;
  readonly gpus: readonly string[];
  readonly config: Pick<DockerConfig, "capacity" | "devices" | "kubeReserved" | "systemReserved">;
  readonly machine: Pick<HostMachine, "machineID" | "systemUUID" | "bootID" | "hugePages" | "maxProcesses">;
  readonly images: readonly NodeImage[];
  /** Size of the file system with the engine's data; `undefined` if it cannot be read. */
  readonly diskBytes?: number | undefined;
  /** Eviction thresholds, of which hard ones are not allocatable. */
  readonly thresholds: readonly Threshold[];
  readonly conditions: NonNullable<NodeDescription["conditions"]>;
}

export type NodeResourceFacts = Pick<NodeFacts, "facts" | "gpus" | "config" | "diskBytes" | "thresholds"> & {
  readonly machine: Pick<HostMachine, "hugePages" | "maxProcesses">;
};

/** Capacity and allocatable resources of the node. @throws InvalidInputError if more is reserved than there is */
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

/** Describes the node: size, architecture, OCI runtimes. @throws InvalidInputError if more is reserved than there is */
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
    // Without it, an API server refuses changes of pod-level resources.
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

/** Size of a folder's file system in bytes; `undefined` if it cannot be read. */
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
