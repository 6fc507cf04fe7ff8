import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { endpointsKind, endpointSliceKind } from "../../kinds/plain/named-kinds.ts";
import { serviceKind } from "../../kinds/service/service.ts";
import type { Cluster } from "../../rest/cluster.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { controllerReference } from "../shared/ownership.ts";
import { isNamespaceTerminating } from "../shared/pod-control.ts";
import {
  contentOf,
  type EndpointSubset,
  headlessLabel,
  managedByLabel,
  serviceNameLabel,
  type SliceContent,
  triggerTimeAnnotation,
} from "./endpoint-fields.ts";
import { isHeadless } from "./service-pods.ts";
import type { SliceChanges } from "./slice-plan.ts";
import { truncated } from "./subsets.ts";

/** Value of {@link managedByLabel} on slices of services with a selector. */
export const sliceController = "endpointslice-controller.k8s.io";
const endpointsManagedByLabel = "endpoints.kubernetes.io/managed-by";
const endpointsController = "endpoint-controller";
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

type Labels = Readonly<Record<string, string>>;

/** Whether two sets of labels are equal, in any order. */
export function sameLabels(a: Labels | undefined, b: Labels): boolean {
  const keys = Object.keys(a ?? {});
  return keys.length === Object.keys(b).length && keys.every((key) => a?.[key] === b[key]);
}

export function isOwnedBy(slice: Readonly<ApiObject>, { metadata: { uid } }: Readonly<ApiObject>): boolean {
  return (
    slice.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.kind === "Service" && owner.apiVersion === "v1") ?? false
  );
}

/** Labels of a service's slices. Source: k8s.io/endpointslice v0.36.3 utils.go, `setEndpointSliceLabels`. */
export function sliceLabels({ metadata: { name, labels = {} }, spec }: Readonly<ApiObject>): Labels {
  const { [headlessLabel]: _headless, ...own } = labels;
  return { ...own, ...(isHeadless(spec) ? { [headlessLabel]: "" } : {}), [serviceNameLabel]: name, [managedByLabel]: sliceController };
}

export function deleteSlice(cluster: Cluster, { metadata: { namespace, name, uid } }: Readonly<ApiObject>): void {
  cluster.delete(endpointSliceKind, namespace, name, { uid });
}

/** What {@link writeSlices} writes. */
export interface SliceWrites {
  readonly changes: SliceChanges;
  readonly labels: Labels;
  /** All slices of the service and type. */
  readonly existing: readonly Readonly<ApiObject>[];
  readonly triggerTime: string | undefined;
}

/** Carries out the changes of a service's slices, and updates the labels of the others. */
export function writeSlices(
  { cluster }: ControllerContext,
  service: Readonly<ApiObject>,
  { changes: { created, updated, deleted }, labels, existing, triggerTime }: SliceWrites,
): void {
  const { namespace, name, deletionTimestamp } = service.metadata;
  const ownerReferences = [controllerReference(serviceKind, service)];
  const annotations = triggerTime === undefined ? undefined : { [triggerTimeAnnotation]: triggerTime };
  for (const content of deletionTimestamp === undefined ? created : []) {
    const metadata = { generateName: slicePrefix(name), namespace, labels, ownerReferences, annotations };
    if (!tryCreate(cluster, { metadata, ...content })) return;
  }
  for (const { slice, content } of updated) updateSlice(cluster, slice, { content, labels, triggerTime });
  for (const slice of deleted) deleteSlice(cluster, slice);
  const touched = new Set([...updated.map(({ slice }) => slice), ...deleted]);
  for (const slice of existing)
    if (!touched.has(slice) && !sameLabels(slice.metadata.labels, labels))
      updateSlice(cluster, slice, { content: contentOf(slice), labels, triggerTime });
}

/** @returns whether the namespace still accepts objects */
export function tryCreate(cluster: Cluster, slice: object): boolean {
  try {
    cluster.create(endpointSliceKind, slice);
    return true;
  } catch (error) {
    if (isNamespaceTerminating(error)) return false;
    throw error;
  }
}

/** Prefix of generated names. Source: `getEndpointSlicePrefix`. */
export function slicePrefix(name: string): string {
  return `${name}-`;
}

function updateSlice(
  cluster: Cluster,
  { metadata: { namespace, name } }: Readonly<ApiObject>,
  { content, labels, triggerTime }: { readonly content: SliceContent; readonly labels: Labels; readonly triggerTime: string | undefined },
): void {
  cluster.update(endpointSliceKind, namespace, name, (slice) => {
    setTriggerTime(slice, triggerTime);
    slice.metadata.labels = { ...labels };
    return { ...slice, ports: content.ports, endpoints: content.endpoints };
  });
}

/** What {@link writeEndpoints} writes. */
export interface EndpointsContent {
  readonly subsets: readonly EndpointSubset[];
  readonly triggerTime: string | undefined;
}

/** Writes a service's Endpoints unless they are up to date. Source: Kubernetes v1.36.3 pkg/controller/endpoint/endpoints_controller.go. */
export function writeEndpoints(
  { cluster }: ControllerContext,
  service: Readonly<ApiObject>,
  { subsets: all, triggerTime }: EndpointsContent,
): void {
  const { namespace, name, labels: own = {} } = service.metadata;
  const { [headlessLabel]: _headless, ...others } = own;
  const labels = {
    ...others,
    ...(isHeadless(service["spec"]) ? { [headlessLabel]: "" } : {}),
    [endpointsManagedByLabel]: endpointsController,
  };
  const cut = truncated(all);
  const subsets = cut ?? all;
  const current = cluster.get(endpointsKind, namespace, name);
  const isOverCapacity = current?.metadata.annotations?.[overCapacityAnnotation] !== undefined;
  if (
    current !== undefined &&
    equalJson(current["subsets"] ?? [], subsets) &&
    sameLabels(current.metadata.labels, labels) &&
    isOverCapacity === (cut !== undefined)
  )
    return;
  const change = (endpoints: ApiObject): ApiObject => {
    setTriggerTime(endpoints, triggerTime);
    const { [overCapacityAnnotation]: _over, ...annotations } = endpoints.metadata.annotations ?? {};
    const next = cut === undefined ? annotations : { ...annotations, [overCapacityAnnotation]: "truncated" };
    const { annotations: _old, ...metadata } = endpoints.metadata;
    const { subsets: _subsets, ...fields } = endpoints;
    return {
      ...fields,
      metadata: { ...metadata, labels, ...(Object.keys(next).length === 0 ? {} : { annotations: next }) },
      ...(subsets.length === 0 ? {} : { subsets }),
    };
  };
  if (current !== undefined) {
    cluster.update(endpointsKind, namespace, name, change);
    return;
  }
  try {
    cluster.create(endpointsKind, change({ apiVersion: "v1", kind: "Endpoints", metadata: { name, namespace } } as unknown as ApiObject));
  } catch (error) {
    if (!isNamespaceTerminating(error)) throw error;
  }
}

function setTriggerTime({ metadata }: ApiObject, triggerTime: string | undefined): void {
  const { [triggerTimeAnnotation]: _old, ...annotations } = metadata.annotations ?? {};
  const next = triggerTime === undefined ? annotations : { ...annotations, [triggerTimeAnnotation]: triggerTime };
  if (Object.keys(next).length === 0) delete metadata.annotations;
  else metadata.annotations = next;
}
