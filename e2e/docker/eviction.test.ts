import { resources, type Pod } from "@virtual-kubelet/kube-client";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { controlGroupFolders, controlGroupOf, removeControlGroups } from "./support/control-groups.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { EmbeddedNode, patienceMs } from "./support/embedded-node.ts";

const api = sharedApi();
const { signal } = new AbortController();
const Mi = 2 ** 20;
const image = "busybox:1.37";
const forever = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done";

function container(script: string, resources: object = {}): NonNullable<Pod["spec"]>["containers"][number] {
  return { name: "app", image, command: ["sh", "-c", `${script}${forever}`], resources };
}

/** Status and message of a condition of the node. */
async function condition(node: EmbeddedNode, type: string): Promise<readonly unknown[]> {
  const found = await node.condition(type);
  return [found?.status, found?.reason, found?.message];
}

async function memoryLimitOf(group: string): Promise<number> {
  const isVersion2 = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const path = isVersion2 ? join("/sys/fs/cgroup", group, "memory.max") : join("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
  return Number(await readFile(path, "utf8"));
}

async function processLimitOf(group: string): Promise<number> {
  const [path = ""] = controlGroupFolders(group).filter((folder) => existsSync(join(folder, "pids.max")));
  return Number(await readFile(join(path, "pids.max"), "utf8"));
}

async function processLimitOfMachine(): Promise<number> {
  const limits = ["pid_max", "threads-max"].map(async (name) => Number(await readFile(`/proc/sys/kernel/${name}`, "utf8")));
  return Math.min(...(await Promise.all(limits)));
}

test("a pod that uses too much of the allocatable memory is evicted, others continue, and new pods wait until the pressure is over", async () => {
  const group = `${controlGroupOf(api.host)}/eviction`;
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => removeControlGroups(group));
  await using node = await EmbeddedNode.start("docker-eviction", api, {
    cgroupParent: group,
    capacity: { memory: "400Mi" },
    kubeReserved: { memory: "60Mi", pid: "100" },
    systemReserved: { memory: "40Mi" },
    evictionHard: { "memory.available": "100Mi" },
    evictionPressureTransitionPeriod: "25s",
  });
  await eventually(async () => expect(await memoryLimitOf(group)).toBe(300 * Mi), { timeoutMs: patienceMs });
  await eventually(async () => expect(await processLimitOf(group)).toBe((await processLimitOfMachine()) - 100), { timeoutMs: patienceMs });
  const { status } = await node.client.get(resources.nodes, { name: node.name }, { signal });
  expect([status?.capacity?.["memory"], status?.allocatable?.["memory"]]).toEqual(["400Mi", "200Mi"]);
  expect(await condition(node, "MemoryPressure")).toEqual([
    "False",
    "KubeletHasSufficientMemory",
    "kubelet has sufficient memory available",
  ]);

  await node.create("modest", { containers: [container("", { requests: { memory: "50Mi" } })] });
  await node.running("modest");
  await node.create("greedy", {
    volumes: [{ name: "memory", emptyDir: { medium: "Memory", sizeLimit: "290Mi" } }],
    containers: [
      { ...container("dd if=/dev/zero of=/memory/file bs=1M count=220; "), volumeMounts: [{ name: "memory", mountPath: "/memory" }] },
    ],
  });
  const evicted = await node.until("greedy", "to be evicted", ({ phase }) => expect(phase).toBe("Failed"));

  const words =
    /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: \d+(Ki|Mi)\. Container app was using \d+(Ki|Mi), request is 0, has larger consumption of memory\. $/;
  expect(evicted.status).toMatchObject({ reason: "Evicted", message: expect.stringMatching(words) });
  expect(evicted.status?.conditions).toContainEqual(
    expect.objectContaining({ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message: evicted.status?.message }),
  );
  // Events are written independently of statuses, and may be later.
  await eventually(async () => expect(await node.events("greedy")).toContainEqual({ reason: "Evicted", message: evicted.status?.message }));
  await eventually(
    async () =>
      expect(await condition(node, "MemoryPressure")).toEqual([
        "True",
        "KubeletHasInsufficientMemory",
        "kubelet has insufficient memory available",
      ]),
    { timeoutMs: patienceMs },
  );
  await eventually(async () => {
    const told = (await node.events(node.name)).map(({ reason, message }) => `${reason}: ${message}`);
    expect(told).toContain("EvictionThresholdMet: Attempting to reclaim memory");
    expect(told).toContain(`NodeHasInsufficientMemory: Node ${node.name} status is now: NodeHasInsufficientMemory`);
  });
  await node.create("early", { containers: [container("")] });
  const refused = await node.until("early", "to be refused", ({ phase }) => expect(phase).toBe("Failed"));
  expect(refused.status).toMatchObject({
    reason: "Evicted",
    message: "Pod was rejected: The node had condition: [MemoryPressure]. ",
  });

  // The end of the evicted pod alone has freed the memory; the pod is not deleted yet.
  await eventually(async () => expect((await condition(node, "MemoryPressure"))[0]).toBe("False"), { timeoutMs: patienceMs });
  await node.create("late", { containers: [container("")] });
  await node.running("late");
  expect(await node.running("modest")).toMatchObject({ restartCount: 0, ready: true });
  expect((await node.pod("greedy")).status?.phase).toBe("Failed");
});

