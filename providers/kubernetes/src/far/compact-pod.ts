import type { Container, Pod } from "@virtual-kubelet/kube-client";
import { tagAnnotations, tagLabels } from "../identity/tags.ts";
import { sentTagsHash } from "../translate/carried-record.ts";

const labels = Object.values(tagLabels);
const annotations = [tagAnnotations.cluster, tagAnnotations.node, tagAnnotations.pod];

type AnyContainer = Pick<Container, "name" | "image" | "env" | "envFrom">;

/**
 * Removes from a far pod what is only needed when it is changed, and then read anew. Tags, a hash of the labels and annotations that
 * were sent, status, node, restart policy and references to config maps and secrets stay.
 */
export function compactPod(pod: Pod): void {
  const { metadata, spec } = pod;
  if (metadata) {
    metadata.labels = only(labels, metadata.labels);
    const sent = sentTagsHash(metadata.annotations?.[tagAnnotations.carried]);
    metadata.annotations = { ...only(annotations, metadata.annotations), ...(sent !== undefined && { [tagAnnotations.carried]: sent }) };
  }
  if (!spec) return;
  const { nodeName, restartPolicy, containers, initContainers, ephemeralContainers, volumes, imagePullSecrets } = spec;
  pod.spec = {
    nodeName,
    restartPolicy,
    containers: containers.map(compactContainer),
    ...(initContainers && { initContainers: initContainers.map(compactContainer) }),
    ...(ephemeralContainers && { ephemeralContainers: ephemeralContainers.map(compactContainer) }),
    ...(volumes && { volumes }),
    ...(imagePullSecrets && { imagePullSecrets }),
  };
}

function compactContainer({ name, image, env, envFrom }: AnyContainer): AnyContainer {
  const references = env?.filter(({ valueFrom }) => valueFrom !== undefined);
  return { name, image, ...(references?.length && { env: references }), ...(envFrom && { envFrom }) };
}

function only(keys: readonly string[], map: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(keys.flatMap((key) => (map[key] === undefined ? [] : [[key, map[key]]])));
}
