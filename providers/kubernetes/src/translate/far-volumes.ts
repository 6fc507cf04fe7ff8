import type { FarVolumeSource } from "../claims/far-volume-source.ts";
import type { Findings } from "./findings.ts";
import { applyTable, type FieldTable } from "./field-table.ts";
import type { Scope, Volume } from "./scope.ts";

type Projected = NonNullable<Volume["projected"]>;
type Projection = NonNullable<Projected["sources"]>[number];
type DownwardItem = NonNullable<NonNullable<Volume["downwardAPI"]>["items"]>[number];
type KeyToPath = NonNullable<NonNullable<Volume["secret"]>["items"]>[number];

/** One translation of a volume. */
interface VolumeScope {
  readonly pod: Scope;
  /** Such as `spec.volumes[0]`. */
  readonly path: string;
}

/** Renames the secret of a volume of an external kind. */
function withSecret<K extends keyof Volume>(kind: K): (volume: Volume, scope: VolumeScope) => Volume[K] {
  return (volume, { pod, path }) => {
    const source: unknown = volume[kind];
    if (!hasSecret(source)) return volume[kind];
    const field = source.nodePublishSecretRef ? "nodePublishSecretRef" : "secretRef";
    const reference = source[field];
    if (!reference) return volume[kind];
    // The source with another name in it.
    return { ...source, [field]: pod.references.rename(reference, { kind: "Secret", fieldPath: `${path}.${kind}.${field}` }) } as Volume[K];
  };
}

interface SecretHolder {
  readonly secretRef?: { name?: string };
  readonly nodePublishSecretRef?: { name?: string };
}

function hasSecret(source: unknown): source is SecretHolder {
  return typeof source === "object" && source !== null && ("secretRef" in source || "nodePublishSecretRef" in source);
}

/**
 * How each kind of volume travels. Disks and shares outside of the cluster are kept, because the far nodes may reach them, too; folders
 * of the node are kept for pods that the policy allows to have them.
 */
export const volumeFields: FieldTable<Volume, VolumeScope> = {
  name: "keep",
  awsElasticBlockStore: "keep",
  azureDisk: "keep",
  azureFile: ({ azureFile }, { pod, path }) =>
    azureFile && {
      ...azureFile,
      secretName: pod.references.copyOf(azureFile.secretName, { kind: "Secret", fieldPath: `${path}.azureFile.secretName` }),
    },
  cephfs: withSecret("cephfs"),
  cinder: withSecret("cinder"),
  configMap: ({ configMap }, { pod, path }) =>
    configMap && pod.references.rename(configMap, { kind: "ConfigMap", fieldPath: `${path}.configMap` }),
  csi: withSecret("csi"),
  // Becomes a volume of the pod's secret.
  downwardAPI: "drop",
  emptyDir: "keep",
  // Becomes a volume of the claim that the home cluster has created for it.
  ephemeral: "drop",
  fc: "keep",
  flexVolume: withSecret("flexVolume"),
  flocker: "keep",
  gcePersistentDisk: "keep",
  gitRepo: "keep",
  glusterfs: "keep",
  hostPath: "keep",
  image: "keep",
  iscsi: withSecret("iscsi"),
  nfs: farShare,
  persistentVolumeClaim: farClaim,
  photonPersistentDisk: "keep",
  portworxVolume: "keep",
  projected: farProjected,
  quobyte: "keep",
  rbd: withSecret("rbd"),
  scaleIO: withSecret("scaleIO"),
  secret: farSecret,
  storageos: withSecret("storageos"),
  vsphereVolume: "keep",
};

