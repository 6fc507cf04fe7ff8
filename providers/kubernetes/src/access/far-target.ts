import type { PodRef } from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { FarCluster } from "../far/far-cluster.ts";
import type { FarOwner } from "../identity/tags.ts";

/** A pod of the far cluster, and the home pod for which it runs. */
export interface FarTarget {
  readonly home: PodRef;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Finds the far pod of a home pod.
 *
 * @throws NotFoundError if there is none; UnavailableError while that is not known
 */
export function farTargetOf(far: Pick<FarCluster, "podOf" | "isCurrent">, owner: FarOwner, home: PodRef): FarTarget {
  const { namespace, name } = far.podOf(owner, home.uid)?.metadata ?? {};
  if (namespace !== undefined && name !== undefined) return { home, namespace, name };
  const what = `pod ${home.namespace}/${home.name} (${home.uid})`;
  if (far.isCurrent) throw new NotFoundError(`${what} does not run in the far cluster`);
  throw new UnavailableError(`${what}: the far cluster does not answer, so it is not known whether the pod runs there; try again later`);
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
