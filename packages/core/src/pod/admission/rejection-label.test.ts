import { expect, test } from "vitest";
import { rejectionLabel } from "./rejection-label.ts";

test.each<readonly [string, string]>([
  ...[
    "PodOSSelectorNodeLabelDoesNotMatch",
    "PodOSNotSupported",
    "UnexpectedAdmissionError",
    "OutOfmemory",
    "OutOfephemeral-storage",
    "OutOfpods",
    "SysctlForbidden",
    "NodeAffinity",
    "TaintToleration",
    "DaemonSetRejected",
  ].map((reason) => [reason, reason] as const),
  ["OutOfcpu", "OutOfcpu"],
  ["ProviderUnsupported", "ProviderUnsupported"],
  ["OutOfnvidia.com/gpu", "OutOfExtendedResources"],
  ["OutOfhugepages-2Mi", "OutOfExtendedResources"],
  ["NodePorts", "Other"],
  ["Instance4711Lost", "Other"],
])("a pod that is rejected for %s is counted as %s", (reason, label) => {
  expect(rejectionLabel(reason)).toBe(label);
});
