/** Reasons with a label value of their own: a kubelet's, and those of a virtual node. */
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
 * Returns the label value for a rejection reason. The number of label values has to be small, and
 * reasons can name resources or come from a provider.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/kubelet.go, recordAdmissionRejection.
 */
export function rejectionLabel(reason: string): string {
  if (counted.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}
