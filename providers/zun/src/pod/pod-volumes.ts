import type { Container, DeepReadonly, Pod, PodSpec, PolicyVolume, VolumePayload } from "@virtual-kubelet/core";
import { InvalidInputError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import { posix } from "node:path";

type Volume = DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>;
type VolumeMount = DeepReadonly<NonNullable<Container["volumeMounts"]>[number]>;

/** Implementation of a pod's volume in Zun. */
export type ZunVolume =
  /** Files from the cluster, each with its own bind mount. */
  | { readonly kind: "files" }
  /** An existing Cinder volume. */
  | { readonly kind: "cinder"; readonly volumeId: string }
  /** A new Cinder volume of this many GiB, which is deleted with the pod. */
  | { readonly kind: "new-cinder"; readonly sizeGib: number }
  /** A directory in the container's own file system. */
  | { readonly kind: "directory" }
  /** Nothing, because the volume is the service account's token and tokens are not provided. */
  | { readonly kind: "none" };

/** Mount of a container, in Zun's format. Source: zun 18.0.0 parameter_types.py (`mounts`). */
export type ZunMount =
  | { readonly type: "bind"; readonly source: string; readonly destination: string }
  | { readonly type: "volume"; readonly source: string; readonly destination: string }
  | { readonly type: "volume"; readonly size: string; readonly destination: string };

/** Maximum size of all files of a container together. Each file is stored in Zun's database. */
const maxFileBytes = 4 * 1024 * 1024;
const gibibyte = 1024n ** 3n;
/** Empty file whose mount creates its directory. */
const keepFile = ".keep";

/** Fields in which a pod refers to an existing Cinder volume. The policy restricts them, because every pod of the project could mount any free volume. */
export const policyVolumes: readonly PolicyVolume[] = [
  { fieldPath: "cinder.volumeID", idOf: ({ cinder }) => cinder?.volumeID },
  { fieldPath: "flexVolume.options.volumeID", idOf: ({ flexVolume }) => flexVolume?.options?.["volumeID"] },
];

/** Options for the mapping of volumes. */
export interface VolumeRules {
  readonly emptyDir: "directory" | "cinder";
  readonly serviceAccountToken: boolean;
}

/**
 * Returns the implementation of each volume of a pod in Zun.
 *
 * @throws UnsupportedError with the field
 */
export function volumesOf(pod: DeepReadonly<Pod>, rules: VolumeRules): ReadonlyMap<string, ZunVolume> {
  return new Map((pod.spec?.volumes ?? []).map((volume, index) => [volume.name, volumeOf(volume, `spec.volumes[${index}]`, rules)]));
}

function volumeOf(volume: Volume, path: string, { emptyDir, serviceAccountToken }: VolumeRules): ZunVolume {
  if (volume.name.startsWith("kube-api-access-") && volume.projected && !serviceAccountToken) return { kind: "none" };
  if (volume.secret || volume.configMap || volume.projected || volume.downwardAPI) return { kind: "files" };
  if (volume.cinder) return { kind: "cinder", volumeId: volume.cinder.volumeID };
  if (volume.flexVolume) return flexVolumeOf(volume.flexVolume, path);
  if (volume.ephemeral) {
    const size = volume.ephemeral.volumeClaimTemplate?.spec.resources?.requests?.["storage"];
    if (size === undefined) throw new InvalidInputError(`${path}.ephemeral requests no storage`);
    return { kind: "new-cinder", sizeGib: toGibibytes(size) };
  }
  const others = Object.keys(volume).filter((key) => key !== "name" && key !== "emptyDir");
  if (others.length > 0) throw new UnsupportedError(`volumes of type ${others[0]}`, { fieldPath: `${path}.${others[0]}` });
  return emptyDir === "cinder" ? { kind: "new-cinder", sizeGib: toGibibytes(volume.emptyDir?.sizeLimit ?? "1Gi") } : { kind: "directory" };
}

function flexVolumeOf({ driver, options = {} }: NonNullable<Volume["flexVolume"]>, path: string): ZunVolume {
  const volumeId = options["volumeID"];
  if (driver === "openstack/cinder" && volumeId) return { kind: "cinder", volumeId };
  throw new UnsupportedError(`flexVolume ${driver} is not supported: expected driver openstack/cinder with options.volumeID`, {
    fieldPath: `${path}.flexVolume`,
  });
}

/**
 * Returns the mounts of a pod's only container.
 *
 * @param payloads - files of the volumes of kind `files`
 * @throws UnsupportedError with the field; InvalidInputError if the files together are too large
 */
export function mountsOf(
  container: DeepReadonly<Container>,
  volumes: ReadonlyMap<string, ZunVolume>,
  payloads: ReadonlyMap<string, VolumePayload>,
): readonly ZunMount[] {
  const mounts = (container.volumeMounts ?? []).flatMap((mount, index): ZunMount[] => {
    const volume = volumes.get(mount.name);
    const fieldPath = `spec.containers[0].volumeMounts[${index}].subPath`;
    const hasSubPath = Boolean(mount.subPath ?? mount.subPathExpr);
    switch (volume?.kind) {
      case "files":
        return filesUnder(mount, payloads.get(mount.name));
      case "cinder":
      case "new-cinder":
        if (hasSubPath) throw new UnsupportedError("Zun mounts a Cinder volume as a whole", { fieldPath });
        return [
          volume.kind === "cinder"
            ? { type: "volume", source: volume.volumeId, destination: mount.mountPath }
            : { type: "volume", size: String(volume.sizeGib), destination: mount.mountPath },
        ];
      case "directory":
        return [{ type: "bind", source: "", destination: posix.join(mount.mountPath, keepFile) }];
      default:
        return [];
    }
  });
  checkSize(mounts);
  // If two mounts contain the same file, the later one is used, as in a kubelet.
  return [...new Map(mounts.map((mount) => [mount.destination, mount])).values()];
}

function filesUnder({ mountPath, subPath }: VolumeMount, payload: VolumePayload | undefined): ZunMount[] {
  const files = payload?.files ?? [];
  const bind = (content: Uint8Array, destination: string): ZunMount => ({
    type: "bind",
    source: Buffer.from(content).toString("base64"),
    destination,
  });
  if (!subPath) return files.map(({ path, content }) => bind(content, posix.join(mountPath, path)));
  const wanted = posix.normalize(subPath).replace(/\/$/, "");
  return files.flatMap(({ path, content }) => {
    if (path === wanted) return [bind(content, mountPath)];
    return path.startsWith(`${wanted}/`) ? [bind(content, posix.join(mountPath, path.slice(wanted.length + 1)))] : [];
  });
}

function checkSize(mounts: readonly ZunMount[]): void {
  const bytes = mounts.reduce((sum, mount) => sum + ("source" in mount && mount.type === "bind" ? (mount.source.length * 3) / 4 : 0), 0);
  if (bytes > maxFileBytes)
    throw new InvalidInputError(
      `mount ${Math.ceil(bytes / 1024)} KiB of secrets and config maps: Zun keeps files in its database, and ${maxFileBytes / 1024} KiB is the most here`,
    );
}

function toGibibytes(size: string): number {
  return Math.max(1, Number((wholeUnits(parseQuantity(size)) + gibibyte - 1n) / gibibyte));
}
