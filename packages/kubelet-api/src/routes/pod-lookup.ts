import type { PodRef } from "@virtual-kubelet/core";
import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { Refusal } from "../server/refusal.ts";
import type { KubeletRequest } from "./route.ts";
import type { LocatedPod, NodeDirectory } from "./served-node.ts";

/** What of a container of a pod's spec the server looks at; ephemeral ones have it as well. */
export type SpecContainer = DeepReadonly<Pick<Container, "name" | "image" | "stdin" | "stdinOnce" | "tty">>;

/** A pod that is there, with the UID that names it to the provider. */
export interface FoundPod extends LocatedPod {
  readonly ref: PodRef;
}

/**
 * The pod that a path names: `namespace` and `pod`, and `uid` if it has one.
 *
 * @throws Refusal 404
 */
export function requirePod({ params, node }: KubeletRequest, directory: NodeDirectory): FoundPod {
  const { namespace = "", pod: name = "", uid } = params;
  const located = directory.findPod(namespace, name, node);
  const foundUid = located?.pod.metadata?.uid;
  if (!located || foundUid === undefined || (uid !== undefined && uid !== foundUid)) throw new Refusal(404, "pod does not exist");
  return { ...located, ref: { namespace, name, uid: foundUid } };
}

/** A container of a pod by its name, whichever kind it is. */
export function findContainer({ spec }: DeepReadonly<Pod>, name: string): SpecContainer | undefined {
  const containers: readonly SpecContainer[] = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  return containers.find((container) => container.name === name);
}
