import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { taskSizeFor } from "./size-grid.ts";

const gib = (least: number, most: number, step = 1): number[] =>
  Array.from({ length: (most - least) / step + 1 }, (_, index) => (least + index * step) * 1024);

/** Sizes that AWS documents: MiB by CPU units. */
const documented = new Map<number, readonly number[]>([
  [256, [512, 1024, 2048]],
  [512, gib(1, 4)],
  [1024, gib(2, 8)],
  [2048, gib(4, 16)],
  [4096, gib(8, 30)],
  [8192, gib(16, 60, 4)],
  [16384, gib(32, 120, 8)],
]);

test.each([
  ["nothing", 0, 0, 256, 512],
  ["the smallest size", 256, 512, 256, 512],
  ["more memory than 1 GiB in the smallest row", 256, 1_025, 256, 2_048],
  ["1.5 GiB, which the smallest row does not have", 256, 1_536, 256, 2_048],
  ["a little more CPU", 257, 512, 512, 1_024],
  ["much memory for little CPU", 256, 9_000, 2_048, 9_216],
  ["a row with steps of 4 GiB", 8_192, 16_385, 8_192, 20_480],
  ["a row with steps of 8 GiB", 16_384, 40_000, 16_384, 40_960],
  ["the largest size", 16_384, 122_880, 16_384, 122_880],
])("%s is rounded up to the next size", (_what, cpuUnits, memoryMib, cpu, memory) => {
  expect(taskSizeFor({ cpuUnits, memoryMib })).toEqual({ cpuUnits: cpu, memoryMib: memory });
});

test("every size is one that AWS accepts, has room for what is asked, and is the smallest such size of its row", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 16_384 }), fc.integer({ min: 0, max: 122_880 }), (cpuUnits, memoryMib) => {
      const size = taskSizeFor({ cpuUnits, memoryMib });
      const sizes = documented.get(size.cpuUnits) ?? [];
      expect(size.cpuUnits).toBeGreaterThanOrEqual(cpuUnits);
      expect(size.memoryMib).toBe(sizes.find((each) => each >= memoryMib));
      const rowsBefore = [...documented].filter(([units]) => units >= cpuUnits && units < size.cpuUnits);
      expect(rowsBefore.filter(([, memories]) => memories.some((each) => each >= memoryMib))).toEqual([]);
    }),
  );
});

describe("8 and 16 vCPU", () => {
  test.each(["LATEST", "1.4.0", "1.10.1", "2.0.0"])("exist with platform version %s", (platformVersion) => {
    expect(taskSizeFor({ cpuUnits: 8_192, memoryMib: 1 }, platformVersion)).toEqual({ cpuUnits: 8_192, memoryMib: 16_384 });
  });

  test("are refused with platform version 1.3.0", () => {
    expect(() => taskSizeFor({ cpuUnits: 8_192, memoryMib: 1 }, "1.3.0")).toThrow(
      "at most 4 vCPU and 30720 MiB with platform version 1.3.0",
    );
  });
});

test("more than the largest size is refused with the field", () => {
  expect(() => taskSizeFor({ cpuUnits: 16_385, memoryMib: 1 })).toThrow(
    expect.objectContaining({ code: "VK_UNSUPPORTED", fieldPath: "spec.containers" }),
  );
});
