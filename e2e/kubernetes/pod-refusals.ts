import type { DeepReadonly, PodStatus } from "@virtual-kubelet/kube-client";

const refused = /^not allowed on this node: (?<fields>.*?)(?:; the policy is in the provider's configuration)?$/s;

/** Fields of a pod that the node's policy refuses, in the node's words; `undefined` if there are none. */
export function refusalOf(status: DeepReadonly<PodStatus> | undefined): string | undefined {
  if (status?.reason === "SysctlForbidden") return status.message;
  const containers = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  for (const { state } of containers) {
    const fields = refused.exec(state?.waiting?.message ?? "")?.groups?.["fields"];
    if (fields !== undefined) return fields;
  }
  return undefined;
}

/**
 * What the policy refused to the test that wrote this.
 *
 * @param refusals - by namespace; a test names its own in its output
 */
export function refusalIn(output: string, refusals: ReadonlyMap<string, string>): string | undefined {
  const words = new Set(output.split(/[^a-z0-9-]+/));
  return [...refusals].find(([namespace]) => words.has(namespace))?.[1];
}
