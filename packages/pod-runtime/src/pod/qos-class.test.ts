import type { Container } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { qosClass } from "./qos-class.ts";

const both = { cpu: "1", memory: "1Gi" };
const container = (requests?: Record<string, string>, limits?: Record<string, string>): Container => ({
  name: "app",
  resources: { ...(requests && { requests }), ...(limits && { limits }) },
});

test("what the API server has written counts", () => {
  expect(qosClass({ spec: { containers: [container(both, both)] }, status: { qosClass: "Burstable" } })).toBe("Burstable");
});

test.for([
  ["BestEffort", [container()]],
  ["BestEffort", [container({ cpu: "0", "example.com/fuse": "1" })]],
  ["Guaranteed", [container(both, both), container(both, both)]],
  ["Burstable", [container(both, both), container()]],
  ["Burstable", [container(both, { ...both, cpu: "2" })]],
  ["Burstable", [container({ cpu: "1" }, { cpu: "1" })]],
] as const)("a pod is %s by its containers", ([expected, containers]) => {
  expect(qosClass({ spec: { containers } })).toBe(expected);
});

test("what the pod says as a whole is all that counts", () => {
  const containers = [container({ cpu: "100m" })];

  expect(qosClass({ spec: { containers, resources: { requests: both, limits: both } } })).toBe("Guaranteed");
  expect(qosClass({ spec: { containers, resources: { requests: both } } })).toBe("Burstable");
  expect(qosClass({ spec: { containers, resources: {} } })).toBe("BestEffort");
});
