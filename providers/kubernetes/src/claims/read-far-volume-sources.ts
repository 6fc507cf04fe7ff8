import type { ClaimedVolume, DeepReadonly, Pod, ResolvedPod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ClaimsConfig } from "../config/claims.ts";
import type { NamespaceMap } from "../identity/namespaces.ts";
import { farClaimOf } from "./claim-source.ts";
import type { FarVolumeSources, FarVolumeSource } from "./far-volume-source.ts";

/** What {@link readFarVolumeSources} needs to know besides the pod. */
export interface ClaimContext {
  readonly config: { readonly claims: ClaimsConfig };
  readonly namespaces: NamespaceMap;
}

/**
 * Reads the volumes behind a pod's claims.
 *
 * @returns without a cluster, as in a plan, placeholders in braces
 * @throws UnsupportedError with the field's path for a volume that the far cluster cannot reach; what `resolved` throws for a claim that is not
 * bound yet
 */
export async function readFarVolumeSources(
  { metadata, spec }: DeepReadonly<Pod>,
  resolved: Pick<ResolvedPod, "claimedVolume">,
  { config, namespaces }: ClaimContext,
  signal: AbortSignal,
): Promise<FarVolumeSources> {
  const sources = new Map<string, FarVolumeSource>();
  for (const [index, { name, persistentVolumeClaim, ephemeral }] of (spec?.volumes ?? []).entries()) {
    if (!persistentVolumeClaim && !ephemeral) continue;
    const field = `spec.volumes[${index}].${persistentVolumeClaim ? "persistentVolumeClaim" : "ephemeral"}`;
    const farNamespace = namespaces.toFar(metadata?.namespace ?? "default");
    const volume = await resolved.claimedVolume?.(name, signal);
    sources.set(
      name,
      volume
        ? farSourceOf(volume, field, { provisioner: config.claims.provisioner, farNamespace })
        : claimSource(`{far claim of volume ${name}}`, persistentVolumeClaim?.readOnly === true),
    );
  }
  return sources;
}

/** Returns the far source of a volume. @throws UnsupportedError if there is none */
function farSourceOf(
  volume: ClaimedVolume,
  fieldPath: string,
  { provisioner, farNamespace }: { readonly provisioner: string; readonly farNamespace: string },
): FarVolumeSource {
  const { claim, isReadOnly, mountOptions, name, source } = volume;
  const refuse = (problem: string): never => {
    const what = `claim ${claim.namespace}/${claim.name} is bound to PersistentVolume ${name}, ${problem}`;
    throw new UnsupportedError(`${fieldPath}: ${what}`, { fieldPath });
  };
  const farClaim = farClaimOf(source, provisioner);
  if (farClaim && farClaim.namespace !== farNamespace)
    return refuse(
      `whose far claim is in namespace ${farClaim.namespace}, and the pod in ${farNamespace}; the setting namespaces has changed`,
    );
  if (farClaim) return claimSource(farClaim.name, isReadOnly);
  if (source.kind !== "nfs")
    return refuse(
      `${kindOf(source)}, which the far cluster cannot reach; use a StorageClass with the provisioner ${provisioner}, or a volume of type nfs`,
    );
  if (mountOptions.length > 0)
    return refuse(`which has the mountOptions ${mountOptions.join(",")}; a far pod's volume of type nfs cannot have any, so remove them`);
  const { server, path } = source;
  return { nfs: { server, path, ...(isReadOnly && { readOnly: true }) } };
}

function claimSource(claimName: string, readOnly: boolean): FarVolumeSource {
  return { persistentVolumeClaim: { claimName, ...(readOnly && { readOnly }) } };
}

function kindOf(source: ClaimedVolume["source"]): string {
  if (source.kind !== "other" && source.kind !== "flexVolume") return `a ${source.kind} volume of the home cluster`;
  const type = source.kind === "other" ? source.type : source.kind;
  return `a volume of type ${type}${source.driver ? ` with the driver ${source.driver}` : ""}`;
}
