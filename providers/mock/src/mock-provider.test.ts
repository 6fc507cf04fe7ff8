import { VirtualClock } from "@virtual-kubelet/clock";
import type { Pod } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { expect, test, vi } from "vitest";
import { PodAddresses } from "./pod/pod-addresses.ts";
import { UsedAddresses } from "./pod/used-addresses.ts";
import { MockRig, podOf, refOf } from "./test-support/mock-rig.ts";

test("a pod without a script runs and is ready when createPod returns, reported once, with no timer left", async () => {
  const rig = new MockRig(new VirtualClock());

  await rig.create(
    podOf({
      containers: [
        { name: "a", image: "x" },
        { name: "b", image: "y" },
      ],
    }),
  );

  expect(rig.shown).toBe("Running: running ready, running ready");
  expect(rig.last.containerStatuses?.[0]).toEqual({
    name: "a",
    image: "x",
    imageID: "x",
    containerID: "mock://uid-web/a/0",
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
    lastState: {},
  });
  expect(rig.updates).toHaveLength(1);
  expect(rig.clock.pending).toBe(0);
});

test("a second createPod of one UID changes nothing", async () => {
  const rig = new MockRig(new VirtualClock());

  await rig.create(podOf());
  await rig.create(podOf());

  expect(rig.updates).toHaveLength(1);
  expect((await rig.provider.getPods(rig.signal)).pods).toHaveLength(1);
});

test("two pods of one name are two pods", async () => {
  const rig = new MockRig(new VirtualClock());

  await rig.create(podOf({ uid: "old" }));
  await rig.create(podOf({ uid: "new" }));
  await rig.provider.deletePod(refOf(podOf({ uid: "old" })), { gracePeriodSeconds: 30 });

  const { pods, complete } = await rig.provider.getPods(rig.signal);
  expect(complete).toBe(true);
  expect(pods.map(({ ref, owner }) => ({ uid: ref.uid, owner }))).toEqual([{ uid: "new", owner: { clusterId: "c", nodeName: "vk" } }]);
});

test("a deleted pod ends at once, in upstream's words, and is forgotten", async () => {
  const rig = new MockRig(new VirtualClock());
  const ref = await rig.create(podOf());

  await rig.provider.deletePod(ref, { gracePeriodSeconds: 30 });

  expect(rig.last).toMatchObject({ phase: "Succeeded", reason: "MockProviderPodDeleted" });
  expect(rig.last.containerStatuses?.[0]).toMatchObject({
    ready: false,
    state: {
      terminated: { exitCode: 0, reason: "MockProviderPodContainerDeleted", message: "Mock provider terminated container upon deletion" },
    },
  });
  await expect(rig.provider.getPodStatus(ref)).rejects.toSatisfy(isNotFound);
  await expect(rig.provider.deletePod(ref, { gracePeriodSeconds: 0 })).rejects.toSatisfy(isNotFound);
});

test("every pod has an address of its own, which is the last to be used again", async () => {
  const rig = new MockRig(new VirtualClock(), { podCIDR: "10.1.2.0/29" });
  const ips: (string | undefined)[] = [];

  for (const name of ["a", "b", "c"]) {
    await rig.create(podOf({ name }));
    ips.push(rig.last.podIP);
  }
  await rig.provider.deletePod(refOf(podOf({ name: "a" })), { gracePeriodSeconds: 0 });
  for (const name of ["d", "e", "f", "g"]) {
    await rig.create(podOf({ name }));
    ips.push(rig.last.podIP);
  }

  expect(ips).toEqual(["10.1.2.1", "10.1.2.2", "10.1.2.3", "10.1.2.4", "10.1.2.5", "10.1.2.6", "10.1.2.1"]);
  await expect(rig.create(podOf({ name: "h" }))).rejects.toThrow("all 6 pod addresses of 10.1.2.0/29 are in use: set a larger podCIDR");
});

test("nodes of one process never give out an address twice, and numbered nodes each begin with a /24 of their own", async () => {
  const used = new UsedAddresses();
  const clock = new VirtualClock();
  const rigs = ["vk", "other", "sim-0", "sim-7", "sim-2055"].map((nodeName) => new MockRig(clock, {}, { nodeName, used }));
  const ips: (string | undefined)[] = [];
  for (const round of ["a", "b"])
    for (const [number, rig] of rigs.entries()) {
      await rig.create(podOf({ name: `${round}-${number}` }));
      ips.push(rig.last.podIP);
    }

  const [first, second] = [ips.slice(0, 5), ips.slice(5)];
  expect(first).toEqual(["10.88.0.1", "10.88.0.2", "10.88.0.3", "10.88.7.1", "10.88.7.2"]);
  expect(second).toEqual(["10.88.0.4", "10.88.0.5", "10.88.0.6", "10.88.7.3", "10.88.7.4"]);
  await rigs[0]?.provider[Symbol.asyncDispose]();
  const next = new MockRig(clock, { podCIDR: "10.88.0.0/29" }, { used });
  await next.create(podOf());
  expect(next.last.podIP).toBe("10.88.0.1");
});

