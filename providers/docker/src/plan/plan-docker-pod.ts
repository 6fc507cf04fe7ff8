import type { DeepReadonly, PlanContext, PlannedRequest, Pod, ResolvedPod } from "@virtual-kubelet/core";
import {
  CgroupNames,
  defaultCgroupPrefix,
  imageVolumesOf,
  planSpecs,
  type ContainerSpec,
  type PlannedSpecs,
} from "@virtual-kubelet/pod-runtime";
import type { DockerConfig } from "../config.ts";
import { containerBody } from "../container/container-body.ts";
import { devicesOf, gpuResource, unitsOf } from "../container/gpu-allocator.ts";
import { localSeccompProfile } from "../container/security-options.ts";
import { newestApiVersion } from "../engine/api-version.ts";
import { parseImageReference } from "../image/image-reference.ts";
import { objectName } from "../engine/object-names.ts";
import { podNetwork } from "../network/network-annotation.ts";
import { ociRuntime } from "../sandbox/runtime-class.ts";
import { sandboxBody } from "../sandbox/sandbox-body.ts";

/** Memory of the machine in plans, which only affects OOM scores: 8 GiB. */
const plannedMemoryBytes = 8 * 1024 ** 3;

/** Placeholder for the sandbox's id. */
const sandboxId = "{sandbox}";

/**
 * Requests of a pod's first start, from the same code that makes them for an engine. Paths lack the API version, which depends on the
 * engine.
 *
 * @throws errors of `resolved`
 */
export async function planDockerPod(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { nodeName, clusterId, clusterDomain, config }: PlanContext<DockerConfig>,
  signal: AbortSignal,
): Promise<readonly PlannedRequest[]> {
  const specs = await planSpecs(
    pod,
    {
      resolved,
      owner: { clusterId, nodeName },
      clusterDomain,
      root: config.rootDirectory,
      settings: { clusterDNS: config.clusterDNS },
      memoryBytes: plannedMemoryBytes,
      cgroups: config.cgroupsPerQOS ? plannedCgroups(config) : undefined,
    },
    signal,
  );
  const inPod = { ...config, cgroupParent: specs.sandbox.cgroupParent ?? config.cgroupParent };
  return [...sandboxRequests(pod, specs, inPod), ...specs.containers.flatMap((each) => containerRequests(each, inPod))];
}

function plannedCgroups({ cgroupParent = defaultCgroupPrefix }: DockerConfig): CgroupNames {
  return new CgroupNames(isSlice(cgroupParent) ? "systemd" : "cgroupfs", cgroupParent);
}

function isSlice(cgroup: string): boolean {
  return cgroup.endsWith(".slice");
}

function sandboxRequests(pod: DeepReadonly<Pod>, { sandbox }: PlannedSpecs, config: DockerConfig): PlannedRequest[] {
  const name = objectName(sandbox.labels, config.namePrefix);
  const body = sandboxBody(sandbox, {
    image: config.sandboxImage,
    network: config.cni ? "none" : podNetwork(pod, config),
    canLowerOomScore: true,
    cgroupParent: config.cgroupParent,
    runtime: ociRuntime(pod, config.runtimeClasses),
  });
  const path = `/containers/create?name=${encodeURIComponent(name)}`;
  const note = "the pod's cgroup is a slice where the engine's are systemd's";
  const isPath = config.cgroupsPerQOS && !isSlice(config.cgroupParent ?? "");
  return [
    { purpose: "make the pod's sandbox", method: "POST", path, body, ...(isPath && { note }) },
    {
      purpose: "start the sandbox",
      method: "POST",
      path: `/containers/${sandboxId}/start`,
      ...(config.cni && !pod.spec?.hostNetwork && { note: "network plugins connect it then" }),
    },
  ];
}

/** When a container of each role starts. */
const begins = {
  init: "when the init containers before it have ended",
  sidecar: "when the init containers before it have ended, or have started where they are sidecars",
  main: "when the init containers have ended",
  ephemeral: "",
} as const;

function containerRequests({ role, spec }: PlannedSpecs["containers"][number], config: DockerConfig): PlannedRequest[] {
  const { container, pod } = spec;
  const what = `container ${container.name}`;
  const name = encodeURIComponent(objectName(spec.labels, config.namePrefix));
  const hasInit = (pod.spec?.initContainers ?? []).length > 0;
  const when = hasInit && container.name !== pod.spec?.initContainers?.[0]?.name ? { note: begins[role] } : {};
  return [
    ...pullRequests(spec),
    {
      purpose: `make ${what}`,
      method: "POST",
      path: `/containers/create?name=${name}`,
      body: bodyOf(spec, config),
      ...when,
    },
    { purpose: `start ${what}`, method: "POST", path: `/containers/{${container.name}}/start` },
  ];
}

function pullRequests({ pod, container }: ContainerSpec): PlannedRequest[] {
  const { name, image = "", imagePullPolicy: pullPolicy } = container;
  return [
    ...imageVolumesOf(pod, container).map((volume) => ({ ...volume, purpose: `pull the image that is volume ${volume.name}`, more })),
    { image, pullPolicy, purpose: `pull the image of container ${name}` },
  ].flatMap((pull) => pullRequest(pull));
}

/** Note about engines that are older than the plan's. */
const more = "; an engine before 28 is asked for its files, which are then mounted from a folder";

function pullRequest({ image, pullPolicy, purpose, more: also = "" }: PlannedPull): PlannedRequest[] {
  if (pullPolicy === "Never") return [];
  const { pullName } = parseImageReference(image);
  const path = `/images/create?fromImage=${encodeURIComponent(pullName)}`;
  const note = `${pullPolicy === "Always" ? "" : "only where the image is missing; "}with the registry's credentials where there are some${also}`;
  return [{ purpose, method: "POST", path, note }];
}

interface PlannedPull {
  readonly image: string;
  readonly pullPolicy: string | undefined;
  readonly purpose: string;
  readonly more?: string;
}

function bodyOf(spec: ContainerSpec, config: DockerConfig): object {
  const { pod, container } = spec;
  const profile = localSeccompProfile(pod, container);
  return containerBody(spec, {
    sandboxId,
    engine: { apiVersion: newestApiVersion, hasAppArmor: true, isPodman: false },
    seccompProfile: profile === undefined ? undefined : `[seccomp profile ${profile}]`,
    volumeImages: spec.mounts.flatMap(({ image }) => (image ? [image.id] : [])),
    gpus: Array.from({ length: unitsOf(container, gpuResource) }, (_, index) => `[GPU ${index + 1}]`),
    devices: devicesOf(container, config.devices),
    canLowerOomScore: true,
    cgroupParent: config.cgroupParent,
    pidsLimit: config.pidsLimit,
    runtime: ociRuntime(pod, config.runtimeClasses),
    log: config.log,
  });
}
