/** Reasons that are counted by their name: a kubelet's, and those of a virtual node. */
const counted: ReadonlySet<string> = new Set([
  "PodOSSelectorNodeLabelDoesNotMatch",
  "PodOSNotSupported",
  "UnexpectedAdmissionError",
  "OutOfcpu",
  "OutOfmemory",
  "OutOfephemeral-storage",
  "OutOfpods",
  "SysctlForbidden",
  "NodeAffinity",
  "TaintToleration",
  "DaemonSetRejected",
  "ProviderUnsupported",
]);

/**
 * The label under which a pod is counted that was rejected for this reason: a label's values have to be few, and
 * reasons name resources and may be a provider's own.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/kubelet.go, recordAdmissionRejection.
 */
export function rejectionLabel(reason: string): string {
  if (counted.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}
