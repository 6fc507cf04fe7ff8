import type { PodRef } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { resources } from "@virtual-kubelet/kube-client";
import type { FarNode } from "../far/far-node.ts";
import { farPodName } from "../identity/names.ts";
import { ownPodRef } from "../identity/own-pod.ts";

/** A pod of the far cluster, and the home pod for which it runs. */
export interface FarTarget {
  readonly home: PodRef;
  readonly namespace: string;
  readonly name: string;
}

/** A node of whose pods far pods are found. */
export type FarTargetNode = Pick<FarNode, "owner" | "namespaces"> & { readonly far: Pick<FarNode["far"], "connection" | "podOf"> };

/**
 * Finds the far pod of a home pod. One that the watch has not shown yet is read.
 *
 * @throws NotFoundError if the home pod has no far pod; UnavailableError; `signal.reason`
 */
export async function farTargetOf({ far, owner, namespaces }: FarTargetNode, home: PodRef, signal: AbortSignal): Promise<FarTarget> {
  signal.throwIfAborted();
  const target = { home, namespace: namespaces.toFar(home.namespace), name: farPodName(owner, home) };
  if (far.podOf(owner, home.uid)) return target;
  const { metadata } = await far.connection.client.get(resources.pods, target, { signal });
  if (ownPodRef(metadata, owner)?.uid === home.uid) return target;
  throw new NotFoundError(`pod ${home.namespace}/${home.name} (${home.uid}) does not run in the far cluster`);
}

/** A parameter of a query; one that is `undefined` or `false` is left out. */
type Parameter = string | number | boolean | readonly string[] | undefined;

/** Path of a pod's subresource, with its query. */
export function subresourcePath({ namespace, name }: FarTarget, subresource: string, query: Readonly<Record<string, Parameter>>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === false) continue;
    for (const each of Array.isArray(value) ? value : [value]) parameters.append(key, String(each));
  }
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/${subresource}`;
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}
