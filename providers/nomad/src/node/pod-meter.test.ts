import { VirtualClock } from "@virtual-kubelet/clock";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { NomadClient } from "../api/nomad-client.ts";
import type { AllocationStats } from "../api/types.ts";
import { newPodEntry, type PodEntry } from "../pods/pod-entry.ts";
import { readFixture } from "../test-support/fixtures.ts";
import { owner } from "../test-support/pods.ts";
import { PodMeter } from "./pod-meter.ts";

const { signal } = new AbortController();
const { body: recorded } = await readFixture<AllocationStats>("05-alloc-stats");

function entryWith(tasks: readonly string[]): PodEntry {
  const containers = tasks.map((name) => ({ name, image: "", role: "main" as const }));
  const shape = {
    ref: { namespace: "shop", name: "web", uid: "u-1" },
    owner,
    restartPolicy: "Always" as const,
    containers,
    graceSeconds: 30,
    driver: "docker" as const,
    network: "bridge",
    variables: [],
    fileVolumes: [],
  };
  const running = { State: "running", Failed: false, Restarts: 0, StartedAt: "2026-01-01T00:00:00Z" } as const;
  return {
    ...newPodEntry("vk-1", shape),
    allocation: {
      ID: "a-1",
      JobID: "vk-1",
      Namespace: "default",
      NodeID: "n",
      CreateIndex: 1,
      ModifyIndex: 1,
      CreateTime: 0,
      ClientStatus: "running",
      DesiredStatus: "run",
      TaskStates: Object.fromEntries(tasks.map((name) => [name, running])),
    },
  };
}

function meterOf(stats: () => Promise<AllocationStats>): { readonly meter: PodMeter; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  const client = { stats } as unknown as NomadClient;
  return { meter: new PodMeter({ client, clock, nodeName: "n1", mhzPerCore: () => 2596 }), clock };
}

test("recorded figures come in cores and bytes, and processor time is summed from one measurement to the next", async () => {
  const { meter, clock } = meterOf(async () => recorded);
  const entry = entryWith(["side"]);
  await meter.summary([entry], signal);
  await clock.advance(10_000);
  const { pods, node } = await meter.summary([entry], signal);

  const nanoCores = Math.round((2.774_056_609_137_055_8 / 2596) * 1e9);
  expect(pods[0]?.podRef).toEqual({ namespace: "shop", name: "web", uid: "u-1" });
  expect(pods[0]?.containers[0]).toMatchObject({
    name: "side",
    cpu: { usageNanoCores: nanoCores, usageCoreNanoSeconds: nanoCores * 10 },
    memory: { usageBytes: 651_264, workingSetBytes: 643_072, rssBytes: 114_688 },
  });
  expect(node?.cpu?.usageCoreNanoSeconds).toBe(nanoCores * 10);
});

test("the node's processor time does not fall when a pod goes", async () => {
  const { meter, clock } = meterOf(async () => recorded);
  await meter.summary([entryWith(["side"])], signal);
  await clock.advance(10_000);
  const before = (await meter.summary([entryWith(["side"])], signal)).node?.cpu?.usageCoreNanoSeconds;

  expect((await meter.summary([], signal)).node?.cpu?.usageCoreNanoSeconds).toBe(before);
});

test("a container without figures yet has none, and a pod whose client is away is left out", async () => {
  const young = await meterOf(async () => recorded).meter.summary([entryWith(["side", "young"])], signal);
  const away = await meterOf(() => Promise.reject(new NotFoundError("Unknown allocation"))).meter.summary([entryWith(["side"])], signal);

  expect(young.pods[0]?.containers[1]).toEqual({ name: "young", startTime: "2026-01-01T00:00:00Z" });
  expect(away.pods).toEqual([]);
});
