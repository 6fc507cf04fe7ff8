import { matchesNodeSelector, parseQuantity, selectsLabels } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import { claimClassOf, volumeClassOf } from "../../kinds/volume/volume-class.ts";
import type { ClaimSpec, VolumeSpec, VolumeStatus } from "../../kinds/volume/volume-fields.ts";

/** Source of this file: k8s.io/component-helpers v0.36.3 storage/volume/pv_helpers.go. */

type Volume = Readonly<ApiObject>;
type Claim = Readonly<ApiObject>;

/** Whether a volume is bound to the claim or reserved for it. */
export function isBoundTo({ spec }: Volume, { metadata }: Claim): boolean {
  const { claimRef }: VolumeSpec = spec;
  if (claimRef?.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return claimRef.uid === undefined || claimRef.uid === metadata.uid;
}

/** Whether the volume's node affinity allows the node. */
export function reachesNode({ spec }: Volume, node: Readonly<ApiObject>): boolean {
  const { nodeAffinity }: VolumeSpec = spec;
  if (nodeAffinity?.required === undefined) return true;
  return matchesNodeSelector(nodeAffinity.required, node);
}

/**
 * Reason why a volume that a claim requests by name does not satisfy it; `undefined` if it does. Source: pv_controller.go,
 * checkVolumeSatisfyClaim.
 */
export function mismatchOf(volume: Volume, claim: Claim): string | undefined {
  const spec: VolumeSpec = volume["spec"];
  const wanted: ClaimSpec = claim["spec"];
  if (sizeOf(spec.capacity) < sizeOf(wanted.resources.requests)) return "requested PV is too small";
  if (volumeClassOf(volume) !== claimClassOf(claim)) return "storageClassName does not match";
  if ((spec.volumeMode ?? "Filesystem") !== (wanted.volumeMode ?? "Filesystem")) return "incompatible volumeMode";
  return hasModes(spec, wanted) ? undefined : "incompatible accessMode";
}

/** Best volume for a claim: the one reserved for it, otherwise the smallest free one that satisfies it. */
export function bestVolume(
  claim: Claim,
  volumes: readonly Volume[],
  where: { readonly node?: Readonly<ApiObject>; readonly isDelayed: boolean },
): Volume | undefined {
  const wanted: ClaimSpec = claim["spec"];
  const size = sizeOf(wanted.resources.requests);
  const candidates = volumes.filter((volume) => {
    const spec: VolumeSpec = volume["spec"];
    const isSame =
      (spec.volumeMode ?? "Filesystem") === (wanted.volumeMode ?? "Filesystem") &&
      spec.volumeAttributesClassName === wanted.volumeAttributesClassName;
    const isHeld = volume.metadata.deletionTimestamp !== undefined || (spec.claimRef !== undefined && !isBoundTo(volume, claim));
    return isSame && !isHeld && sizeOf(spec.capacity) >= size && (where.node === undefined || reachesNode(volume, where.node));
  });
  const reserved = candidates.find((volume) => isBoundTo(volume, claim));
  if (reserved !== undefined) return reserved;
  if (where.node === undefined && where.isDelayed) return undefined;
  return candidates
    .filter((volume) => isFree(volume, claim))
    .toSorted((a, b) => Number(sizeOf(a["spec"].capacity) - sizeOf(b["spec"].capacity)) || (a.metadata.name < b.metadata.name ? -1 : 1))[0];
}

function isFree(volume: Volume, claim: Claim): boolean {
  const spec: VolumeSpec = volume["spec"];
  const { phase }: VolumeStatus = volume["status"];
  const wanted: ClaimSpec = claim["spec"];
  return (
    phase === "Available" &&
    (wanted.selector === undefined || selectsLabels(wanted.selector, volume.metadata.labels)) &&
    volumeClassOf(volume) === claimClassOf(claim) &&
    hasModes(spec, wanted)
  );
}

function hasModes({ accessModes: offered = [] }: VolumeSpec, { accessModes: wanted = [] }: ClaimSpec): boolean {
  return wanted.every((mode) => offered.includes(mode));
}

function sizeOf(resources: Readonly<Record<string, string>> | undefined): bigint {
  return parseQuantity(resources?.["storage"] ?? "0").nano;
}
