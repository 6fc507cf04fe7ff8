import type { Container, Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { oomScoreAdjustment } from "./oom-score.ts";
import { resourceLimits } from "./resource-limits.ts";

type Resources = NonNullable<Container["resources"]>;

describe("resourceLimits", () => {
  test.for<[Resources, Resources | undefined, object]>([
    [{}, undefined, { cpuShares: 2 }],
    [{ requests: { cpu: "500m" } }, undefined, { cpuShares: 512 }],
    [{ requests: { cpu: "1m" } }, undefined, { cpuShares: 2 }],
    [{ requests: { cpu: "1000" } }, undefined, { cpuShares: 262_144 }],
    [{ limits: { cpu: "2" } }, undefined, { cpuShares: 2048, cpuQuotaMicros: 200_000, cpuPeriodMicros: 100_000 }],
    [{ requests: { cpu: "0" }, limits: { cpu: "5m" } }, undefined, { cpuShares: 2, cpuQuotaMicros: 1000, cpuPeriodMicros: 100_000 }],
    [{ limits: { memory: "64Mi" } }, undefined, { cpuShares: 2, memoryBytes: 67_108_864 }],
    [{ limits: { memory: "7Ei" } }, undefined, { cpuShares: 2, memoryBytes: Number.MAX_SAFE_INTEGER }],
    [
      {},
      { limits: { cpu: "1", memory: "1Gi" } },
      { cpuShares: 1024, cpuQuotaMicros: 100_000, cpuPeriodMicros: 100_000, memoryBytes: 2 ** 30 },
    ],
    [{ limits: { memory: "1Mi" } }, { limits: { memory: "1Gi" } }, { cpuShares: 2, memoryBytes: 2 ** 20 }],
  ])("%j in a pod with %j: %j", ([own, ofPod, expected]) => {
    const container = { name: "app", resources: own };
    expect(resourceLimits({ spec: { containers: [container], resources: ofPod } }, container)).toEqual(expected);
  });

  test("sets no quota if CPU limits are not enforced", () => {
    const container = { name: "app", resources: { limits: { cpu: "1" } } };
    expect(resourceLimits({ spec: { containers: [container] } }, container, { cpuQuota: false })).toEqual({ cpuShares: 1024 });
  });
});

describe("oomScoreAdjustment", () => {
  const nodeBytes = 8 * 2 ** 30;
  const app: Container = { name: "app", resources: { requests: { memory: "2Gi" } } };

  function scoreOf(container: Container, spec: Partial<Pod["spec"]> = {}, qosClass = "Burstable"): number {
    return oomScoreAdjustment({ spec: { containers: [app], ...spec }, status: { qosClass } }, container, nodeBytes);
  }

  test("depends on the QoS class, and is lowest for pods that are critical to the node", () => {
    expect(scoreOf(app, {}, "Guaranteed")).toBe(-997);
    expect(scoreOf(app, {}, "BestEffort")).toBe(1000);
    expect(scoreOf(app, { priorityClassName: "system-node-critical", priority: 2_000_001_000 }, "BestEffort")).toBe(-997);
    expect(scoreOf(app, { priorityClassName: "system-cluster-critical", priority: 2_000_000_000 }, "BestEffort")).toBe(1000);
  });

  test("of a burstable container is lower the more memory it requests, and between the two other classes", () => {
    expect(scoreOf(app)).toBe(750);
    expect(scoreOf({ name: "app" })).toBe(999);
    expect(scoreOf({ name: "app", resources: { requests: { memory: "9Gi" } } })).toBe(3);
  });

  test("of a sidecar is not higher than that of any main container", () => {
    const sidecar: Container = { name: "proxy", restartPolicy: "Always" };
    expect(scoreOf(sidecar, { initContainers: [sidecar] })).toBe(750);
    expect(scoreOf({ name: "init" }, { initContainers: [{ name: "init" }] })).toBe(999);
  });

  test("a pod-level request that no container makes is shared by its containers", () => {
    const resources = { requests: { memory: "4Gi" } };
    expect(scoreOf(app, { resources })).toBe(1000 - 500);
    expect(scoreOf({ name: "b" }, { containers: [app, { name: "b" }], resources })).toBe(1000 - 125);
  });
});

describe("a score that follows from memory", () => {
  const nodeBytes = 1000 * 2 ** 20;
  const asking = (memory: string, more: Partial<Container> = {}): Container => ({
    name: "app",
    resources: { requests: { memory } },
    ...more,
  });

  function scoreOf(container: Container, spec: Partial<Pod["spec"]> = {}, bytes = nodeBytes): number {
    return oomScoreAdjustment({ spec: { containers: [container], ...spec }, status: { qosClass: "Burstable" } }, container, bytes);
  }

  test("is 1000 minus the request in thousandths of the node's memory, within the range of its class", () => {
    expect([scoreOf(asking("100Mi")), scoreOf(asking("1Mi")), scoreOf(asking("0"))]).toEqual([900, 999, 999]);
    expect([scoreOf(asking("997Mi")), scoreOf(asking("998Mi")), scoreOf(asking("5Gi"))]).toEqual([3, 3, 3]);
    expect(scoreOf(asking("100Mi"), {}, 0), "the node's memory is unknown").toBe(3);
  });

  test("is lowest only for pods that are critical to the node, by name and priority", () => {
    const critical = { priorityClassName: "system-node-critical", priority: 2_000_000_000 };
    expect(scoreOf(asking("1Mi"), critical)).toBe(-997);
    expect(scoreOf(asking("1Mi"), { ...critical, priority: 1_999_999_999 })).toBe(999);
    expect(scoreOf(asking("1Mi"), { ...critical, priority: undefined })).toBe(999);
    expect(scoreOf(asking("1Mi"), { ...critical, priorityClassName: "mine" })).toBe(999);
  });

  test("of a sidecar is its own if it requests more than the containers that it serves", () => {
    const sidecar = asking("500Mi", { name: "proxy", restartPolicy: "Always" });
    const spec = {
      containers: [asking("300Mi"), asking("200Mi", { name: "b" }), asking("400Mi", { name: "c" })],
      initContainers: [sidecar],
    };

    expect(scoreOf(sidecar, spec)).toBe(500);
    expect(scoreOf({ ...sidecar, resources: {} }, spec)).toBe(800);
  });

  test("includes an equal share of the pod-level request, with sidecars and init containers counted", () => {
    const spec = {
      containers: [asking("100Mi"), { name: "b" }],
      initContainers: [{ name: "init" }, { name: "init2" }],
      resources: { requests: { memory: "500Mi" } },
    };

    expect(scoreOf(asking("100Mi"), spec)).toBe(800);
    expect(scoreOf({ name: "b" }, spec)).toBe(900);
    expect(scoreOf({ name: "b" }, { ...spec, resources: { requests: { cpu: "1" } } })).toBe(999);
  });
});
