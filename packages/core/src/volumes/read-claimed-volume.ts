import { InvalidInputError, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { matchesNodeSelector } from "@virtual-kubelet/kubernetes";
import type { ClaimedVolume, ClaimedVolumeSource } from "../provider/claimed-volume.ts";
import { withCodeOf } from "./collect-all.ts";

type Volume = DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>;

/** A pod, and one of its volumes. */
export interface ClaimOfPod {
  readonly pod: DeepReadonly<Pod>;
  readonly volume: Volume;
}

/** Keeps a claim that is deleted from going while a pod uses it. Source: kubernetes v1.36.3 pkg/volume/util/finalizer.go. */
const protectionFinalizer = "kubernetes.io/pvc-protection";

/** Source: `MountOptionAnnotation` of k8s.io/api v0.36.3 core/v1/types.go. */
const mountOptionAnnotation = "volume.beta.kubernetes.io/mount-options";

/**
 * Name of the claim that a volume uses; `undefined` for a volume of another type.
 * Source: VolumeClaimName in k8s.io/component-helpers v0.36.3 storage/ephemeral.
 */
export function claimNameOf({ pod, volume }: ClaimOfPod): string | undefined {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral ? `${pod.metadata?.name}-${volume.name}` : undefined;
}

/** Reads what claims and volumes there are, each by its name. */
export interface ClaimReader {
  /** @throws NotFoundError, and what the API server answers */
  getClaim(namespace: string, name: string, signal: AbortSignal): Promise<DeepReadonly<PersistentVolumeClaim>>;
  /** @throws NotFoundError, and what the API server answers */
  getPersistentVolume(name: string, signal: AbortSignal): Promise<DeepReadonly<PersistentVolume>>;
  /** The registered node; absent before it is registered. Its labels decide whether a volume can be reached from it. */
  node(): DeepReadonly<Node> | undefined;
}

/**
 * Follows a pod's claim to its volume.
 * Source: createVolumeSpec, getPVCExtractPV and getPVSpec in kubernetes v1.36.3
 * pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go.
 *
 * @throws in a kubelet's words: UnavailableError while the two are not bound to each other; InvalidInputError for a claim or volume that is
 * missing, or that the pod cannot have; what the API server answers
 */
export async function readClaimedVolume(
  of: ClaimOfPod,
  claimName: string,
  reader: ClaimReader,
  signal: AbortSignal,
): Promise<ClaimedVolume> {
  const { namespace = "default" } = of.pod.metadata ?? {};
  const processing = `error processing PVC ${namespace}/${claimName}`;
  const words = { unmounted: `Unable to attach or mount volumes: ${unprocessed(of.volume.name)}`, processing };
  const read = async <T>(what: string, reading: Promise<T>): Promise<T> =>
    reading.catch((error: unknown) => {
      signal.throwIfAborted();
      throw withCodeOf(error, `${words.unmounted}: ${processing}: failed to fetch ${what} from API server: ${messageOf(error)}`);
    });
  const claim = await read("PVC", reader.getClaim(namespace, claimName, signal));
  const volumeName = boundVolumeName(of, claim, words);
  const volume = await read(`PV ${volumeName}`, reader.getPersistentVolume(volumeName, signal));
  checkBinding(of, { claim, volume }, words);
  checkNodeAffinity(volume, reader.node());
  return claimedVolume(of, claim, volume);
}

/** Source: WaitForAttachAndMount of kubernetes v1.36.3 pkg/kubelet/volumemanager/volume_manager.go. */
function unprocessed(volume: string): string {
  return `unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]`;
}

/** Beginnings of a kubelet's messages. */
interface Words {
  readonly unmounted: string;
  readonly processing: string;
}

/** Source: VolumeIsForPod in k8s.io/component-helpers v0.36.3 storage/ephemeral, besides those of {@link readClaimedVolume}. */
function boundVolumeName(
  { pod, volume }: ClaimOfPod,
  { metadata, spec, status }: DeepReadonly<PersistentVolumeClaim>,
  { unmounted, processing }: Words,
): string {
  const notYet = (problem: string): never => {
    throw new UnavailableError(`${unmounted}: ${processing}: ${problem}`);
  };
  if (metadata?.deletionTimestamp !== undefined && !metadata.finalizers?.includes(protectionFinalizer)) notYet("PVC is being deleted");
  if (status?.phase !== "Bound") notYet("PVC is not bound");
  if (volume.ephemeral && !metadata?.ownerReferences?.some(({ controller, uid }) => controller === true && uid === pod.metadata?.uid)) {
    const [claim, owner] = [metadata, pod.metadata].map((of) => `${of?.namespace}/${of?.name}`);
    throw new InvalidInputError(`${unmounted}: PVC ${claim} was not created for pod ${owner} (pod is not owner)`);
  }
  return spec?.volumeName || notYet("PVC has empty pvc.Spec.VolumeName");
}

function checkBinding(
  { volume: { name: volumeName } }: ClaimOfPod,
  { claim, volume }: { readonly claim: DeepReadonly<PersistentVolumeClaim>; readonly volume: DeepReadonly<PersistentVolume> },
  { unmounted, processing }: Words,
): void {
  const { claimRef, volumeMode = "Filesystem" } = volume.spec ?? {};
  const found = `${unmounted}: ${processing}: found PV object ${volume.metadata?.name} but`;
  if (!claimRef) throw new UnavailableError(`${found} it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`);
  if (claimRef.uid !== claim.metadata?.uid)
    throw new UnavailableError(`${found} its pv.Spec.ClaimRef.UID ${claimRef.uid} does not point to claim.UID ${claim.metadata?.uid}`);
  if (volumeMode !== "Filesystem")
    throw new InvalidInputError(`${unmounted}: volume ${volumeName} has volumeMode ${volumeMode}, but is specified in volumeMounts`);
}

/** Source: checkNodeAffinity in kubernetes v1.36.3 pkg/volume/util/operationexecutor/operation_generator.go. A node's name does not count. */
function checkNodeAffinity({ metadata, spec }: DeepReadonly<PersistentVolume>, node: DeepReadonly<Node> | undefined): void {
  const required = spec?.nodeAffinity?.required;
  if (!required || matchesNodeSelector(required, { metadata: { labels: node?.metadata?.labels } })) return;
  throw new InvalidInputError(`MountVolume.NodeAffinity check failed for volume "${metadata?.name}" : no matching NodeSelectorTerms`);
}

function claimedVolume(
  { volume }: ClaimOfPod,
  claim: DeepReadonly<PersistentVolumeClaim>,
  { metadata, spec = {} }: DeepReadonly<PersistentVolume>,
): ClaimedVolume {
  const { namespace = "", name = "", uid = "" } = claim.metadata ?? {};
  const { accessModes = [], mountOptions = [] } = spec;
  const fromAnnotation = metadata?.annotations?.[mountOptionAnnotation]?.split(",");
  return {
    name: metadata?.name ?? "",
    claim: { namespace, name, uid },
    source: sourceOf(spec),
    accessModes,
    isReadOnly: [volume.persistentVolumeClaim, spec.nfs, spec.flexVolume].some((each) => each?.readOnly === true),
    mountOptions: [...new Set(fromAnnotation ?? mountOptions)].filter((option) => option !== "").sort(),
  };
}

/** Fields of a PersistentVolume that say nothing of its type. */
const commonFields: ReadonlySet<string> = new Set([
  "accessModes",
  "capacity",
  "claimRef",
  "mountOptions",
  "nodeAffinity",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "volumeAttributesClassName",
  "volumeMode",
]);

/** What a PersistentVolume is made of. */
export function sourceOf(spec: NonNullable<DeepReadonly<PersistentVolume>["spec"]>): ClaimedVolumeSource {
  const { hostPath, local, nfs, flexVolume, csi } = spec;
  if (hostPath) return { kind: "hostPath", path: hostPath.path, type: hostPath.type ?? "" };
  if (local) return { kind: "local", path: local.path };
  if (nfs) return { kind: "nfs", server: nfs.server, path: nfs.path };
  if (flexVolume) return { kind: "flexVolume", driver: flexVolume.driver, options: flexVolume.options ?? {} };
  const [type = "none"] = Object.entries(spec).flatMap(([field, value]) => (value && !commonFields.has(field) ? [field] : []));
  return { kind: "other", type, driver: csi?.driver, handle: csi?.volumeHandle };
}
