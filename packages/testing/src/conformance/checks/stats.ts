import assert from "node:assert/strict";
import type { ContainerStats, MetricSample, PodStats } from "@virtual-kubelet/core";
import { check, type Check } from "../check.ts";
import type { ProviderRig } from "../provider-rig.ts";
import { isTime } from "../status-rules.ts";

async function statsOf(rig: ProviderRig, uid: string): Promise<PodStats> {
  return rig.eventually(
    async () => {
      assert.ok(rig.provider.getStatsSummary);
      const { pods } = await rig.within("getStatsSummary", rig.provider.getStatsSummary(rig.signal));
      const pod = pods.find(({ podRef }) => podRef.uid === uid);
      assert.ok(pod, `the pod is not in the summary, which has ${JSON.stringify(pods.map(({ podRef }) => podRef.uid))} and not ${uid}`);
      assert.ok(pod.containers.length > 0 && pod.containers.every(({ cpu, memory }) => cpu && memory), "a container has no figures yet");
      return pod;
    },
    { timeoutMs: rig.timeouts.startMs, intervalMs: 200 },
  );
}

/** Latest time among the first container's figures, which may have different times. */
function measuredMs({ containers: [container] }: PodStats): number {
  return Math.max(...[container?.cpu, container?.memory].map((figures) => Date.parse(String(figures?.time))));
}

/** A container's figures: times, and whole numbers. */
function checkContainer({ name, startTime, cpu, memory }: ContainerStats): void {
  assert.ok(isTime(startTime) && isTime(cpu?.time) && isTime(memory?.time), `container ${name}: times must be of RFC 3339`);
  assert.ok(Date.parse(String(cpu?.time)) >= Date.parse(startTime) - 1000, `container ${name} was measured before it started`);
  const { usageCoreNanoSeconds, usageNanoCores } = cpu ?? {};
  assert.ok(usageCoreNanoSeconds !== undefined || usageNanoCores !== undefined, `container ${name} has no figure of its processor`);
  for (const figure of [usageCoreNanoSeconds, usageNanoCores, memory?.workingSetBytes, memory?.usageBytes, memory?.rssBytes])
    if (figure !== undefined)
      assert.ok(Number.isInteger(figure) && figure >= 0, `container ${name} has a figure of ${figure}: whole numbers only`);
  assert.ok((memory?.workingSetBytes ?? 0) > 0, `container ${name} uses no memory: workingSetBytes is what kubectl top shows`);
}

/** Figures of its own for `/metrics/resource` hold the pod and each of its containers, by the names that metrics-server reads. */
async function checkOwnFigures(rig: ProviderRig, podName: string, containers: number): Promise<void> {
  const families = await rig.provider.getMetricsResource?.(rig.signal);
  if (!families) return;
  for (const [name, wanted] of [
    ["pod_cpu_usage_seconds_total", 1],
    ["container_cpu_usage_seconds_total", containers],
    ["container_memory_working_set_bytes", containers],
  ] as const) {
    const samples: readonly MetricSample[] = families.find((family) => family.name === name)?.samples ?? [];
    assert.equal(samples.filter(({ labels }) => labels?.["pod"] === podName).length, wanted, `samples of ${name} for the pod`);
  }
}

/** Small enough for a container with a limit of 32 MiB, because a shell needs several times as much while it reads the data. */
const heldBytes = 4 * 1024 * 1024;

/** Resource usage of pods. */
export const statsChecks: readonly Check[] = [
  check("stats", "a running pod has figures: CPU and memory of each container, by name", async (rig) => {
    const several = rig.options.provider.capabilities.multipleContainers === true && rig.options.lacksInSeveral?.stats === undefined;
    const names = several ? ["a", "b", "c"] : ["main"];
    const ref = await rig.run({ containers: names.map((name) => ({ name })) });
    const pod = await statsOf(rig, ref.uid);
    assert.deepEqual(pod.podRef, { name: ref.name, namespace: ref.namespace, uid: ref.uid });
    assert.deepEqual(pod.containers.map(({ name }) => name).toSorted(), names);
    assert.ok(isTime(pod.startTime), `startTime is ${pod.startTime}`);
    // A new process may not be loaded yet.
    await rig.eventually(async () => (await statsOf(rig, ref.uid)).containers.forEach(checkContainer), {
      timeoutMs: rig.timeouts.startMs,
      intervalMs: 200,
      describe: "the containers to be measured",
    });
    const { node } = (await rig.provider.getStatsSummary?.(rig.signal)) ?? {};
    if (node) assert.equal(node.nodeName, rig.nodeName, "the summary is of another node");
    await checkOwnFigures(rig, ref.name, names.length);
  }),
  check("stats", "memory is reported in bytes", async (rig) => {
    const ref = await rig.run({ containers: [{ program: { kind: "hold-memory", bytes: heldBytes } }] });
    await rig.eventually(
      async () => {
        const { workingSetBytes = 0 } = (await statsOf(rig, ref.uid)).containers[0]?.memory ?? {};
        // The shell's own memory is tolerated; a wrong unit would differ by a factor of 1,000 at least.
        const isInBytes = workingSetBytes >= heldBytes / 2 && workingSetBytes <= heldBytes * 256;
        assert.ok(isInBytes, `workingSetBytes is ${workingSetBytes} of a container that holds ${heldBytes} bytes and a shell`);
      },
      { timeoutMs: rig.timeouts.startMs, intervalMs: 200 },
    );
  }),
  check("stats", "a container's CPU time never decreases, and later measurements have later times", async (rig) => {
    const ref = await rig.run();
    let before = await statsOf(rig, ref.uid);
    for (let round = 0; round < 3; round++) {
      await rig.clock.sleep(400);
      const after = await statsOf(rig, ref.uid);
      const [was, is] = [before.containers[0]?.cpu, after.containers[0]?.cpu];
      assert.ok(
        (is?.usageCoreNanoSeconds ?? 0) >= (was?.usageCoreNanoSeconds ?? 0),
        `usageCoreNanoSeconds fell from ${was?.usageCoreNanoSeconds} to ${is?.usageCoreNanoSeconds}`,
      );
      assert.ok(Date.parse(String(is?.time)) >= Date.parse(String(was?.time)), "measurements go back in time");
      assert.equal(after.containers[0]?.startTime, before.containers[0]?.startTime);
      before = after;
    }
    const first = measuredMs(before);
    await rig.eventually(
      async () => assert.ok(measuredMs(await statsOf(rig, ref.uid)) > first, `nothing was measured after ${new Date(first).toISOString()}`),
      { timeoutMs: rig.timeouts.startMs, intervalMs: 200, describe: "the container to be measured again" },
    );
  }),
  check("stats", "the node's CPU time does not decrease when a pod is deleted, and the pod has no figures any more", async (rig) => {
    const ref = await rig.run();
    await statsOf(rig, ref.uid);
    const before = (await rig.provider.getStatsSummary?.(rig.signal))?.node?.cpu?.usageCoreNanoSeconds ?? 0;
    await rig.delete(ref, 5);
    await rig.untilGone(ref);
    await rig.eventually(
      async () => {
        const summary = await rig.provider.getStatsSummary?.(rig.signal);
        assert.ok(!summary?.pods.some(({ podRef }) => podRef.uid === ref.uid), "a pod that is gone is still measured");
        assert.ok((summary?.node?.cpu?.usageCoreNanoSeconds ?? before) >= before, "the node's usageCoreNanoSeconds fell");
      },
      { timeoutMs: rig.timeouts.endMs },
    );
  }),
];
