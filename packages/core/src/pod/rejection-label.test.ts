import { expect, test } from "vitest";
import { rejectionLabel } from "./rejection-label.ts";

test.each([
  ["OutOfcpu", "OutOfcpu"],
  ["ProviderUnsupported", "ProviderUnsupported"],
  ["OutOfnvidia.com/gpu", "OutOfExtendedResources"],
  ["OutOfhugepages-2Mi", "OutOfExtendedResources"],
  ["NodePorts", "Other"],
  ["Instance4711Lost", "Other"],
])("a pod that is rejected for %s is counted as %s", (reason, label) => {
  expect(rejectionLabel(reason)).toBe(label);
});
