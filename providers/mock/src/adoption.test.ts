import { VirtualClock } from "@virtual-kubelet/clock";
import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { MockRig, podOf, type PodShape } from "./test-support/mock-rig.ts";

/** The pod as the API server has it after the rig's last report. */
function atApiServer(pod: Pod, rig: MockRig<VirtualClock>): Pod {
  return { ...pod, status: structuredClone(rig.last) as NonNullable<Pod["status"]> };
}

/** A rig in which the pod ran for a while, and one of the next process, which was told to create that pod after another while. */
async function restarted(
  shape: PodShape,
  ranMs: number,
  awayMs: number,
): Promise<{ before: MockRig<VirtualClock>; after: MockRig<VirtualClock> }> {
  const clock = new VirtualClock();
  const before = new MockRig(clock);
  const pod = podOf(shape);
  await before.create(pod);
  await clock.advance(ranMs);
  const left = atApiServer(pod, before);
  await before.provider[Symbol.asyncDispose]();
  await clock.advance(awayMs);
  const after = new MockRig(clock);
  await after.create(left);
  return { before, after };
}

test.for<[name: string, shape: PodShape]>([
  ["a plain pod", {}],
  ["a pod on the host's network", { hostNetwork: true }],
  [
    "a pod with init containers",
    {
      initContainers: [
        { name: "first", image: "x" },
        { name: "side", image: "y", restartPolicy: "Always" },
      ],
    },
  ],
  ["a pod that has restarted", { script: { "exit-after": "100s" } }],
  ["a pod that is not ready yet", { script: { "ready-after": "1h" } }],
  [
    "a pod one of whose containers has ended",
    {
      restartPolicy: "Never",
      containers: [
        { name: "a", image: "x" },
        { name: "b", image: "y" },
      ],
      script: { "a.exit-after": "10s" },
    },
  ],
])("%s goes on in the next process with the same status", async ([, shape]) => {
  const { before, after } = await restarted(shape, 150_000, 20_000);

  expect(after.last).toEqual(before.last);
  expect(after.updates).toHaveLength(1);
});

test("a script goes on from the start of its container, also where a change was due while no process ran", async () => {
  const shape: PodShape = { restartPolicy: "Never", script: { "exit-after": "60s", "exit-code": "3" } };
  const running = await restarted(shape, 20_000, 10_000);
  expect(running.after.shown).toBe("Running: running ready");
  await running.after.clock.advance(30_000);
  expect(running.after.shown).toBe("Failed: exit 3");

  const { after } = await restarted(shape, 20_000, 100_000);
  expect(after.shown).toBe("Failed: exit 3");
});

test("a container that waits after a crash starts again at its time, and the next delay is twice as long", async () => {
  const { before, after } = await restarted({ script: { "exit-after": "5s", "exit-code": "1" } }, 11_000, 2_000);
  expect(before.shown).toBe("Running: CrashLoopBackOff #1");
  expect(after.last).toEqual(before.last);

  await after.clock.advance(6_000);
  expect(after.shown).toBe("Running: CrashLoopBackOff #1");
  await after.clock.advance(1_500);
  expect(after.shown).toBe("Running: running ready #2");
  await after.clock.advance(5_500);
  expect(after.last.containerStatuses?.[0]?.state?.waiting?.message).toContain("back-off 20s");
});

test("a pod's address stays its own: new pods do not get it, and it is free when the pod has ended", async () => {
  const clock = new VirtualClock();
  const before = new MockRig(clock, { podCIDR: "10.0.0.0/29" });
  const pod = podOf();
  await before.create(pod);
  const left = atApiServer(pod, before);
  const after = new MockRig(clock, { podCIDR: "10.0.0.0/29" });
  await after.create(left);
  expect(after.last.podIP).toBe(before.last.podIP);

  const addresses: (string | undefined)[] = [];
  for (let number = 0; number < 5; number++) {
    await after.create(podOf({ name: `new-${number}` }));
    addresses.push(after.last.podIP);
  }
  expect(addresses).not.toContain(before.last.podIP);
  await expect(after.create(podOf({ name: "one-too-many" }))).rejects.toThrow("are in use");
  await after.provider.deletePod({ namespace: "default", name: "web", uid: "uid-web" }, { gracePeriodSeconds: 0 });
  await after.create(podOf({ name: "next" }));
  expect(after.last.podIP).toBe(before.last.podIP);
});

test("a pod that ran does not wait for its secrets again", async () => {
  const env = [{ name: "KEY", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }];
  const { before, after } = await restarted({ containers: [{ name: "main", image: "nginx", env }] }, 1_000, 1_000);

  expect([before.environments, after.environments]).toEqual([["main"], []]);
});

test("a pod that has not started, or ran at another back end, starts anew", async () => {
  const waiting = await restarted({ script: { "start-delay": "60s" } }, 10_000, 20_000);
  expect(waiting.after.shown).toBe("Pending: ContainerCreating");
  await waiting.after.clock.advance(60_000);
  expect(waiting.after.shown).toBe("Running: running ready");

  const rig = new MockRig(new VirtualClock());
  await rig.create(podOf());
  const elsewhere = structuredClone(atApiServer(podOf(), rig));
  for (const status of elsewhere.status?.containerStatuses ?? []) Object.assign(status, { containerID: "docker://1", restartCount: 7 });
  const fresh = new MockRig(rig.clock);
  await fresh.create(elsewhere);
  expect(fresh.shown).toBe("Running: running ready");
});
