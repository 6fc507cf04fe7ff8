import { expect, test } from "vitest";
import { evictionRules } from "./eviction-thresholds.ts";
import { cgroupLimits, nodeAllocatable } from "./node-allocatable.ts";

const capacity = { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" };

test("reservations reduce allocatable and the enforced limit; hard thresholds reduce only allocatable", () => {
  const { thresholds } = evictionRules(
    { evictionSoft: { "memory.available": "4Gi" }, evictionSoftGracePeriod: { "memory.available": "1m" } },
    { isAllocatableEnforced: true },
  );
  const reserved = { kubeReserved: { cpu: "250m", memory: "256Mi" }, systemReserved: { memory: "0.5Gi", "ephemeral-storage": "10Gi" } };

  const { allocatable, enforced } = nodeAllocatable(capacity, { ...reserved, thresholds });

  expect(allocatable).toEqual({ cpu: "3750m", memory: "7324Mi", pods: "110", "ephemeral-storage": "80Gi" });
  expect(enforced).toEqual({ cpu: "3750m", memory: "7424Mi", pods: "110", "ephemeral-storage": "90Gi" });
  expect(cgroupLimits(enforced)).toEqual({ cpuShares: 3840, memoryBytes: 7424 * 2 ** 20 });
});

test("the number of processes, minus its reservations, is enforced but not part of allocatable", () => {
  const { allocatable, enforced } = nodeAllocatable(capacity, {
    processes: 32_768,
    kubeReserved: { pid: "1k" },
    systemReserved: { pid: "1768" },
  });

  expect(allocatable).toEqual(capacity);
  expect(cgroupLimits(enforced)).toMatchObject({ processes: 30_000 });
  expect(() => nodeAllocatable(capacity, { processes: 1_000, kubeReserved: { pid: "2k" } })).toThrow("allocate pid: ");
});

test("without reservations everything is allocatable", () => {
  expect(nodeAllocatable(capacity, {})).toEqual({ allocatable: capacity, enforced: capacity });
});

test("a reservation above the capacity, or of an unknown resource, is refused by name", () => {
  expect(() => nodeAllocatable(capacity, { kubeReserved: { memory: "6Gi" }, systemReserved: { memory: "3Gi" } })).toThrow(
    "allocate memory: kubeReserved and systemReserved take 9Gi and evictionHard keeps 0 free, of a capacity of 8Gi: expected no more than the capacity",
  );
  expect(() => nodeAllocatable(capacity, { systemReserved: { pid: "100" } })).toThrow(
    'systemReserved has "pid", which the node does not have: expected one of cpu, memory, pods, ephemeral-storage',
  );
});
