import type { DeepReadonly, Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from "@virtual-kubelet/kube-client";
import type { ProvisionedSource } from "../provider/volume-provisioner.ts";

/** Annotations of claims and volumes. Source: k8s.io/component-helpers v0.36.3 storage/volume/pv_helpers.go. */
export const volumeAnnotations: Readonly<Record<"provisionedBy" | "selectedNode" | "provisioner" | "betaProvisioner" | "node", string>> = {
  provisionedBy: "pv.kubernetes.io/provisioned-by",
  selectedNode: "volume.kubernetes.io/selected-node",
  provisioner: "volume.kubernetes.io/storage-provisioner",
  betaProvisioner: "volume.beta.kubernetes.io/storage-provisioner",
  /** Ours: the node that made the volume, and is to remove it. */
  node: "virtual-kubelet.io/provisioned-on",
};

const hostnameLabel = "kubernetes.io/hostname";

/** Name of the volume of a claim. Source: sigs.k8s.io/sig-storage-lib-external-provisioner, getProvisionedVolumeNameForClaim. */
export function volumeNameFor(claimUid: string): string {
  return `pvc-${claimUid}`;
}

/** What a PersistentVolume is made of; see {@link persistentVolumeObject}. */
export interface PersistentVolumeParts {
  readonly claim: DeepReadonly<PersistentVolumeClaim>;
  readonly storageClass: DeepReadonly<StorageClass>;
  readonly node: DeepReadonly<Node>;
  readonly source: ProvisionedSource;
}

/** The PersistentVolume that a claim is to be bound to, which can be reached from one node alone. */
export function persistentVolumeObject({ claim, storageClass, node, source }: PersistentVolumeParts): PersistentVolume {
  const { namespace, name, uid = "", resourceVersion } = claim.metadata ?? {};
  const nodeName = node.metadata?.name ?? "";
  const hostname = { key: hostnameLabel, operator: "In", values: [node.metadata?.labels?.[hostnameLabel] ?? nodeName] };
  return {
    metadata: {
      name: volumeNameFor(uid),
      annotations: { [volumeAnnotations.provisionedBy]: storageClass.provisioner, [volumeAnnotations.node]: nodeName },
    },
    spec: {
      capacity: { storage: claim.spec?.resources?.requests?.["storage"] ?? "0" },
      accessModes: [...(claim.spec?.accessModes ?? [])],
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid, resourceVersion },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      storageClassName: storageClass.metadata?.name,
      volumeMode: "Filesystem",
      ...(storageClass.mountOptions?.length ? { mountOptions: [...storageClass.mountOptions] } : {}),
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [hostname] }] } },
      ...sourceField(source),
    },
  };
}

function sourceField(source: ProvisionedSource): Pick<NonNullable<PersistentVolume["spec"]>, "hostPath" | "local" | "nfs" | "flexVolume"> {
  switch (source.kind) {
    case "hostPath":
      return { hostPath: { path: source.path, type: source.type } };
    case "local":
      return { local: { path: source.path } };
    case "nfs":
      return { nfs: { server: source.server, path: source.path } };
    case "flexVolume":
      return { flexVolume: { driver: source.driver, options: { ...source.options } } };
    default:
      return source satisfies never;
  }
}
