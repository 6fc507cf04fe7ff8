import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { persistentVolumeKind } from "../../kinds/volume/persistent-volume.ts";
import { storageClassKind } from "../../kinds/volume/storage-class.ts";
import { claimClassOf, waitsForConsumer } from "../../kinds/volume/volume-class.ts";
import type { ClaimSpec, ClaimStatus, StorageClassObject, VolumeSpec, VolumeStatus } from "../../kinds/volume/volume-fields.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { isTerminal } from "../shared/pod-state.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { claimKeysOf } from "../volume-protection/volume-protection.ts";
import { bestVolume, isBoundTo, mismatchOf } from "./volume-match.ts";
import { builtInProvisioner, provisionVolume } from "./volume-provisioner.ts";
import { annotate, bindVolume, unbindVolume, volumeAnnotations, writeStatus } from "./volume-writes.ts";

const component = "persistentvolume-controller";

/**
 * Binds claims and volumes to each other, and carries out the reclaim policy of released volumes.
 * Source: Kubernetes v1.36.3 pkg/controller/volume/persistentvolume/pv_controller.go.
 */
export function startVolumeBinder(context: ControllerContext): Disposable {
  const { cluster, events } = context;
  const resources = new Disposables();
  const claims = resources.use(createWorkQueue({ ...context, process: syncClaim }));
  const volumes = resources.use(createWorkQueue({ ...context, process: syncVolume }));
  resources.use(
    cluster.watch(persistentVolumeClaimKind, ({ object }) => {
      claims.add(keyOf(object));
      const { volumeName }: ClaimSpec = object["spec"];
      for (const volume of cluster.list(persistentVolumeKind))
        if (volume.metadata.name === volumeName || isBoundTo(volume, object)) volumes.add(keyOf(volume));
    }),
  );
  resources.use(
    cluster.watch(persistentVolumeKind, ({ object }) => {
      volumes.add(keyOf(object));
      for (const claim of cluster.list(persistentVolumeClaimKind)) if (mayConcern(claim, object)) claims.add(keyOf(claim));
    }),
  );
  resources.use(cluster.watch(storageClassKind, () => wakePending()));
  for (const volume of cluster.list(persistentVolumeKind)) volumes.add(keyOf(volume));
  for (const claim of cluster.list(persistentVolumeClaimKind)) claims.add(keyOf(claim));
  return resources;

  function wakePending(): void {
    for (const claim of cluster.list(persistentVolumeClaimKind))
      if ((claim["status"] as ClaimStatus).phase === "Pending") claims.add(keyOf(claim));
  }

  function syncClaim(key: string): void {
    const { namespace, name } = parseKey(key);
    const claim = cluster.get(persistentVolumeClaimKind, namespace, name);
    if (claim === undefined) return;
    if (claim.metadata.annotations?.[volumeAnnotations.bindCompleted] !== undefined) keepBinding(claim);
    else if (claim["spec"].volumeName === undefined) findVolume(claim);
    else bindAsAsked(claim);
  }

  function findVolume(claim: Readonly<ApiObject>): void {
    const className = claimClassOf(claim);
    const storageClass = cluster.get(storageClassKind, undefined, className);
    const isDelayed = waitsForConsumer(storageClass);
    const volume = bestVolume(claim, cluster.list(persistentVolumeKind), { isDelayed });
    if (volume !== undefined) return bindVolume(cluster, volume, claim);
    if (isDelayed && claim.metadata.annotations?.[volumeAnnotations.selectedNode] === undefined) tellDelay(claim);
    else if (className === "")
      tell(claim, "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set");
    else provision(claim, className, storageClass);
  }

  function tellDelay(claim: Readonly<ApiObject>): void {
    const pods = waitingPods(cluster.list(podKind, claim.metadata.namespace), keyOf(claim));
    if (pods.length === 0) tell(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
    else tell(claim, "Normal", "WaitForPodScheduled", `waiting for pod${pods.length > 1 ? "s" : ""} ${pods.join(",")} to be scheduled`);
  }

  function provision(claim: Readonly<ApiObject>, className: string, storageClass: Readonly<ApiObject> | undefined): void {
    if (storageClass === undefined)
      return tell(claim, "Warning", "ProvisioningFailed", `storageclass.storage.k8s.io "${className}" not found`);
    const fields = storageClass as StorageClassObject;
    if (fields.provisioner === "kubernetes.io/no-provisioner")
      return tell(claim, "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set");
    const { provisioner, betaProvisioner } = volumeAnnotations;
    cluster.update(persistentVolumeClaimKind, claim.metadata.namespace, claim.metadata.name, (object) =>
      annotate(object, { [betaProvisioner]: fields.provisioner, [provisioner]: fields.provisioner }),
    );
    if (fields.provisioner === builtInProvisioner) return provisionVolume(context, claim, fields);
    const message = `Waiting for a volume to be created either by the external provisioner '${fields.provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
    tell(claim, "Normal", "ExternalProvisioning", message);
  }

  function bindAsAsked(claim: Readonly<ApiObject>): void {
    const { volumeName = "" }: ClaimSpec = claim["spec"];
    const volume = cluster.get(persistentVolumeKind, undefined, volumeName);
    if (volume === undefined) return;
    if (volume["spec"].claimRef === undefined) {
      const mismatch = mismatchOf(volume, claim);
      if (mismatch === undefined) bindVolume(cluster, volume, claim);
      else tell(claim, "Warning", "VolumeMismatch", `Cannot bind to requested volume "${volumeName}": ${mismatch}`);
    } else if (isBoundTo(volume, claim)) bindVolume(cluster, volume, claim);
    else tell(claim, "Warning", "FailedBinding", `volume "${volumeName}" already bound to a different claim.`);
  }

  function keepBinding(claim: Readonly<ApiObject>): void {
    const { volumeName }: ClaimSpec = claim["spec"];
    const volume = volumeName === undefined ? undefined : cluster.get(persistentVolumeKind, undefined, volumeName);
    if (volumeName === undefined)
      lose(claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
    else if (volume === undefined) lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    else if (volume["spec"].claimRef === undefined || volume["spec"].claimRef.uid === claim.metadata.uid)
      bindVolume(cluster, volume, claim);
    else lose(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly");
  }

  function lose(claim: Readonly<ApiObject>, reason: string, message: string): void {
    if (writeStatus(cluster, persistentVolumeClaimKind, claim, { phase: "Lost", accessModes: undefined, capacity: undefined }))
      tell(claim, "Warning", reason, message);
  }

  function syncVolume(key: string): void {
    const volume = cluster.get(persistentVolumeKind, undefined, parseKey(key).name);
    if (volume === undefined) return;
    const { claimRef }: VolumeSpec = volume["spec"];
    if (claimRef?.uid === undefined) {
      writeStatus(cluster, persistentVolumeKind, volume, { phase: "Available" });
      return;
    }
    const claim = cluster.get(persistentVolumeClaimKind, claimRef.namespace, claimRef.name ?? "");
    if (claim?.metadata.uid !== claimRef.uid) release(volume);
    else if (claim["spec"].volumeName === volume.metadata.name) writeStatus(cluster, persistentVolumeKind, volume, { phase: "Bound" });
    else if (claim["spec"].volumeName === undefined) claims.add(keyOf(claim));
    else unbindVolume(cluster, volume);
  }

  /** Handles a volume whose claim is gone. Volumes of the built-in provisioner are deleted; others are left to their provisioners. */
  function release(volume: Readonly<ApiObject>): void {
    const { phase }: VolumeStatus = volume["status"];
    const { persistentVolumeReclaimPolicy: policy }: VolumeSpec = volume["spec"];
    if (phase !== "Released" && phase !== "Failed") writeStatus(cluster, persistentVolumeKind, volume, { phase: "Released" });
    if (policy === "Delete" && volume.metadata.annotations?.[volumeAnnotations.provisionedBy] === builtInProvisioner)
      cluster.delete(persistentVolumeKind, undefined, volume.metadata.name, { uid: volume.metadata.uid });
  }

  function tell(claim: Readonly<ApiObject>, type: "Normal" | "Warning", reason: string, message: string): void {
    events.record(component, claim, { type, reason, message });
  }
}

/** Names of the pods that use a claim, given by its key, and are neither scheduled nor at their end. */
function waitingPods(pods: readonly Readonly<ApiObject>[], claim: string): string[] {
  const waiting = pods.filter((pod) => !isTerminal(pod) && !pod["spec"].nodeName && claimKeysOf(pod).includes(claim));
  return waiting.map(({ metadata }) => metadata.name);
}

/** Whether a claim could be bound to this volume. */
function mayConcern(claim: Readonly<ApiObject>, volume: Readonly<ApiObject>): boolean {
  const { volumeName }: ClaimSpec = claim["spec"];
  return volumeName === undefined ? (claim["status"] as ClaimStatus).phase !== "Bound" : volumeName === volume.metadata.name;
}
