import { isInvalidInput } from "@virtual-kubelet/errdefs";
import type { Container, Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { resolveResourceFieldRef, type ResourceFieldRef } from "./resource-field-ref.ts";

const container: Container = {
  name: "app",
  resources: {
    limits: { cpu: "1500m", memory: "1Gi", "hugepages-2Mi": "4Mi" },
    requests: { cpu: "250m", memory: "100M", "ephemeral-storage": "1Ki" },
  },
};
const bare: Container = { name: "bare" };
const pod: Pod = { spec: { containers: [container, bare] } };
const allocatable = { cpu: "3500m", memory: "8Gi", "ephemeral-storage": "10G" };

function resolve(reference: ResourceFieldRef, from: Container = container, of: Pod = pod): string {
  return resolveResourceFieldRef(reference, { pod: of, container: from, allocatable });
}

describe("a resource in units of the divisor, rounded up", () => {
  test.each([
    ["limits.cpu", undefined, "2"],
    ["limits.cpu", "1m", "1500"],
    ["limits.cpu", "0", "2"],
    ["requests.cpu", "1", "1"],
    ["limits.memory", undefined, "1073741824"],
    ["limits.memory", "1Mi", "1024"],
    ["requests.memory", "1Mi", "96"],
    ["requests.ephemeral-storage", "1k", "2"],
    ["limits.hugepages-2Mi", "1Mi", "4"],
    ["requests.hugepages-2Mi", undefined, "0"],
  ])("%s over %s is %s", (resource, divisor, value) => {
    expect(resolve({ resource, divisor })).toBe(value);
  });
});

test("a container without a limit has the node's, one without a request has none", () => {
  expect(resolve({ resource: "limits.cpu" }, bare)).toBe("4");
  expect(resolve({ resource: "limits.memory", divisor: "1Gi" }, bare)).toBe("8");
  expect(resolve({ resource: "limits.hugepages-2Mi" }, bare)).toBe("0");
  expect(resolve({ resource: "requests.cpu" }, bare)).toBe("0");
});

test("the pod's own limit goes before the node's", () => {
  const limited = { spec: { containers: [bare], resources: { limits: { memory: "2Gi" } } } };

  expect(resolve({ resource: "limits.memory", divisor: "1Gi" }, bare, limited)).toBe("2");
});

test("another container is found by its name", () => {
  expect(resolve({ resource: "limits.cpu", containerName: "app" }, bare)).toBe("2");
  expect(() => resolve({ resource: "limits.cpu", containerName: "none" })).toThrow("container none not found");
});

test("other resources are refused", () => {
  expect(() => resolve({ resource: "limits.nvidia.com/gpu" })).toThrow("unsupported container resource : limits.nvidia.com/gpu");
  expect(() => resolve({ resource: "limits.nvidia.com/gpu" })).toThrow(expect.toSatisfy(isInvalidInput));
});
