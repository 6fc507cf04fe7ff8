import type { Clock, Random } from "@virtual-kubelet/clock";
import { ConflictError, InvalidInputError, isConflict, isInvalidInput, isUnsupported, messageOf } from "@virtual-kubelet/errdefs";
import {
  isGoneObject,
  Reflector,
  resources,
  WorkQueue,
  type DeepReadonly,
  type EventRecorder,
  type KubeClient,
  type Logger,
  type Metrics,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";
import { readObject } from "../api-server/read-object.ts";
import { sourceOf } from "../volumes/read-claimed-volume.ts";
import { persistentVolumeObject, volumeAnnotations, volumeNameFor } from "./persistent-volume-object.ts";
import type { Provider } from "../provider/provider.ts";
import type { VolumeProvisioner, VolumeWish } from "../provider/volume-provisioner.ts";
import type { CoreReason } from "../reasons/core-reasons.ts";

/** Number of volumes that are created and removed at once. */
const concurrency = 4;

/** Deadline of one call of a provider in milliseconds, long because a volume may hold very many files. */
const callTimeoutMs = 600_000;

export interface VolumeProvisioningOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tells when everything has to be listed anew. */
  readonly history?: ServerHistory | undefined;
  readonly recorder: Pick<EventRecorder<CoreReason>, "event">;
  readonly provisioner: VolumeProvisioner;
  /** As `ProviderDefinition.provisioners`. */
  readonly names: readonly string[];
  /** The registered node; absent before it is registered. */
  node(): DeepReadonly<Node> | undefined;
}

/**
 * Creates volumes for the claims whose pods were scheduled to this node, and removes those whose claims are gone, like an external provisioner,
 * for volumes on the node.
 * Source of its rules: sigs.k8s.io/sig-storage-lib-external-provisioner v11 controller/controller.go.
 */
export class VolumeProvisioning {
  readonly #options: VolumeProvisioningOptions;
  readonly #claims: Reflector<PersistentVolumeClaim>;
  readonly #volumes: Reflector<PersistentVolume>;
  readonly #queue: WorkQueue;

  constructor(options: VolumeProvisioningOptions) {
    this.#options = options;
    this.#claims = new Reflector<PersistentVolumeClaim>({ ...options, resource: resources.persistentVolumeClaims });
    this.#volumes = new Reflector<PersistentVolume>({ ...options, resource: resources.persistentVolumes });
    this.#queue = new WorkQueue({ ...options, name: "volumes" });
  }

