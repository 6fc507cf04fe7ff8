import fc from "fast-check";
import { expect, test } from "vitest";
import { cores, gigabytes, resourcesOf } from "./resources.ts";

const noGpus = { skus: [], wanted: undefined };

const containerOf = (name: string, resources: object): { path: string; container: { name: string; resources: object } } => ({
  path: "spec.containers[0]",
  container: { name, resources },
});

test.for([
  ["1m", 0.01],
  ["10m", 0.01],
  ["11m", 0.02],
  ["1", 1],
  ["1500m", 1.5],
] as const)("%s of CPU is %d", ([quantity, expected]) => {
  expect(cores(quantity)).toBe(expected);
});

test.for([
  ["1", 0.1],
  ["100M", 0.1],
  ["100000001", 0.2],
  ["1Gi", 1.1],
  ["1G", 1],
  ["1536Mi", 1.7],
] as const)("%s of memory is %d GB", ([quantity, expected]) => {
  expect(gigabytes(quantity)).toBe(expected);
});

test("no request becomes smaller, and each by less than a step larger", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200_000 }), fc.integer({ min: 1, max: 400_000_000_000 }), (milli, bytes) => {
      const cpu = cores(`${milli}m`) * 1000;
      const memory = gigabytes(String(bytes)) * 1e9;

      expect(cpu).toBeGreaterThanOrEqual(milli - 1e-6);
      expect(cpu).toBeLessThan(milli + 10);
      expect(memory).toBeGreaterThanOrEqual(bytes - 1);
      expect(memory).toBeLessThan(bytes + 100_000_001);
    }),
  );
});

test("limits stand for requests that are not set", () => {
  const { byName } = resourcesOf([containerOf("a", { limits: { cpu: "2", memory: "2G" } })], noGpus);

  expect(byName.get("a")).toEqual({ requests: { cpu: 2, memoryInGB: 2 }, limits: { cpu: 2, memoryInGB: 2 } });
});

test("a limit above the group's requests is lowered to them, and an event says so", () => {
  const { byName, notes } = resourcesOf(
    [
      containerOf("a", { requests: { cpu: "1", memory: "1G" }, limits: { cpu: "4", memory: "1500M" } }),
      containerOf("b", { requests: { cpu: "500m", memory: "1G" } }),
    ],
    noGpus,
  );

  expect(byName.get("a")).toEqual({ requests: { cpu: 1, memoryInGB: 1 }, limits: { cpu: 1.5, memoryInGB: 1.5 } });
  expect(notes).toEqual([
    { reason: "LimitLowered", type: "Warning", container: "a", message: expect.stringContaining("limit of 4 CPUs is lowered to 1.5") },
  ]);
});

test("no limit exceeds what the group requests, and none is below its request", () => {
  const amounts = fc.record({ cpu: fc.integer({ min: 1, max: 8000 }), memory: fc.integer({ min: 1, max: 16_000 }) });
  fc.assert(
    fc.property(fc.array(fc.record({ requests: amounts, limits: amounts }), { minLength: 1, maxLength: 5 }), (pods) => {
      const quantities = ({ cpu, memory }: { cpu: number; memory: number }): object => ({ cpu: `${cpu}m`, memory: `${memory}M` });
      const containers = pods.map(({ requests, limits }, index) =>
        containerOf(`c${index}`, { requests: quantities(requests), limits: quantities(limits) }),
      );
      const all = [...resourcesOf(containers, noGpus).byName.values()];
      const total = all.reduce((sum, { requests }) => sum + requests.cpu, 0);

      for (const { requests, limits } of all) {
        expect(limits?.cpu).toBeLessThanOrEqual(total + 0.001);
        expect(limits?.cpu).toBeGreaterThanOrEqual(requests.cpu);
        expect(limits?.memoryInGB).toBeGreaterThanOrEqual(requests.memoryInGB);
      }
    }),
  );
});
