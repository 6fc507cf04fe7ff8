import {
  podRef,
  type Container,
  type DeepReadonly,
  type Owner,
  type Pod,
  type ResolvedEnvVar,
  type ResolvedPod,
} from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { qosClass } from "@virtual-kubelet/kubernetes";
import { join, posix } from "node:path";
import type { CgroupNames } from "../cgroup/cgroup-names.ts";
import { desiredPodOf, type ContainerRole, type DesiredContainer } from "../pod/desired-pod.ts";
import { containerLabels, originLabels, podLabels } from "../runtime/labels.ts";
import type { ContainerMount, ContainerSpec, SandboxSpec } from "../runtime/runtime-spec.ts";
import { PodDirectory } from "../volumes/pod-directory.ts";
import { subPathOf, type VolumeMount } from "../volumes/sub-path.ts";
import { volumeSource, type VolumeSource } from "../volumes/volume-source.ts";
import { allMounts } from "./container-mounts.ts";
import { oomScoreAdjustment } from "./oom-score.ts";
import { podDns } from "./pod-dns.ts";
import { podHostname } from "./pod-hostname.ts";
import type { PodPreparationSettings } from "./pod-preparation.ts";
import { resourceLimits } from "./resource-limits.ts";

/** A resolved pod, and the node that would run it. */
export interface PlanSpecsOptions {
  readonly resolved: ResolvedPod;
  readonly owner: Owner;
  readonly clusterDomain: string;
  /** Folder of all pods' folders, as in `VolumeManager`. */
  readonly root: string;
  readonly settings: Pick<PodPreparationSettings, "clusterDNS" | "cpuQuota">;
  /** The node's memory. */
  readonly memoryBytes: number;
  /** Names of pods' cgroups. Default: pods have no cgroups of their own. */
  readonly cgroups?: CgroupNames | undefined;
}

/** Specs of a pod's sandbox and containers. */
export interface PlannedSpecs {
  readonly sandbox: SandboxSpec;
  /** In start order. */
  readonly containers: readonly { readonly role: ContainerRole; readonly spec: ContainerSpec }[];
}

/** Placeholder for the node's DNS servers. */
export const plannedNodeDns = "[DNS of the node]";

/**
 * Specs of the first start of a pod's sandbox and containers, computed without runtime, disk or node: image names stand for image ids,
 * {@link plannedNodeDns} for the node's DNS. Ephemeral containers are left out.
 *
 * @throws as the preparation of a pod: errors of `resolved`; InvalidInputError, UnsupportedError
 */
export async function planSpecs(pod: DeepReadonly<Pod>, options: PlanSpecsOptions, signal: AbortSignal): Promise<PlannedSpecs> {
  const { owner, clusterDomain, settings, cgroups } = options;
  const { clusterDNS = [] } = settings;
  const nodeDns = { servers: [plannedNodeDns], searches: [], options: [] };
  const sandbox: SandboxSpec = {
    labels: podLabels(podRef(pod), owner, 0),
    hostname: pod.spec?.hostNetwork ? "" : podHostname(pod, clusterDomain).kernelHostname,
    dns: podDns(pod, { nodeDns, clusterDNS, clusterDomain }).dns,
    hosts: (pod.spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => ({ ip, hostnames })),
    ...(cgroups && { cgroupParent: cgroups.pod(podRef(pod).uid, qosClass(pod)).parent }),
    pod,
  };
  const containers = [];
  for (const desired of desiredPodOf(pod).containers) {
    if (desired.role !== "ephemeral") containers.push({ role: desired.role, spec: await planContainer(pod, desired, options, signal) });
  }
  return { sandbox, containers };
}

async function planContainer(
  pod: DeepReadonly<Pod>,
  { name, role, container, specHash }: DesiredContainer,
  { resolved, owner, root, settings, memoryBytes }: PlanSpecsOptions,
  signal: AbortSignal,
): Promise<ContainerSpec> {
  const ref = podRef(pod);
  const environment = await resolved.environment(name, signal);
  const directory = new PodDirectory(root, ref.uid);
  const volumes = (container.volumeMounts ?? []).map((mount, index) => planMount(mount, { pod, container, environment, directory, index }));
  const files = {
    hosts: join(directory.path, "etc-hosts"),
    resolvConf: join(directory.path, "resolv.conf"),
    terminationLog: container.terminationMessagePath ? directory.terminationLog(name, 0) : undefined,
  };
  return {
    labels: { ...containerLabels(ref, owner, { container: name, attempt: 0, specHash }), ...originLabels(role, container) },
    imageId: container.image ?? "",
    ...(await resolved.commandLine(name, signal)),
    environment,
    mounts: allMounts(container, volumes, files),
    limits: resourceLimits(pod, container, { cpuQuota: settings.cpuQuota }),
    oomScoreAdjustment: oomScoreAdjustment(pod, container, memoryBytes),
    pod,
    container,
  };
}

interface MountPlace {
  readonly pod: DeepReadonly<Pod>;
  readonly container: DeepReadonly<Container>;
  readonly environment: readonly ResolvedEnvVar[];
  readonly directory: PodDirectory;
  readonly index: number;
}

/** A mount as `containerMounts` makes it, without looking at the disk. */
function planMount(mount: VolumeMount, { pod, container, environment, directory, index }: MountPlace): ContainerMount {
  const volume = pod.spec?.volumes?.find(({ name }) => name === mount.name);
  if (!volume) throw new InvalidInputError(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
  const subPath = subPathOf(mount, environment);
  const shape = {
    containerPath: posix.join("/", mount.mountPath),
    isRecursivelyReadOnly: false,
    propagation: (mount.mountPropagation ?? "None") as NonNullable<ContainerMount["propagation"]>,
  };
  if (volume.image) return { ...shape, hostPath: "", image: { id: volume.image.reference ?? "", subPath }, isReadOnly: true };
  const source = volumeSource(volume);
  return {
    ...shape,
    hostPath: subPath !== "" ? directory.subPath(mount.name, container.name, index) : folderOf(mount.name, source, directory),
    isReadOnly: mount.readOnly === true || volume.persistentVolumeClaim?.readOnly === true || source.kind === "payload",
  };
}

function folderOf(name: string, source: VolumeSource, directory: PodDirectory): string {
  switch (source.kind) {
    case "emptyDir":
      return directory.volume("kubernetes.io~empty-dir", name);
    case "payload":
      return source.isSecret ? directory.secretVolume(source.folder, name) : directory.volume(source.folder, name);
    case "hostPath":
      return source.path;
    case "claim":
      return source.claimName === undefined ? "[volume of the pod's own claim]" : `[volume of claim ${source.claimName}]`;
    default:
      return source satisfies never;
  }
}