  /** Works until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    using _claims = this.#claims.store.subscribe(({ type, uid, object }) => {
      if (type !== "deleted" && this.#isWaiting(object)) this.#queue.add(`claim/${uid}`);
      // Whose volume may go now.
      if (type === "deleted") this.#queue.add(`volume/${volumeNameFor(uid)}`);
    });
    using _volumes = this.#volumes.store.subscribe(({ type, object }) => {
      if (type !== "deleted" && this.#isReleased(object)) this.#queue.add(`volume/${object.metadata?.name}`);
    });
    const reflecting = [this.#claims.run(signal), this.#volumes.run(signal)];
    const handler = (key: string, inner: AbortSignal): Promise<void> => this.#work(key, inner);
    await Promise.all([...reflecting, this.#queue.run({ concurrency, handler, signal, logger })]);
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const id = key.slice(key.indexOf("/") + 1);
    if (key.startsWith("claim/")) {
      const claim = this.#claims.store.get(id);
      if (claim && this.#isWaiting(claim)) await this.#provision(claim, signal);
      return;
    }
    const volume = this.#volumes.store.getByName(undefined, id);
    if (volume && this.#isReleased(volume)) await this.#remove(volume, signal);
  }

  /** Whether a claim waits for a volume on this node. */
  #isWaiting({ metadata, spec }: DeepReadonly<PersistentVolumeClaim>): boolean {
    const annotations = metadata?.annotations ?? {};
    const provisioner = annotations[volumeAnnotations.provisioner] ?? annotations[volumeAnnotations.betaProvisioner] ?? "";
    const { selectedNode } = volumeAnnotations;
    const isHere = annotations[selectedNode] !== undefined && annotations[selectedNode] === this.#nodeName;
    return isHere && this.#options.names.includes(provisioner) && !spec?.volumeName && metadata?.deletionTimestamp === undefined;
  }

  /** Whether a volume looks like one of ours that has to be removed. */
  #isReleased({ metadata, spec, status }: DeepReadonly<PersistentVolume>): boolean {
    const { annotations = {}, name, deletionTimestamp } = metadata ?? {};
    const isOurs =
      this.#options.names.includes(annotations[volumeAnnotations.provisionedBy] ?? "") &&
      annotations[volumeAnnotations.node] !== undefined &&
      annotations[volumeAnnotations.node] === this.#nodeName &&
      name === volumeNameFor(spec?.claimRef?.uid ?? "");
    return isOurs && status?.phase === "Released" && spec?.persistentVolumeReclaimPolicy === "Delete" && deletionTimestamp === undefined;
  }

  get #nodeName(): string | undefined {
    return this.#options.node()?.metadata?.name;
  }

  async #provision(claim: DeepReadonly<PersistentVolumeClaim>, signal: AbortSignal): Promise<void> {
    const { clock, client, recorder } = this.#options;
    const { namespace = "", name = "", uid = "" } = claim.metadata ?? {};
    const regarding = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid };
    const className = claim.spec?.storageClassName ?? "";
    try {
      // Whoever was in between must not have a volume made twice, or for a claim that is gone.
      const current = await readObject({ client, clock, resource: resources.persistentVolumeClaims }, { namespace, name }, signal);
      if (current?.metadata?.uid !== uid || !this.#isWaiting(current)) return;
      const volumeName = volumeNameFor(uid);
      if (this.#volumes.store.getByName(undefined, volumeName)) return;
      const storageClass = await client.get(resources.storageClasses, { name: className }, { signal });
      checkWish(current, storageClass, this.#options.names);
      await this.#make(current, storageClass, signal);
      recorder.event(regarding, "Normal", "ProvisioningSucceeded", `Successfully provisioned volume ${volumeName}`);
    } catch (error) {
      signal.throwIfAborted();
      recorder.event(
        regarding,
        "Warning",
        "ProvisioningFailed",
        `failed to provision volume with StorageClass "${className}": ${messageOf(error)}`,
      );
      // It is looked at again when it changes.
      if (isInvalidInput(error) || isUnsupported(error)) return;
      throw error;
    }
  }

  async #make(claim: PersistentVolumeClaim, storageClass: StorageClass, signal: AbortSignal): Promise<void> {
    const { client, provisioner } = this.#options;
    const node = this.#options.node();
    if (!node) return;
    const wish = wishOf(claim, storageClass);
    const source = await this.#call(signal, (inner) => provisioner.provisionVolume(wish, inner));
    const volume = persistentVolumeObject({ claim, storageClass, node, source });
    try {
      await client.create(resources.persistentVolumes, volume, { signal });
    } catch (error) {
      // An answer that was lost: the volume is there, or another one has its name.
      if (!isConflict(error)) throw error;
      const found = await client.get(resources.persistentVolumes, { name: wish.name }, { signal });
      if (found.spec?.claimRef?.uid !== wish.claim.uid || found.metadata?.annotations?.[volumeAnnotations.node] !== node.metadata?.name)
        throw new ConflictError(`PersistentVolume ${wish.name} already exists, but not for this claim on this node`, { cause: error });
    }
  }

  /** Removes a volume after a fresh read from the API server and the provider confirm that it is unused. */
  async #remove(volume: DeepReadonly<PersistentVolume>, signal: AbortSignal): Promise<void> {
    const { client, clock, recorder, provisioner, logger } = this.#options;
    const { name = "", uid = "" } = volume.metadata ?? {};
    try {
      const current = await readObject({ client, clock, resource: resources.persistentVolumes }, { name }, signal);
      if (current?.metadata?.uid !== uid || !this.#isReleased(current)) return;
      const { namespace = "", name: claimName = "", uid: claimUid = "" } = current.spec?.claimRef ?? {};
      const claim = await readObject({ client, clock, resource: resources.persistentVolumeClaims }, { namespace, name: claimName }, signal);
      if (claim?.metadata?.uid === claimUid) throw new ConflictError(`its claim ${namespace}/${claimName} is there`);
      const released = {
        name,
        provisioner: current.metadata.annotations?.[volumeAnnotations.provisionedBy] ?? "",
        claim: { namespace, name: claimName, uid: claimUid },
        source: sourceOf(current.spec ?? {}),
      };
      await this.#call(signal, (inner) => provisioner.removeVolume(released, inner));
      logger.info({ volume: name, claim: `${namespace}/${claimName}` }, "a volume whose claim was deleted has been removed");
      await client.delete(resources.persistentVolumes, { name }, { preconditions: { uid } }, { signal }).catch((error: unknown) => {
        // A different volume of the same name is not ours.
        if (!isGoneObject(error, resources.persistentVolumes, name) && !isConflict(error)) throw error;
      });
    } catch (error) {
      signal.throwIfAborted();
      const regarding = { apiVersion: "v1", kind: "PersistentVolume", namespace: "", name, uid };
      recorder.event(regarding, "Warning", "VolumeFailedDelete", messageOf(error));
      throw error;
    }
  }

  async #call<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = new AbortController();
    using _timer = this.#options.clock.setTimer(callTimeoutMs, () =>
      deadline.abort(new Error(`it took longer than ${callTimeoutMs / 60_000} minutes`)),
    );
    return call(AbortSignal.any([signal, deadline.signal]));
  }
}

