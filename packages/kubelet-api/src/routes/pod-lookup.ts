import type { PodRef } from "@virtual-kubelet/core";
import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { Refusal } from "../server/refusal.ts";
import type { KubeletRequest } from "./route.ts";
import type { LocatedPod, NodeDirectory } from "./served-node.ts";

/** Fields of a container's spec that the server reads. Ephemeral containers have them too. */
export type SpecContainer = DeepReadonly<Pick<Container, "name" | "image" | "stdin" | "stdinOnce" | "tty">>;

/** A known pod that has a UID. */
export interface FoundPod extends LocatedPod {
  readonly ref: PodRef;
}

/** The pod named by the path variables `namespace`, `pod` and, if present, `uid`. @throws Refusal 404 */
export function requirePod({ params, node }: KubeletRequest, directory: NodeDirectory): FoundPod {
  const { namespace = "", pod: name = "", uid } = params;
  const located = directory.findPod(namespace, name, node);
  const foundUid = located?.pod.metadata?.uid;
  if (!located || foundUid === undefined || (uid !== undefined && uid !== foundUid)) throw new Refusal(404, "pod does not exist");
  return { ...located, ref: { namespace, name, uid: foundUid } };
}

/** Finds a container of any kind by its name. */
export function findContainer({ spec }: DeepReadonly<Pod>, name: string): SpecContainer | undefined {
  const containers: readonly SpecContainer[] = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  return containers.find((container) => container.name === name);
}
