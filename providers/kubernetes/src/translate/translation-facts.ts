import type { ResolvedPod } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { readFarVolumeSources } from "../claims/read-far-volume-sources.ts";
import type { TranslationContext, TranslationFacts } from "./scope.ts";

/**
 * Reads the facts for `farPodOf`.
 *
 * @throws UnsupportedError with the field's path for a claim whose volume the far cluster cannot reach; what `resolved` throws for a claim that is
 * not bound yet
 */
export async function readFacts(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  context: TranslationContext,
  signal: AbortSignal,
): Promise<TranslationFacts> {
  const claims = await readFarVolumeSources(pod, resolved, context, signal);
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
