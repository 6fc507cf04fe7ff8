import type { ResolvedPod } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { FarVolumeSource } from "../claims/far-volume-source.ts";
import { farClaimName } from "../identity/names.ts";
import type { TranslationContext, TranslationFacts } from "./scope.ts";

/**
 * Reads the facts for `farPodOf`.
 *
 * @throws what `resolved` throws for a claim that is not bound yet
 */
export async function readFacts(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  context: TranslationContext,
  signal: AbortSignal,
): Promise<TranslationFacts> {
  const claims = new Map<string, FarVolumeSource>();
  for (const { name, persistentVolumeClaim, ephemeral } of pod.spec?.volumes ?? []) {
    if (!persistentVolumeClaim && !ephemeral) continue;
    const volume = await resolved.claimedVolume?.(name, signal);
    const claimName = volume ? farClaimName(context.owner, volume.claim) : `{far claim of volume ${name}}`;
    claims.set(name, {
      persistentVolumeClaim: { claimName, ...((volume?.isReadOnly ?? persistentVolumeClaim?.readOnly) && { readOnly: true }) },
    });
  }
  return { claims, ...(await readServiceFacts(resolved, context, signal)) };
}

/** Reads the facts for `farChangesOf`. */
export async function readServiceFacts(
  resolved: ResolvedPod,
  context: TranslationContext,
  signal: AbortSignal,
): Promise<Pick<TranslationFacts, "serviceVariables">> {
  return needsServiceVariables(context) ? { serviceVariables: await resolved.serviceVariables(signal) } : {};
}

function needsServiceVariables({ config: { carry, network } }: TranslationContext): boolean {
  return network.serviceVariables === "home" || carry.serviceAccountToken === "home";
}
