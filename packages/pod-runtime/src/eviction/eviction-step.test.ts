import { describe, expect, test } from "vitest";
import type { EvictionSignal, Observations } from "./eviction-signals.ts";
import { calmState, evictionStep, type EvictionState } from "./eviction-step.ts";
import { evictionRules, type EvictionSettings } from "./eviction-thresholds.ts";

const Mi = 2 ** 20;

/** Results of checks at given seconds with given available amounts. */
function looks(
  settings: EvictionSettings,
  ...amounts: readonly (readonly [second: number, left: Partial<Record<EvictionSignal, number>>])[]
): string[] {
  const rules = evictionRules({ evictionHard: {}, ...settings }, { isAllocatableEnforced: true });
  let state: EvictionState = calmState;
  return amounts.map(([second, left]) => {
    const observations: Observations = new Map(
      Object.entries(left).map(([signal, available]) => [signal as EvictionSignal, { available, capacity: 1000 * Mi }]),
    );
    state = evictionStep(state, observations, { rules, nowMs: second * 1000 });
    return `${state.conditions.join("+")}: ${state.due.map(({ signal }) => signal).join("+")}`;
  });
}

describe("a hard threshold", () => {
  const settings = { evictionHard: { "memory.available": "100Mi" } } as const;

  test("is due at once, and its condition lasts until five minutes after its cause", () => {
    const memory = (left: number): object => ({ "memory.available": left * Mi });

    expect(looks(settings, [0, memory(100)], [10, memory(99)], [20, memory(200)], [309, memory(200)], [310, memory(200)])).toEqual([
      ": ",
      "MemoryPressure: memory.available",
      "MemoryPressure: ",
      "MemoryPressure: ",
      ": ",
    ]);
  });

  test("of memory also applies to the limit of the pods' common cgroup, and comes before disks and processes", () => {
    const all = { evictionHard: { "pid.available": "10%", "imagefs.available": "10%", "memory.available": "100Mi" } } as const;

    const found = looks(all, [0, { "pid.available": 1, "imagefs.available": 1, "allocatableMemory.available": 1 }]);

    expect(found).toEqual(["PIDPressure+DiskPressure+MemoryPressure: allocatableMemory.available+pid.available+imagefs.available"]);
  });

  test("of a signal that was not measured is ignored", () => {
    expect(looks(settings, [0, {}])).toEqual([": "]);
  });

  test("is due until its minimum reclaim is available as well, and is not due again until it is reached again", () => {
    const reclaim = { ...settings, evictionMinimumReclaim: { "memory.available": "50Mi" } } as const;
    const memory = (left: number): object => ({ "memory.available": left * Mi });

    expect(looks(reclaim, [0, memory(120)], [10, memory(90)], [20, memory(149)], [30, memory(150)], [40, memory(120)])).toEqual([
      ": ",
      "MemoryPressure: memory.available",
      "MemoryPressure: memory.available",
      "MemoryPressure: ",
      "MemoryPressure: ",
    ]);
  });
});

test("a soft threshold sets its condition at once, is due after its grace period, and the period starts again after a recovery", () => {
  const settings = { evictionSoft: { "nodefs.available": "20%" }, evictionSoftGracePeriod: { "nodefs.available": "30s" } } as const;
  const disk = (share: number): object => ({ "nodefs.available": share * 1000 * Mi });

  expect(looks(settings, [0, disk(0.19)], [20, disk(0.19)], [25, disk(0.2)], [30, disk(0.1)], [59, disk(0.1)], [60, disk(0.1)])).toEqual([
    "DiskPressure: ",
    "DiskPressure: ",
    "DiskPressure: ",
    "DiskPressure: ",
    "DiskPressure: ",
    "DiskPressure: nodefs.available",
  ]);
});
