import type { DeepReadonly, EndpointSlice, KubernetesObject, ObjectMeta, Service } from "@virtual-kubelet/kube-client";
import { covers } from "./covers.ts";
import { isMirrorable, serviceForm } from "./mirrored-service.ts";

/** What has to be done so that the cluster has the wanted object. */
export type MirrorStep<T> =
  | { readonly kind: "nothing" }
  | { readonly kind: "create"; readonly wanted: T }
  | { readonly kind: "replace"; readonly wanted: T; readonly stored: DeepReadonly<KubernetesObject> }
  /** A change that the API server does not allow. */
  | { readonly kind: "recreate"; readonly wanted: T; readonly stored: DeepReadonly<KubernetesObject> }
  | { readonly kind: "remove"; readonly stored: DeepReadonly<KubernetesObject> }
  /** The name belongs to an object that is not ours. */
  | { readonly kind: "taken"; readonly stored: DeepReadonly<KubernetesObject> };

type IsOurs = (metadata: DeepReadonly<ObjectMeta> | undefined) => boolean;

/**
 * Which of several Services of one name is mirrored: the oldest, so that a later one takes no name away; of two from the same second, the first
 * by namespace.
 */
export function chooseSource(candidates: readonly DeepReadonly<Service>[]): {
  readonly chosen: DeepReadonly<Service> | undefined;
  readonly refused: readonly DeepReadonly<Service>[];
} {
  const order = ({ metadata }: DeepReadonly<Service>): string => `${metadata?.creationTimestamp} ${metadata?.namespace}`;
  const [chosen, ...refused] = candidates.filter(isMirrorable).toSorted((one, other) => (order(one) < order(other) ? -1 : 1));
  return { chosen, refused };
}

/** Step for the Service of a name. `wanted` is `undefined` if nothing is mirrored under it. */
export function serviceStep(wanted: Service | undefined, stored: DeepReadonly<Service> | undefined, isOurs: IsOurs): MirrorStep<Service> {
  const step = stepFor(wanted, stored, isOurs);
  return step.kind === "replace" && stored && !isChangeable(stored, step.wanted) ? { ...step, kind: "recreate" } : step;
}

/** Whether the API server takes the one for the other: neither the form nor the first IP family of a Service can change. */
function isChangeable(stored: DeepReadonly<Service>, wanted: DeepReadonly<Service>): boolean {
  const [first] = stored.spec?.ipFamilies ?? [];
  const [family = first] = wanted.spec?.ipFamilies ?? [];
  return serviceForm(stored) === serviceForm(wanted) && (first === undefined || family === first);
}

/** Steps for the EndpointSlices of a Service; `stored` are all slices of its name. Slices that are not ours stay as they are. */
export function sliceSteps(
  wanted: readonly EndpointSlice[],
  stored: readonly DeepReadonly<EndpointSlice>[],
  isOurs: IsOurs,
): MirrorStep<EndpointSlice>[] {
  const byName = new Map(stored.map((slice) => [slice.metadata?.name, slice]));
  const names = new Set(wanted.map((slice) => slice.metadata?.name));
  return [
    ...wanted.map((slice) => stepFor(slice, byName.get(slice.metadata?.name), isOurs)),
    ...stored.filter((slice) => !names.has(slice.metadata?.name)).map((slice) => stepFor<EndpointSlice>(undefined, slice, isOurs)),
  ].filter(({ kind }) => kind !== "nothing");
}

function stepFor<T extends KubernetesObject>(
  wanted: T | undefined,
  stored: DeepReadonly<KubernetesObject> | undefined,
  isOurs: IsOurs,
): MirrorStep<T> {
  if (stored === undefined) return wanted === undefined ? { kind: "nothing" } : { kind: "create", wanted };
  if (!isOurs(stored.metadata)) return wanted === undefined ? { kind: "nothing" } : { kind: "taken", stored };
  if (wanted === undefined) return { kind: "remove", stored };
  return covers(stored, wanted) ? { kind: "nothing" } : { kind: "replace", wanted, stored };
}
