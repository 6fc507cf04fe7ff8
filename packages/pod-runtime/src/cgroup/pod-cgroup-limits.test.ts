import type { Container, PodSpec } from "@virtual-kubelet/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { podCgroupLimits } from "./pod-cgroup-limits.ts";

const Mi = 2 ** 20;

/** Quantities of CPU and memory from a text such as `100m 100Mi`; `-` means none. */
function list(text: string): Record<string, string> {
  const [cpu = "-", memory = "-"] = text.split(" ");
  return { ...(cpu !== "-" && { cpu }), ...(memory !== "-" && { memory }) };
}

const resources = (requests: string, limits: string): NonNullable<Container["resources"]> => ({
  requests: list(requests),
  limits: list(limits),
});
const having = (requests: string, limits: string, more: Partial<Container> = {}): Container => ({
  name: "c",
  resources: resources(requests, limits),
  ...more,
});
const limits = (cpuShares: number, milliCpu?: number, mebibytes?: number): ReturnType<typeof podCgroupLimits> => ({
  cpuShares,
  ...(milliCpu !== undefined && { cpuQuotaMicros: milliCpu * 100, cpuPeriodMicros: 100_000 }),
  ...(mebibytes !== undefined && { memoryBytes: mebibytes * Mi }),
});

const none = having("-", "-");
/** Source: TestResourceConfigForPod in kubernetes v1.36.3 pkg/kubelet/cm/helpers_linux_test.go. */
const cases: readonly (readonly [string, Partial<PodSpec>, ReturnType<typeof podCgroupLimits>])[] = [
  ["besteffort", { containers: [none] }, limits(2)],
  ["burstable-no-limits", { containers: [having("100m 100Mi", "-")] }, limits(102)],
  ["burstable-with-limits", { containers: [having("100m 100Mi", "200m 200Mi")] }, limits(102, 200, 200)],
  ["burstable-partial-limits", { containers: [having("100m 100Mi", "200m 200Mi"), having("100m 100Mi", "-")] }, limits(204)],
  ["guaranteed", { containers: [having("100m 100Mi", "100m 100Mi")] }, limits(102, 100, 100)],
  [
    "burstable-partial-limits-with-init-containers",
    {
      containers: [having("100m 100m", "100m 100Mi"), having("100m 100m", "-")],
      initContainers: [having("100m 100m", "100m 100Mi"), having("100m 100m", "-")],
    },
    limits(204),
  ],
  ["besteffort-with-pod-level-resources-enabled", { resources: resources("-", "-"), containers: [none] }, limits(2)],
  ["burstable-with-pod-level-requests", { resources: resources("100m 100Mi", "-"), containers: [none] }, limits(102)],
  [
    "burstable-with-pod-and-container-level-requests",
    { resources: resources("100m 100Mi", "-"), containers: [having("10m 50Mi", "-")] },
    limits(102),
  ],
  ["burstable-with-pod-level-resources", { resources: resources("100m 100Mi", "200m 200Mi"), containers: [none] }, limits(102, 200, 200)],
  [
    "burstable-with-pod-and-container-level-resources",
    { resources: resources("100m 100Mi", "200m 200Mi"), containers: [having("10m 50Mi", "50m 100Mi")] },
    limits(102, 200, 200),
  ],
  [
    "burstable-with-partial-pod-level-resources-limits",
    { resources: resources("200m 300Mi", "-"), containers: [having("200m 200Mi", "200m 200Mi")] },
    limits(204, 200, 200),
  ],
  ["guaranteed-with-pod-level-resources", { resources: resources("100m 100Mi", "100m 100Mi"), containers: [none] }, limits(102, 100, 100)],
  [
    "guaranteed-with-pod-and-container-level-resources",
    { resources: resources("100m 100Mi", "100m 100Mi"), containers: [having("10m 50Mi", "50m 100Mi")] },
    limits(102, 100, 100),
  ],
  [
    "guaranteed-pod-level-resources-with-init-containers",
    {
      resources: resources("100m 100Mi", "100m 100Mi"),
      containers: [having("10m 50Mi", "50m 50Mi")],
      initContainers: [having("10m 50Mi", "50m 50Mi")],
    },
    limits(102, 100, 100),
  ],
];

test.for(cases)("%s has the same limits as with a kubelet", ([, spec, expected]) => {
  expect(podCgroupLimits({ spec: { containers: [], ...spec } })).toEqual(expected);
});

test("if CPU limits are not enforced there is no quota", () => {
  const pod = { spec: { containers: [having("100m 100Mi", "200m 200Mi")] } };

  expect(podCgroupLimits(pod, { cpuQuota: false })).toEqual(limits(102, undefined, 200));
});

test("an init container without limits counts as limited after a limited sidecar, and overhead is added", () => {
  const sidecar = having("100m 100Mi", "100m 100Mi", { restartPolicy: "Always" });
  const containers = [having("100m 100Mi", "200m 200Mi")];

  expect(podCgroupLimits({ spec: { containers, initContainers: [sidecar, none], overhead: list("10m 10Mi") } })).toEqual(
    limits(215, 310, 310),
  );
  expect(podCgroupLimits({ spec: { containers, initContainers: [none, sidecar] } })).toEqual(limits(204));
});

const milli = fc.integer({ min: 10, max: 64_000 });
const limited = fc
  .record({ cpu: milli, mebibytes: fc.integer({ min: 1, max: 100_000 }), kind: fc.constantFrom("init", "sidecar", "main") })
  .map(({ cpu, mebibytes, kind }) => {
    const own = `${cpu}m ${mebibytes}Mi`;
    return { cpu, mebibytes, kind, container: having(own, own, kind === "sidecar" ? { restartPolicy: "Always" } : {}) };
  });

test("if every container has a limit, the pod's limit covers each container, and all containers that run together", () => {
  fc.assert(
    fc.property(fc.array(limited, { minLength: 1, maxLength: 6 }), (all) => {
      const of = (...kinds: string[]): typeof all => all.filter(({ kind }) => kinds.includes(kind));
      const spec = {
        initContainers: of("init", "sidecar").map(({ container }) => container),
        containers: of("main").map((each) => each.container),
      };
      const { cpuQuotaMicros = 0, memoryBytes = 0 } = podCgroupLimits({ spec });
      for (const { cpu, mebibytes } of all) {
        expect(cpuQuotaMicros).toBeGreaterThanOrEqual(cpu * 100);
        expect(memoryBytes).toBeGreaterThanOrEqual(mebibytes * Mi);
      }
      const atOnce = of("sidecar", "main").reduce((sum, { cpu }) => sum + cpu, 0);
      const most = all.reduce((sum, { cpu }) => sum + cpu, 0);
      expect(cpuQuotaMicros).toBeGreaterThanOrEqual(atOnce * 100);
      expect(cpuQuotaMicros).toBeLessThanOrEqual(most * 100);
    }),
    { numRuns: 200 },
  );
});