test("a numbered node uses the whole range when its own /24 is full", async () => {
  const rig = new MockRig(new VirtualClock(), { podCIDR: "10.0.0.0/23" }, { nodeName: "sim-1" });
  const ips = new Set<string | undefined>();
  for (let number = 0; number < 510; number++) {
    await rig.create(podOf({ name: `pod-${number}` }));
    ips.add(rig.last.podIP);
  }

  expect([...ips].slice(0, 256).filter((ip) => !ip?.startsWith("10.0.1."))).toEqual(["10.0.0.1", "10.0.0.2"]);
  expect(ips.size).toBe(510);
  await expect(rig.create(podOf({ name: "one-too-many" }))).rejects.toThrow("all 510 pod addresses");
});

test("a numbered node whose /24 is full does not look through those of a thousand others", () => {
  const used = new UsedAddresses();
  const nodes = Array.from({ length: 1_000 }, (_, number) => new PodAddresses({ range: "10.88.0.0/13", nodeName: `sim-${number}`, used }));
  for (const node of nodes) for (let pod = 0; pod < 254; pod++) node.take();
  const looksUp = vi.spyOn(used, "has");

  expect(nodes.map((node) => node.take()).filter((_, number) => number % 333 === 0)).toEqual([
    "10.95.255.1",
    "10.94.178.1",
    "10.93.101.1",
    "10.92.24.1",
  ]);
  expect(looksUp.mock.calls.length).toBe(1_000 * 255);
});

test("an address that two pods have is free when both have ended", async () => {
  const used = new UsedAddresses();
  const clock = new VirtualClock();
  const config = { podCIDR: "10.0.0.0/30" };
  const [first, second] = [new MockRig(clock, config, { used }), new MockRig(clock, config, { used })];
  const pod = podOf();
  await first.create(pod);
  const ref = await second.create({ ...pod, status: structuredClone(first.last) as NonNullable<Pod["status"]> });
  await first.create(podOf({ name: "b" }));

  await first.provider.deletePod(ref, { gracePeriodSeconds: 0 });
  await expect(first.create(podOf({ name: "c" }))).rejects.toThrow("are in use");
  await second.provider.deletePod(ref, { gracePeriodSeconds: 0 });
  await first.create(podOf({ name: "c" }));
  expect(first.last.podIP).toBe("10.0.0.1");
});

test("a pod on the host's network has the node's address", async () => {
  const rig = new MockRig(new VirtualClock());

  await rig.create(podOf({ hostNetwork: true }));

  expect(rig.last.podIPs).toEqual([{ ip: "192.0.2.1" }]);
});

test("only containers that name secrets or config maps have their environment resolved", async () => {
  const rig = new MockRig(new VirtualClock());

  await rig.create(
    podOf({
      containers: [
        { name: "plain", env: [{ name: "A", value: "b" }] },
        { name: "from", env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] },
        { name: "all", envFrom: [{ configMapRef: { name: "c" } }] },
      ],
    }),
  );

  expect(rig.environments).toEqual(["from", "all"]);
});

test("init containers have ended and sidecars run when the pod runs", async () => {
  const rig = new MockRig(new VirtualClock());

  await rig.create(
    podOf({
      initContainers: [
        { name: "setup", image: "a" },
        { name: "proxy", image: "b", restartPolicy: "Always" },
      ],
    }),
  );

  expect(rig.shown).toBe("Running: exit 0 ready, running ready, running ready");
});

test("a changed image restarts its container, a new ephemeral container runs", async () => {
  const rig = new MockRig(new VirtualClock());
  const pod = podOf();
  await rig.create(pod);

  await rig.provider.updatePod({
    ...pod,
    spec: { ...pod.spec, containers: [{ name: "main", image: "nginx:2" }], ephemeralContainers: [{ name: "debug", image: "sh" }] },
  });

  expect(rig.shown).toBe("Running: running ready #1, running");
  expect(rig.last.containerStatuses?.[0]).toMatchObject({ image: "nginx:2", lastState: { terminated: { exitCode: 0 } } });
});

test("an update that changes nothing here is not reported", async () => {
  const rig = new MockRig(new VirtualClock());
  const pod = podOf();
  await rig.create(pod);

  await rig.provider.updatePod({ ...pod, metadata: { ...pod.metadata, labels: { a: "b" } } });

  expect(rig.updates).toHaveLength(1);
});

test("the node's description comes from the configuration", async () => {
  const rig = new MockRig(new VirtualClock(), { cpu: 8, pods: "500", others: { "nvidia.com/gpu": 2 }, providerID: "mock://vk" });

  expect(await rig.provider.configureNode()).toMatchObject({
    capacity: { cpu: "8", memory: "100Gi", pods: "500", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "2" },
    providerID: "mock://vk",
  });
});

test("disposing of it frees every timer", async () => {
  const rig = new MockRig(new VirtualClock());
  await rig.create(podOf({ script: { "exit-after": "1h" } }));
  expect(rig.clock.pending).toBe(1);

  await rig.provider[Symbol.asyncDispose]();

  expect(rig.clock.pending).toBe(0);
});
