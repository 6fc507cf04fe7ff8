import type { DeepReadonly, EndpointSlice, ObjectMeta, OwnerReference, Service } from "@virtual-kubelet/kube-client";
import { ownerTags } from "../identity/tags.ts";
import type { AddressMap } from "../status/address-map.ts";
import { isFarMirror, isHomeMirror, isMirrored, isWrittenBy, mirrorLabels, mirrorOwner, type MirrorDirection } from "./mirror-tags.ts";
import { mirroredService, serviceForm, type CopyMarks } from "./mirrored-service.ts";
import { mirroredSlice } from "./mirrored-slice.ts";

/** What decides how Services are mirrored one way. */
export interface DirectionContext {
  readonly clusterId: string;
  readonly nodeNames: ReadonlySet<string>;
  readonly addresses: AddressMap;
  readonly carriesLabel: (key: string) => boolean;
  /** Reference to the mirror's owner object in the far namespace. */
  readonly owner: OwnerReference;
}

/** How Services are mirrored one way: the copies, and how they are recognized. */
export interface DirectionRules {
  /** Part of the names of copied EndpointSlices. */
  readonly scope: string;
  /** Whether the mirror between these clusters wrote an object of the target cluster, on any of its nodes. */
  isOurs(metadata: DeepReadonly<ObjectMeta> | undefined): boolean;
  service(source: DeepReadonly<Service>, namespace: string): Service;
  /** @param copy - the copied Service */
  slices(
    source: DeepReadonly<Service>,
    slices: readonly DeepReadonly<EndpointSlice>[],
    copy: DeepReadonly<Service> | undefined,
  ): EndpointSlice[];
}

/** Rules of one direction. */
export function directionRules(direction: MirrorDirection, context: DirectionContext): DirectionRules {
  return direction === "toFar" ? towardsFar(context) : towardsHome(context);
}

function towardsFar({ clusterId, addresses, carriesLabel, owner }: DirectionContext): DirectionRules {
  const marks: CopyMarks = { scope: clusterId, ...ownerTags(mirrorOwner(clusterId)), ownerReferences: [owner] };
  return {
    scope: marks.scope,
    isOurs: (metadata) => isFarMirror(metadata, clusterId),
    service: (source, namespace) => mirroredService(source, namespace, marks, carriesLabel),
    slices: (source, slices, copy) => copies(source, slices, copy, marks, addresses.toFar),
  };
}

function towardsHome({ nodeNames, addresses, owner }: DirectionContext): DirectionRules {
  const marks: CopyMarks = { scope: owner.uid, labels: { [mirrorLabels.pair]: owner.uid } };
  return {
    scope: marks.scope,
    isOurs: (metadata) =>
      isHomeMirror(metadata) && (metadata?.labels?.[mirrorLabels.pair] === owner.uid || isWrittenBy(metadata, nodeNames)),
    service: (source, namespace) => mirroredService(source, namespace, marks, () => true),
    slices(source, slices, copy) {
      const { name = "", uid = "" } = copy?.metadata ?? {};
      // Home has no owner object: there the garbage collector removes the slices with their Service.
      const ownerReferences = [{ apiVersion: "v1", kind: "Service", name, uid, controller: true }];
      return copies(source, slices, copy, { ...marks, ownerReferences }, addresses.toHome);
    },
  };
}

function copies(
  source: DeepReadonly<Service>,
  slices: readonly DeepReadonly<EndpointSlice>[],
  copy: DeepReadonly<Service> | undefined,
  marks: CopyMarks,
  translate: (address: string) => string | undefined,
): EndpointSlice[] {
  const target = { namespace: copy?.metadata?.namespace ?? "", isHeadless: serviceForm(source) === "headless" };
  return slices
    .filter(({ metadata }) => !isMirrored(metadata))
    .map((slice) => mirroredSlice(slice, target, marks, translate))
    .toSorted((one, other) => ((one.metadata?.name ?? "") < (other.metadata?.name ?? "") ? -1 : 1));
}
