import { labelNames, tryAttempt } from "@virtual-kubelet/pod-runtime";

/** Labels of this provider, in addition to those of pod-runtime. */
export const dockerLabels = {
  /** The image's name in the pod's spec. */
  image: "virtual-kubelet.io/image",
  /** The image by content. */
  imageId: "virtual-kubelet.io/image-id",
  /** Ids of the container's GPUs, separated by commas. */
  gpus: "virtual-kubelet.io/gpus",
  /** Engine's ids of the images that the container mounts, separated by commas. Absent: none. */
  volumeImages: "virtual-kubelet.io/volume-images",
} as const;

/** Takes the place of the container's name in a sandbox's name. Names in Kubernetes have no capitals. */
const sandboxPart = "POD";

/**
 * Name of a sandbox or container at the engine, from its labels: dockershim's format with a different prefix, so that no other kubelet on
 * the engine takes it for its own. Only the prefix can contain an underscore.
 *
 * Source: MakeContainerName of cri-dockerd v0.3 libdocker/naming.go.
 */
export function objectName(labels: Readonly<Record<string, string>>, prefix: string): string {
  const { podName, podNamespace, podUid, container } = labelNames;
  const parts = [labels[container] ?? sandboxPart, labels[podName], labels[podNamespace], labels[podUid], tryAttempt(labels) ?? 0];
  return [prefix, ...parts].join("_");
}

/** Whether two sets of labels name the same attempt of the same container or sandbox. */
export function isSameObject(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const { podUid, container, attempt, node, cluster } = labelNames;
  return [podUid, container, attempt, node, cluster].every((name) => one[name] === other[name]);
}
