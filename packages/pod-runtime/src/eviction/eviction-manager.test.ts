import { VirtualClock } from "@virtual-kubelet/clock";
import type { NodeStats, Pod, PodRef, PodStats } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { EvictionManager, type PodEviction } from "./eviction-manager.ts";
import { evictionRules, type EvictionSettings } from "./eviction-thresholds.ts";

const time = "2026-01-01T00:00:00Z";
const Mi = 2 ** 20;
const signal = new AbortController().signal;

interface Evicted extends PodEviction {
  readonly name: string;
}

/** A node with 1000 MiB of memory and of disk, whose pods have the usage that a test sets. */
class Machine {
  readonly clock = new VirtualClock();
  readonly evicted: Evicted[] = [];
  readonly counted: string[] = [];
  readonly pods = new Map<string, { readonly pod: Pod; readonly memoryMi: number; readonly diskMi: number }>();
  /** Evicted pods that have not ended. */
  readonly ending = new Set<string>();
  /** Messages of events on the node. */
  readonly told: string[] = [];
  conditionChanges = 0;
  imagesMi = 0;
  /** Disk usage of the containers of pods that have ended. */
  endedMi = 0;
  reclaims = 0;
  isBroken = false;
  readonly manager: EvictionManager;

  constructor(settings: EvictionSettings = {}, { reclaimsImages = false }: { readonly reclaimsImages?: boolean } = {}) {
    this.manager = new EvictionManager({
      rules: evictionRules(settings, { isAllocatableEnforced: true }),
      clock: this.clock,
      logger: silentLogger,
      metrics: { count: (name, labels) => void this.counted.push(`${name} ${labels?.["eviction_signal"]}`), gauge() {}, observe() {} },
      nodeStats: () => (this.isBroken ? Promise.reject(new Error("no such file")) : Promise.resolve(this.#node())),
      podStats: () => Promise.resolve([...this.pods].map(([name, { memoryMi, diskMi }]) => statsOf(name, memoryMi, diskMi))),
      pods: () => [...this.pods.values()].flatMap(({ pod }) => (this.ending.has(pod.metadata?.name ?? "") ? [] : [pod])),
      evict: ({ name }, eviction) => {
        this.evicted.push({ name, ...eviction });
        this.ending.add(name);
        return true;
      },
      hasEnded: ({ name }: PodRef) => !this.pods.has(name),
      reclaimContainers: () => {
        const pods = this.endedMi > 0 ? 1 : 0;
        this.endedMi = 0;
        return Promise.resolve(pods);
      },
      ...(reclaimsImages && {
        reclaimImages: () => {
          this.reclaims++;
          this.imagesMi = 0;
          return Promise.resolve();
        },
      }),
      recordNodeEvent: ({ type, reason, message }) => void this.told.push(`${type} ${reason} ${message}`),
      onConditions: () => void this.conditionChanges++,
    });
  }

  run(name: string, { memoryMi = 0, diskMi = 0, spec = {} }: { memoryMi?: number; diskMi?: number; spec?: object } = {}): void {
    this.pods.set(name, { pod: podOf(name, spec), memoryMi, diskMi });
  }

  /** Ends an evicted pod. */
  end(name: string): void {
    this.pods.delete(name);
    this.ending.delete(name);
  }

  get names(): string {
    return this.evicted.map(({ name }) => name).join(" ");
  }

  get conditions(): string {
    return this.manager.conditions.flatMap(({ type, status }) => (status === "True" ? [type] : [])).join(" ");
  }

  #node(): NodeStats {
    const sum = (field: "memoryMi" | "diskMi"): number => [...this.pods.values()].reduce((total, each) => total + each[field], 0) * Mi;
    const available = 1000 * Mi - sum("diskMi") - (this.imagesMi + this.endedMi) * Mi;
    const fs = { time, capacityBytes: 1000 * Mi, availableBytes: available, inodes: 1000, inodesFree: 900 };
    const memory = { time, availableBytes: 1000 * Mi - sum("memoryMi"), workingSetBytes: sum("memoryMi") };
    return { nodeName: "n", startTime: time, memory, fs, runtime: { imageFs: fs }, rlimit: { time, maxpid: 100, curproc: 10 } };
  }
}

function podOf(name: string, spec: object = {}): Pod {
  return { metadata: { name, namespace: "default", uid: name }, spec: { containers: [{ name: "app" }], ...spec } };
}

function statsOf(name: string, memoryMi: number, diskMi: number): PodStats {
  const logs = { time, usedBytes: 0 };
  const app = {
    name: "app",
    startTime: time,
    memory: { time, workingSetBytes: memoryMi * Mi },
    rootfs: { time, usedBytes: diskMi * Mi },
    logs,
  };
  return { podRef: { name, namespace: "default", uid: name }, startTime: time, containers: [app], "ephemeral-storage": app.rootfs };
}

describe("when memory runs out", () => {
  test("one pod is evicted, and the next one only if the end of the first did not free enough", async () => {
    const machine = new Machine();
    machine.run("large", { memoryMi: 500 });
    machine.run("small", { memoryMi: 420 });
    machine.run("critical", { memoryMi: 60, spec: { priority: 2_000_000_000 } });
    const stop = new AbortController();
    const running = machine.manager.run(stop.signal).catch(() => {});

    await machine.clock.advance(0);
    expect(machine.evicted).toEqual([
      {
        name: "large",
        graceMs: 1_000,
        isDisruption: true,
        message:
          "The node was low on resource: memory. Threshold quantity: 100Mi, available: 20Mi. " +
          "Container app was using 500Mi, request is 0, has larger consumption of memory. ",
      },
    ]);
    expect([machine.conditions, machine.conditionChanges, machine.counted]).toEqual([
      "MemoryPressure",
      1,
      ["kubelet_evictions memory.available"],
    ]);
    expect(machine.told).toEqual(["Warning EvictionThresholdMet Attempting to reclaim memory"]);
    await machine.clock.advance(20_000);
    expect(machine.names).toBe("large");
    machine.end("large");
    await machine.clock.advance(20_000);
    expect([machine.names, machine.conditions]).toEqual(["large", "MemoryPressure"]);
    await machine.clock.advance(300_000);
    expect([machine.conditions, machine.conditionChanges]).toEqual(["", 2]);
    stop.abort();
    await running;
  });

  test("eviction waits half a minute for a pod that takes long to end", async () => {
    const machine = new Machine();
    machine.run("stuck", { memoryMi: 500 });
    machine.run("next", { memoryMi: 450 });
    const stop = new AbortController();
    const running = machine.manager.run(stop.signal).catch(() => {});

    await machine.clock.advance(29_000);
    expect(machine.names).toBe("stuck");
    await machine.clock.advance(11_000);
    expect(machine.names).toBe("stuck next");
    stop.abort();
    await running;
  });

  test("and only critical pods run, nothing is evicted", async () => {
    const machine = new Machine();
    machine.run("dns", { memoryMi: 950, spec: { priority: 2_000_001_000 } });

    expect(await machine.manager.look(signal)).toEqual([]);
    expect(machine.conditions).toBe("MemoryPressure");
  });

  test("at a soft threshold, pods get the shorter of their own grace period and the node's", async () => {
    const machine = new Machine({
      evictionHard: {},
      evictionSoft: { "memory.available": "200Mi" },
      evictionSoftGracePeriod: { "memory.available": "30s" },
      evictionMaxPodGracePeriod: 60,
    });
    machine.run("own", { memoryMi: 850, spec: { terminationGracePeriodSeconds: 5 } });

    await machine.manager.look(signal);
    await machine.clock.advance(29_000);
    await machine.manager.look(signal);
    expect([machine.names, machine.conditions]).toEqual(["", "MemoryPressure"]);
    await machine.clock.advance(1_000);
    await machine.manager.look(signal);
    expect(machine.evicted).toMatchObject([{ name: "own", graceMs: 5_000 }]);
  });
});

describe("when the disk is full", () => {
  test("images are removed first, and pods stay if that is enough", async () => {
    const machine = new Machine({}, { reclaimsImages: true });
    machine.run("writer", { diskMi: 800 });
    machine.imagesMi = 150;

    expect(await machine.manager.look(signal)).toEqual([]);
    expect([machine.reclaims, machine.conditions]).toEqual([1, "DiskPressure"]);
    expect(await machine.manager.look(signal)).toEqual([]);
    expect(machine.reclaims).toBe(1);
  });

  test("containers of pods that have ended are removed, whether or not images are", async () => {
    for (const reclaimsImages of [false, true]) {
      const machine = new Machine({}, { reclaimsImages });
      machine.run("writer", { diskMi: 800 });
      machine.endedMi = 150;

      expect(await machine.manager.look(signal)).toEqual([]);
      expect([machine.endedMi, machine.names, machine.conditions]).toEqual([0, "", "DiskPressure"]);
      expect(machine.told).toEqual(["Warning EvictionThresholdMet Attempting to reclaim ephemeral-storage"]);
    }
  });

  test("and removing images is not enough, a pod is evicted", async () => {
    const machine = new Machine({}, { reclaimsImages: true });
    machine.run("writer", { diskMi: 900 });
    machine.imagesMi = 50;

    await machine.manager.look(signal);
    expect([machine.reclaims, machine.names]).toEqual([1, "writer"]);
    expect(machine.evicted[0]?.message).toContain("The node was low on resource: ephemeral-storage. Threshold quantity: ");
  });
});

test("pods that exceed their own storage limit are evicted at once, even several together, without a node condition", async () => {
  const limits = { "ephemeral-storage": "10Mi" };
  const spec = { containers: [{ name: "app", resources: { limits } }] };
  const machine = new Machine();
  machine.run("one", { diskMi: 11, spec });
  machine.run("two", { diskMi: 12, spec });
  machine.run("modest", { diskMi: 10, spec });
  machine.run("unlimited", { diskMi: 100 });

  await machine.manager.look(signal);

  expect(machine.names).toBe("one two");
  expect(machine.evicted[0]).toEqual({
    name: "one",
    graceMs: 1_000,
    isDisruption: false,
    message: "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
  });
  expect([machine.conditions, machine.counted]).toEqual([
    "",
    ["kubelet_evictions ephemeralpodfs.limit", "kubelet_evictions ephemeralpodfs.limit"],
  ]);
});

test("a check that fails leaves the conditions unchanged, and is repeated", async () => {
  const machine = new Machine();
  machine.isBroken = true;
  const stop = new AbortController();
  const running = machine.manager.run(stop.signal).catch(() => {});
  await machine.clock.advance(15_000);
  machine.isBroken = false;
  machine.run("large", { memoryMi: 950 });
  await machine.clock.advance(10_000);

  expect([machine.names, machine.conditions]).toEqual(["large", "MemoryPressure"]);
  stop.abort();
  await running;
});

describe("a new pod", () => {
  const memoryTaint = { key: "node.kubernetes.io/memory-pressure", operator: "Exists" };
  const burstable = { containers: [{ name: "app", resources: { requests: { memory: "1Mi" } } }] };

  test.for<[what: string, memoryMi: number, diskMi: number, spec: object, isTaken: boolean]>([
    ["is admitted by a node with enough resources", 100, 100, {}, true],
    ["of class best effort is refused by a node under memory pressure", 950, 100, {}, false],
    ["that tolerates memory pressure is admitted", 950, 100, { tolerations: [memoryTaint] }, true],
    ["with a memory request is admitted under memory pressure", 950, 100, burstable, true],
    ["is refused by a node under disk pressure, whatever it requests", 100, 950, burstable, false],
    ["is refused by a node under memory and disk pressure, whatever it tolerates", 950, 950, { tolerations: [memoryTaint] }, false],
    ["that is critical is always admitted", 950, 950, { priority: 2_000_000_000 }, true],
  ])("%s", async ([, memoryMi, diskMi, spec, isTaken]) => {
    const machine = new Machine();
    machine.run("other", { memoryMi, diskMi });
    await machine.manager.look(signal);

    const admit = (): void => machine.manager.admit(podOf("new", spec));

    if (isTaken) expect(admit).not.toThrow();
    else
      expect(admit).toThrow(
        expect.objectContaining({ reason: "Evicted", message: `Pod was rejected: The node had condition: [${machine.conditions}]. ` }),
      );
  });

  test.for([
    ["a static pod", { "kubernetes.io/config.source": "file" }, true],
    ["a mirror pod of a static pod", { "kubernetes.io/config.mirror": "1" }, true],
    ["a pod of the API server", { "kubernetes.io/config.source": "api" }, false],
  ] as const)("%s", async ([, annotations, isTaken]) => {
    const machine = new Machine();
    machine.run("other", { diskMi: 950 });
    await machine.manager.look(signal);
    const pod = podOf("new");
    const admit = (): void => machine.manager.admit({ ...pod, metadata: { ...pod.metadata, annotations } });

    if (isTaken) expect(admit).not.toThrow();
    else expect(admit).toThrow("DiskPressure");
  });
});
