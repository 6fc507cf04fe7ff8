import { providerTaintKey } from "@virtual-kubelet/core";
import type { PodSpec } from "@virtual-kubelet/kube-client";
import { isDeepStrictEqual } from "node:util";
import type { SchedulingConfig } from "../config/scheduling.ts";

type Toleration = NonNullable<PodSpec["tolerations"]>[number];

/** Keys of the taints that virtual nodes have by default. */
export const virtualNodeTaints: readonly string[] = [providerTaintKey, "virtual-kubelet.io/provider-unavailable"];

/** Tolerations that the API server adds to each pod, and the far one again. */
const defaultKeys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const defaultSeconds = 300;

/** Returns the far pod's tolerations: those of the home pod that do not concern the virtual node, and the configured ones. */
export function farTolerations(
  tolerations: readonly Toleration[] | undefined,
  { tolerations: added }: Pick<SchedulingConfig, "tolerations">,
): Toleration[] | undefined {
  const own = (tolerations ?? []).filter((toleration) => !virtualNodeTaints.includes(toleration.key ?? "") && !isDefault(toleration));
  const all = [...own, ...added].filter((one, index, list) => list.findIndex((other) => isDeepStrictEqual(one, other)) === index);
  return all.length === 0 ? undefined : all.map((toleration) => ({ ...toleration }));
}

function isDefault({ key = "", operator, effect, tolerationSeconds }: Toleration): boolean {
  return defaultKeys.includes(key) && operator === "Exists" && effect === "NoExecute" && tolerationSeconds === defaultSeconds;
}