test("a pod that exceeds its limit of ephemeral storage is evicted, and a pod within its limit continues", async () => {
  await using node = await EmbeddedNode.start("docker-ephemeral", api);
  const limits = { "ephemeral-storage": "20Mi" };
  await node.create("within", { containers: [container("dd if=/dev/zero of=/file bs=1M count=10; ", { limits })] });
  await node.create("layer", { containers: [container("dd if=/dev/zero of=/file bs=1M count=40; ", { limits })] });
  await node.create("volume", {
    volumes: [{ name: "data", emptyDir: {} }],
    containers: [
      {
        ...container("dd if=/dev/zero of=/data/file bs=1M count=40; ", { limits }),
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
  });
  await node.create("directory", {
    volumes: [{ name: "data", emptyDir: { sizeLimit: "20Mi" } }],
    containers: [{ ...container("dd if=/dev/zero of=/data/file bs=1M count=40; "), volumeMounts: [{ name: "data", mountPath: "/data" }] }],
  });

  const message = "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ";
  for (const name of ["layer", "volume"]) {
    const { status } = await node.until(name, "to be evicted", ({ phase }) => expect(phase).toBe("Failed"));
    expect(status).toMatchObject({ reason: "Evicted", message });
    expect(status?.conditions?.map(({ type }) => type)).not.toContain("DisruptionTarget");
  }
  const { status } = await node.until("directory", "to be evicted", ({ phase }) => expect(phase).toBe("Failed"));
  expect(status).toMatchObject({ reason: "Evicted", message: 'Usage of EmptyDir volume "data" exceeds the limit "20Mi". ' });
  expect(await node.running("within")).toMatchObject({ restartCount: 0 });
});

test("a node with a full disk accepts only critical pods", async () => {
  // Every disk exceeds this threshold.
  await using node = await EmbeddedNode.start("docker-disk", api, { evictionHard: { "nodefs.available": "99.99%" } });
  await eventually(
    async () => expect(await condition(node, "DiskPressure")).toEqual(["True", "KubeletHasDiskPressure", "kubelet has disk pressure"]),
    { timeoutMs: patienceMs },
  );
  expect(await condition(node, "PIDPressure")).toEqual(["False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"]);

  await node.create("asked", { containers: [container("", { requests: { memory: "1Mi" } })] });
  const refused = await node.until("asked", "to be refused", ({ phase }) => expect(phase).toBe("Failed"));
  expect(refused.status).toMatchObject({ reason: "Evicted", message: "Pod was rejected: The node had condition: [DiskPressure]. " });
  expect(await api.containers({ [labelNames.podUid]: refused.metadata?.uid ?? "" })).toEqual([]);

  await node.create("critical", { priorityClassName: "system-node-critical", containers: [container("")] });
  await node.running("critical");
});
