import { labelNames, tryAttempt } from "@virtual-kubelet/pod-runtime";

/** Labels that this provider adds to those of pod-runtime. */
export const dockerLabels = {
  /** The image as the pod names it. */
  image: "virtual-kubelet.io/image",
  /** The image by content. */
  imageId: "virtual-kubelet.io/image-id",
  /** Ids of the GPUs the container has, with commas between. */
  gpus: "virtual-kubelet.io/gpus",
  /** Ids of the images that are mounted in the container, as the engine has them, with commas between; absent: none. */
  volumeImages: "virtual-kubelet.io/volume-images",
} as const;

/** What stands in a sandbox's name where a container's has its own. Kubernetes' names have no capitals. */
const sandboxPart = "POD";

/**
 * The name of a sandbox or container at the engine, from its labels: dockershim's shape with a prefix of ours, so that no
 * other kubelet on the engine takes it for its own. No part holds an underscore but the prefix.
 *
 * Source: MakeContainerName of cri-dockerd v0.3 libdocker/naming.go.
 */
export function objectName(labels: Readonly<Record<string, string>>, prefix: string): string {
  const { podName, podNamespace, podUid, container } = labelNames;
  const parts = [labels[container] ?? sandboxPart, labels[podName], labels[podNamespace], labels[podUid], tryAttempt(labels) ?? 0];
  return [prefix, ...parts].join("_");
}

/** Whether two sets of labels name the same pod's same start of the same container, or sandbox. */
export function isSameObject(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const { podUid, container, attempt, node, cluster } = labelNames;
  return [podUid, container, attempt, node, cluster].every((name) => one[name] === other[name]);
}
