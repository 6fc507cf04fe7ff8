import type { DeepReadonly, PodStatus } from "@virtual-kubelet/kube-client";

const refused = /^not allowed on this node: (?<fields>.*?)(?:; the policy is in the provider's configuration)?$/s;

/** The node's message about the fields of a pod that its policy refuses; `undefined` if there are none. */
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
 * The policy's refusal for the test that wrote this output.
 *
 * @param refusals - by namespace; a test's output contains its namespace
 */
export function refusalIn(output: string, refusals: ReadonlyMap<string, string>): string | undefined {
  const words = new Set(output.split(/[^a-z0-9-]+/));
  return [...refusals].find(([namespace]) => words.has(namespace))?.[1];
}
