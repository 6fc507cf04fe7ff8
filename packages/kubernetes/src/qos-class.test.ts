import { expect, test } from "vitest";
import type { ResourceContainer } from "./pod-resources.ts";
import { qosClass } from "./qos-class.ts";

const both = { cpu: "1", memory: "1Gi" };
const container = (requests?: Record<string, string>, limits?: Record<string, string>): ResourceContainer => ({
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

test.for([
  ["Guaranteed", [container(both, both), container({ cpu: "2", memory: "1Mi" }, { cpu: "2", memory: "1Mi" })]],
  ["Guaranteed", [container(undefined, both)]],
  ["Burstable", [container(both)]],
  ["Burstable", [container({ memory: "1Gi" }, { memory: "1Gi" })]],
  ["Burstable", [container(undefined, { cpu: "1" })]],
  ["Burstable", [container({ cpu: "1", memory: "2Gi" }, { cpu: "2", memory: "1Gi" })]],
  ["BestEffort", [container({ "ephemeral-storage": "1Gi" }, { "ephemeral-storage": "1Gi" }), container()]],
  ["BestEffort", [container({ cpu: "0", memory: "0" }, { cpu: "0" })]],
] as const)("a pod is %s with the amounts of its containers", ([expected, containers]) => {
  // The API server writes a limit without a request as the request, too.
  const written = containers.map(({ resources }) => {
    const { limits, requests } = { requests: resources?.limits, ...resources };
    return { resources: { ...(limits && { limits }), ...(requests && { requests }) } };
  });
  expect(qosClass({ spec: { containers: written } })).toBe(expected);
});

test("init containers count like the others, and ephemeral ones do not", () => {
  const containers = [container(both, both)];

  expect(qosClass({ spec: { containers, initContainers: [container()] } })).toBe("Burstable");
  expect(qosClass({ spec: { containers, initContainers: [container(both, both)] } })).toBe("Guaranteed");
  expect(qosClass({ spec: { containers: [container()], initContainers: [container({ cpu: "1" })] } })).toBe("Burstable");
  const withEphemeral = { containers, ephemeralContainers: [container()] };
  expect(qosClass({ spec: withEphemeral })).toBe("Guaranteed");
});

test.for(["Guaranteed", "Burstable", "BestEffort"] as const)(
  "%s that the API server has written counts, and what is none does not",
  (written) => {
    expect(qosClass({ spec: { containers: [] }, status: { qosClass: written } })).toBe(written);
    expect(qosClass({ spec: { containers: [container({ cpu: "1" })] }, status: { qosClass: "Other" } })).toBe("Burstable");
    expect(qosClass({})).toBe("BestEffort");
  },
);
