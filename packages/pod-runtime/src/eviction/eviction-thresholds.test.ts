import { formatQuantity } from "@virtual-kubelet/kubernetes";
import { expect, test } from "vitest";
import { evictionRules, thresholdQuantity, type EvictionSettings, type Threshold } from "./eviction-thresholds.ts";

function told({ signal, value, graceMs, minReclaim }: Threshold): string {
  const amount = formatQuantity(thresholdQuantity(value, 2000, signal));
  const reclaim = minReclaim ? ` +${formatQuantity(thresholdQuantity(minReclaim, 2000, signal))}` : "";
  return `${signal} ${amount} ${graceMs}${reclaim}`;
}

test("without settings the thresholds are a kubelet's, and memory is also checked below the pods' common limit if there is one", () => {
  const { thresholds, transitionMs, maxPodGraceMs } = evictionRules({}, { isAllocatableEnforced: true });

  expect(thresholds.map(told)).toEqual([
    "memory.available 100Mi 0",
    "nodefs.available 200 0",
    "nodefs.inodesFree 100 0",
    "imagefs.available 300 0",
    "imagefs.inodesFree 100 0",
    "allocatableMemory.available 100Mi 0",
  ]);
  expect({ transitionMs, maxPodGraceMs }).toEqual({ transitionMs: 300_000, maxPodGraceMs: 0 });
});

test("settings replace the default hard thresholds, and each soft threshold has its grace period", () => {
  const settings: EvictionSettings = {
    evictionHard: { "memory.available": "1Gi", "nodefs.available": "0%", "pid.available": "50%" },
    evictionSoft: { "memory.available": "25%" },
    evictionSoftGracePeriod: { "memory.available": "1m30s" },
    evictionMinimumReclaim: { "memory.available": "0", "pid.available": "10%" },
    evictionPressureTransitionPeriod: "30s",
    evictionMaxPodGracePeriod: 20,
  };

  const { thresholds, transitionMs, maxPodGraceMs } = evictionRules(settings, { isAllocatableEnforced: false });

  expect(thresholds.map(told)).toEqual(["memory.available 1Gi 0 +0", "pid.available 1k 0 +200", "memory.available 500 90000 +0"]);
  expect({ transitionMs, maxPodGraceMs }).toEqual({ transitionMs: 30_000, maxPodGraceMs: 20_000 });
});

test("without any threshold there is no eviction", () => {
  expect(evictionRules({ evictionHard: {} }, { isAllocatableEnforced: true }).thresholds).toEqual([]);
});

test.for<[what: string, settings: object, message: string]>([
  [
    "an unknown signal",
    { evictionHard: { "disk.available": "1" } },
    'evictionHard has "disk.available": expected one of memory.available, ',
  ],
  [
    "an invalid amount",
    { evictionHard: { "pid.available": "x" } },
    'evictionHard["pid.available"] is "x": expected a quantity such as 100Mi',
  ],
  ["an amount of 0", { evictionSoft: { "pid.available": "0" } }, 'evictionSoft["pid.available"] is 0: expected a quantity'],
  ["a percentage above 100", { evictionHard: { "pid.available": "101%" } }, 'evictionHard["pid.available"] is 101%: expected a quantity'],
  [
    "a soft threshold without a grace period",
    { evictionSoft: { "memory.available": "1Gi" } },
    'evictionSoftGracePeriod["memory.available"] is not set: expected a duration such as 1m30s',
  ],
  ["an invalid duration", { evictionPressureTransitionPeriod: "soon" }, 'evictionPressureTransitionPeriod is "soon": expected a duration'],
])("%s is refused, and the error names the field", ([, settings, message]) => {
  expect(() => evictionRules(settings, { isAllocatableEnforced: false })).toThrow(message);
});