/** How each source of a projected volume travels: those that only this pod has become sources of the pod's secret. */
export const projectionFields: FieldTable<Projection, VolumeScope & { readonly volume: string }> = {
  clusterTrustBundle: "drop",
  configMap: ({ configMap }, { pod, path }) =>
    configMap && pod.references.rename(configMap, { kind: "ConfigMap", fieldPath: `${path}.configMap` }),
  downwardAPI: "drop",
  podCertificate: ({ podCertificate }, { pod, path }) => {
    if (podCertificate) refuseCertificate(pod.findings, path);
    return undefined;
  },
  secret: ({ secret, serviceAccountToken, downwardAPI, clusterTrustBundle }, { pod, path, volume }) => {
    if (secret) return pod.references.rename(secret, { kind: "Secret", fieldPath: `${path}.secret` });
    const add = (items: readonly Pick<DownwardItem, "path" | "mode">[]): KeyToPath[] => addPodFiles(pod, volume, items);
    if (serviceAccountToken) return { name: pod.references.podSecret, items: add([{ path: serviceAccountToken.path }]) };
    if (downwardAPI) return { name: pod.references.podSecret, items: add(downwardAPI.items ?? []) };
    if (clusterTrustBundle)
      return {
        name: pod.references.podSecret,
        items: add([{ path: clusterTrustBundle.path }]),
        ...(clusterTrustBundle.optional && { optional: true }),
      };
    return undefined;
  },
  serviceAccountToken: "drop",
};

/** Returns the far pod's volumes. */
export function farVolumes(pod: Scope): Volume[] | undefined {
  return pod.spec.volumes?.flatMap((volume, index) => {
    if (pod.droppedVolumes.has(volume.name)) return [];
    const path = `spec.volumes[${index}]`;
    const onUnknown = (field: string): void =>
      pod.findings.refuse(`${path}.${field}`, "this version does not know the kind of volume; remove the volume or use a newer version");
    return [applyTable(volume, volumeFields, { scope: { pod, path }, onUnknown })];
  });
}

function farSecret({ name, secret, downwardAPI }: Volume, { pod, path }: VolumeScope): Volume["secret"] {
  if (secret?.secretName) {
    const { secretName, optional } = secret;
    return {
      ...secret,
      secretName: pod.references.copyOf(secretName, { kind: "Secret", fieldPath: `${path}.secret.secretName`, optional }),
    };
  }
  if (!downwardAPI) return secret;
  const { defaultMode, items = [] } = downwardAPI;
  return {
    secretName: pod.references.podSecret,
    items: addPodFiles(pod, name, items),
    ...(defaultMode !== undefined && { defaultMode }),
  };
}

/** The far source of a volume for a claim. A claim without one is refused. */
function claimedSource({ name, persistentVolumeClaim, ephemeral }: Volume, { pod, path }: VolumeScope): FarVolumeSource | undefined {
  if (!persistentVolumeClaim && !ephemeral) return undefined;
  const source = pod.facts.claims.get(name);
  if (!source)
    pod.findings.refuse(
      `${path}.${persistentVolumeClaim ? "persistentVolumeClaim" : "ephemeral"}`,
      "its claim has no counterpart in the far cluster; use a StorageClass with the provisioner of claims.provisioner",
    );
  return source;
}

function farClaim(volume: Volume, scope: VolumeScope): Volume["persistentVolumeClaim"] {
  const source = claimedSource(volume, scope);
  return source && "persistentVolumeClaim" in source ? { ...source.persistentVolumeClaim } : undefined;
}

/** A share that the pod names, or that is behind its claim. */
function farShare(volume: Volume, { pod }: VolumeScope): Volume["nfs"] {
  const source = pod.facts.claims.get(volume.name);
  return source && "nfs" in source ? { ...source.nfs } : volume.nfs;
}

function farProjected({ name, projected }: Volume, { pod, path }: VolumeScope): Projected | undefined {
  if (!projected) return undefined;
  const sources = projected.sources?.map((source, index) => {
    const sourcePath = `${path}.projected.sources[${index}]`;
    const onUnknown = (field: string): void =>
      pod.findings.refuse(`${sourcePath}.${field}`, "this version does not know the source; remove it or use a newer version");
    return applyTable(source, projectionFields, { scope: { pod, path: sourcePath, volume: name }, onUnknown });
  });
  return { ...projected, ...(sources && { sources }) };
}

/** Adds files of a volume to the pod's own secret. @returns the items that mount them */
function addPodFiles({ references }: Scope, volume: string, items: readonly Pick<DownwardItem, "path" | "mode">[]): KeyToPath[] {
  return items.map(({ path, mode }) => ({ key: references.addFile(volume, path), path, ...(mode !== undefined && { mode }) }));
}

function refuseCertificate(findings: Findings, path: string): void {
  findings.refuse(
    `${path}.podCertificate`,
    "the home cluster signs certificates for pods only at the request of its own kubelets; use a secret with a certificate",
  );
}