function wishOf({ metadata, spec }: DeepReadonly<PersistentVolumeClaim>, storageClass: DeepReadonly<StorageClass>): VolumeWish {
  const { namespace = "", name = "", uid = "" } = metadata ?? {};
  return {
    name: volumeNameFor(uid),
    provisioner: storageClass.provisioner,
    claim: { namespace, name, uid },
    parameters: { ...storageClass.parameters },
    accessModes: spec?.accessModes ?? [],
    storage: spec?.resources?.requests?.["storage"],
    storageClassName: storageClass.metadata?.name,
  };
}

/** The provisioning of a provider's volumes; `undefined` if it creates none. */
export function volumeProvisioning(
  provider: Provider,
  options: Omit<VolumeProvisioningOptions, "provisioner">,
): VolumeProvisioning | undefined {
  const { provisionVolume, removeVolume } = provider;
  if (options.names.length === 0 || !provisionVolume || !removeVolume) return undefined;
  const provisioner: VolumeProvisioner = {
    provisionVolume: (...wish) => provisionVolume.call(provider, ...wish),
    removeVolume: (...volume) => removeVolume.call(provider, ...volume),
  };
  return new VolumeProvisioning({ ...options, provisioner });
}

/** @throws InvalidInputError for what no volume of a node can be */
function checkWish(
  { spec }: DeepReadonly<PersistentVolumeClaim>,
  { metadata, provisioner, volumeBindingMode = "Immediate" }: DeepReadonly<StorageClass>,
  names: readonly string[],
): void {
  const expect = (isSo: boolean, problem: string): void => {
    if (!isSo) throw new InvalidInputError(problem);
  };
  expect(names.includes(provisioner), `its provisioner is ${provisioner} now, expected ${names.join(" or ")}`);
  expect(
    volumeBindingMode === "WaitForFirstConsumer",
    `StorageClass ${metadata?.name}: volumeBindingMode is ${volumeBindingMode}, expected WaitForFirstConsumer: a volume is made where its pod is`,
  );
  expect(spec?.selector === undefined, "claim Selector is not supported");
  expect((spec?.dataSource ?? spec?.dataSourceRef) === undefined, "spec.dataSource: a volume cannot be made from another one");
  expect((spec?.volumeMode ?? "Filesystem") === "Filesystem", `spec.volumeMode: ${spec?.volumeMode} is not supported, expected Filesystem`);
}
