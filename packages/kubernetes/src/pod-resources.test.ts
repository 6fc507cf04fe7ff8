import { expect, test } from "vitest";
import {
  containerResources,
  formatResources,
  podLimits,
  podRequests,
  readAmounts,
  toAmounts,
  type PodResources,
  type ResourceContainer,
} from "./pod-resources.ts";

const limited = (cpu: string | undefined, more: ResourceContainer = {}): ResourceContainer => ({
  ...more,
  ...(cpu !== undefined && { resources: { limits: { cpu }, requests: { cpu } } }),
});

function cpuOf(spec: PodResources): { readonly limit: bigint | undefined; readonly request: bigint | undefined } {
  return { limit: toAmounts(podLimits(spec)).get("cpu"), request: toAmounts(podRequests(spec)).get("cpu") };
}

const both = (amount: bigint): ReturnType<typeof cpuOf> => ({ limit: amount, request: amount });

test("containers are added up; those without count as nothing", () => {
  expect(cpuOf({ containers: [limited("100m"), limited("200m"), limited(undefined)] })).toEqual(both(300n));
});

test("an init container counts with the sidecars before it, where that is more than what runs later", () => {
  const sidecar = (cpu: string): ResourceContainer => limited(cpu, { restartPolicy: "Always" });
  const initContainers = [sidecar("100m"), limited("900m"), sidecar("300m")];

  expect(cpuOf({ initContainers, containers: [limited("200m")] })).toEqual(both(1000n));
  expect(cpuOf({ initContainers, containers: [limited("700m")] })).toEqual(both(1100n));
});

test("what the pod says as a whole takes the sum's place, and overhead is added to what is limited", () => {
  const containers = [limited("100m")];
  const resources = { limits: { cpu: "2" }, requests: { cpu: "1" } };

  expect(cpuOf({ containers, resources, overhead: { cpu: "10m" } })).toEqual({ limit: 2010n, request: 1010n });
  expect(cpuOf({ containers: [limited(undefined)], overhead: { cpu: "10m" } })).toEqual({ limit: undefined, request: 10n });
});

test("of what a pod asks for as a whole only CPU, memory and huge pages count", () => {
  const asked = { cpu: "1", memory: "1Gi", "hugepages-2Mi": "2Mi", "ephemeral-storage": "1G", "nvidia.com/gpu": "1" };
  const containers = [{ resources: { requests: { "ephemeral-storage": "5", cpu: "9" } } }];

  expect(Object.fromEntries(toAmounts(podRequests({ containers, resources: { requests: asked } })))).toEqual({
    cpu: 1000n,
    memory: 1073741824n,
    "hugepages-2Mi": 2097152n,
    "ephemeral-storage": 5n,
  });
});

test("CPU is counted in thousandths, all else in whole units, rounded up", () => {
  const requests = { cpu: "100u", memory: "1500m", "nvidia.com/gpu": "2" };

  expect(Object.fromEntries(toAmounts(podRequests({ containers: [{ resources: { requests } }] })))).toEqual({
    cpu: 1n,
    memory: 2n,
    "nvidia.com/gpu": 2n,
  });
  expect(readAmounts({ cpu: undefined, memory: "1" })).toEqual(new Map([["memory", 1n]]));
  expect(readAmounts(undefined)).toEqual(new Map());
});

test("a pod without containers asks for nothing, and an init container alone for what it needs", () => {
  expect(podRequests(undefined)).toEqual(new Map());
  expect(podLimits(undefined)).toEqual(new Map());
  expect(cpuOf({ initContainers: [limited("100m")] })).toEqual(both(100n));
});

test("overhead is added to each limit that there is, and to no other", () => {
  const spec = { containers: [limited("1")], overhead: { cpu: "10m", memory: "1Mi" } };

  expect(Object.fromEntries(toAmounts(podLimits(spec)))).toEqual({ cpu: 1010n });
  expect(Object.fromEntries(toAmounts(podRequests(spec)))).toEqual({ cpu: 1010n, memory: 1048576n });
});

test("amounts are rounded once, after they are added up, and keep the format they were written in", () => {
  const containers = [
    { resources: { requests: { cpu: "300u", memory: "512Mi" } } },
    { resources: { requests: { cpu: "300u", memory: "512M" } } },
  ];

  expect(toAmounts(podRequests({ containers })).get("cpu")).toBe(1n);
  expect(formatResources(podRequests({ containers }))).toEqual({ cpu: "600u", memory: "1024288Ki" });
  expect(formatResources(containerResources({ containers, overhead: { cpu: "1" } }, "requests"))).toMatchObject({ cpu: "600u" });
});
