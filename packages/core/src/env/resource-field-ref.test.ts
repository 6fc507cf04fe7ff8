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

test.each(["xlimits.cpu", "limits.cpux", "limits.nvidia.com/gpu", "limits", "limits.hugepages-", "cpu"])(
  "%s is no resource that can be referred to",
  (resource) => {
    expect(() => resolve({ resource })).toThrow(`unsupported container resource : ${resource}`);
  },
);

test("an init container is found by its name as well, and one that is not there is an error", () => {
  const withInit: Pod = { spec: { containers: [bare], initContainers: [{ ...container, name: "init" }] } };

  expect(resolve({ resource: "limits.cpu", containerName: "init", divisor: "1m" }, bare, withInit)).toBe("1500");
  expect(() => resolve({ resource: "limits.cpu", containerName: "nope" })).toThrow("container nope not found");
});

test("the pod's limit does not stand for ephemeral storage, and a limit of zero is none", () => {
  const limits = { "ephemeral-storage": "1G", cpu: "0", memory: "0" };

  expect(
    resolve({ resource: "limits.ephemeral-storage", divisor: "1G" }, bare, { spec: { containers: [bare], resources: { limits } } }),
  ).toBe("10");
  expect(resolve({ resource: "limits.cpu" }, { name: "zero", resources: { limits: { cpu: "0" } } })).toBe("4");
  expect(resolve({ resource: "limits.memory", divisor: "1Gi" }, bare, { spec: { containers: [bare], resources: { limits } } })).toBe("8");
});

test("a pod's limit of huge pages does not stand for a container's", () => {
  const limits = { "hugepages-2Mi": "4Mi" };

  expect(resolve({ resource: "limits.hugepages-2Mi" }, bare, { spec: { containers: [bare], resources: { limits } } })).toBe("0");
});

test("a divisor that is none counts as one", () => {
  expect(resolve({ resource: "limits.memory", divisor: "nonsense" })).toBe("1073741824");
});
