import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerOf, controllerReference } from "../shared/ownership.ts";
import { isNamespaceTerminating } from "../shared/pod-control.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

const component = "ephemeral_volume";

/** A volume whose claim lives as long as its pod. */
interface EphemeralVolume {
  readonly name: string;
  readonly ephemeral: {
    readonly volumeClaimTemplate?: { readonly metadata?: Pick<ApiObject["metadata"], "labels" | "annotations">; readonly spec: object };
  };
}

/** Name of the claim of a pod's ephemeral volume. */
export function ephemeralClaimName(pod: Readonly<ApiObject>, volume: string): string {
  return `${pod.metadata.name}-${volume}`;
}

function ephemeralVolumesOf(pod: Readonly<ApiObject>): EphemeralVolume[] {
  const volumes: readonly Partial<EphemeralVolume>[] = pod["spec"].volumes ?? [];
  return volumes.filter((volume): volume is EphemeralVolume => volume.ephemeral !== undefined);
}

/**
 * Creates the claims of generic ephemeral volumes, owned by their pods.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/volume/ephemeral/controller.go.
 */
export function startEphemeralVolumes(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  const look = (pod: Readonly<ApiObject>): void => {
    if (ephemeralVolumesOf(pod).length > 0) queue.add(keyOf(pod));
  };
  resources.use(cluster.watch(podKind, ({ type, object }) => type === "ADDED" && look(object)));
  resources.use(
    cluster.watch(persistentVolumeClaimKind, ({ type, object }) => {
      const owner = type === "DELETED" ? controllerOf(object) : undefined;
      if (owner?.kind === "Pod") queue.add(`${object.metadata.namespace ?? ""}/${owner.name}`);
    }),
  );
  for (const pod of cluster.values(podKind)) look(pod);
  return resources;

  function sync(key: string): void {
    const { namespace, name } = parseKey(key);
    const pod = cluster.get(podKind, namespace, name);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    for (const volume of ephemeralVolumesOf(pod)) {
      try {
        claim(pod, volume);
      } catch (error) {
        if (isNamespaceTerminating(error)) return;
        const message = `ephemeral volume ${volume.name}: ${error instanceof Error ? error.message : String(error)}`;
        context.events.record(component, pod, { type: "Warning", reason: "FailedBinding", message });
        throw error;
      }
    }
  }

  function claim(pod: Readonly<ApiObject>, volume: EphemeralVolume): void {
    const { namespace = "", uid } = pod.metadata;
    const name = ephemeralClaimName(pod, volume.name);
    const existing = cluster.get(persistentVolumeClaimKind, namespace, name);
    if (existing !== undefined) {
      if (controllerOf(existing)?.uid === uid) return;
      throw new Error(`PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`);
    }
    const { metadata: { labels, annotations } = {}, spec } = volume.ephemeral.volumeClaimTemplate ?? { spec: {} };
    const ownerReferences = [controllerReference(podKind, pod)];
    cluster.create(persistentVolumeClaimKind, { metadata: { name, namespace, labels, annotations, ownerReferences }, spec });
  }
}
