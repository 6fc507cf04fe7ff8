import type { ApiObject } from "../../kinds/kind.ts";
import { persistentVolumeKind } from "../../kinds/volume/persistent-volume.ts";
import type { ClaimSpec, StorageClassObject } from "../../kinds/volume/volume-fields.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { volumeAnnotations } from "./volume-writes.ts";

/** Built-in provisioner. Its volumes are host paths that nobody creates. */
export const builtInProvisioner = "embedded.virtual-kubelet.io/host-path";

const directory = "/var/lib/embedded-volumes";

/** Creates a volume that is reserved for the claim; the binder then binds it. */
export function provisionVolume(
  { cluster, events }: ControllerContext,
  claim: Readonly<ApiObject>,
  storageClass: StorageClassObject,
): void {
  const spec: ClaimSpec = claim["spec"];
  const { namespace, name: claimName, uid } = claim.metadata;
  const name = `pvc-${uid}`;
  if (cluster.get(persistentVolumeKind, undefined, name) !== undefined) return;
  cluster.create(persistentVolumeKind, {
    metadata: { name, annotations: { [volumeAnnotations.provisionedBy]: builtInProvisioner } },
    spec: {
      capacity: { storage: spec.resources.requests?.["storage"] },
      accessModes: spec.accessModes,
      claimRef: { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name: claimName, uid },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy,
      storageClassName: storageClass.metadata.name,
      volumeMode: spec.volumeMode,
      ...(storageClass.mountOptions === undefined ? {} : { mountOptions: storageClass.mountOptions }),
      hostPath: { path: `${directory}/${namespace ?? ""}/${claimName}`, type: "DirectoryOrCreate" },
    },
  });
  const message = `Successfully provisioned volume ${name}`;
  events.record(builtInProvisioner, claim, { type: "Normal", reason: "ProvisioningSucceeded", message });
}
