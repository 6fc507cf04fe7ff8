import type { Pod } from "@virtual-kubelet/core";
import { isQuotaExceeded } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { publishedLimits } from "../aci/fake/call-limits.ts";
import { throttled } from "../aci/fake/fault-rules.ts";
import { openAci, type OpenedAci } from "../aci/support/open-aci.ts";
import { podOf, resolverOf } from "../zun/support.ts";

// Rates, quotas and capacity of Azure, on virtual time.

const { signal } = new AbortController();
const hourMs = 3_600_000;
const creates = { method: "PUT", path: /\/containerGroups\/[^/?]+\?/i };

const webPod = (): Pod => podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }] });
const statuses = ({ azure }: OpenedAci, method: string): (number | undefined)[] =>
  azure.calls.filter((call) => call.method === method).map(({ status }) => status);
const throttledCalls = ({ azure }: OpenedAci): number => azure.calls.filter(({ status }) => status === 429).length;

test("creates that are throttled wait for as long as Azure asks, and each pod gets exactly one container group", async () => {
  await using aci = await openAci();
  aci.azure.faults.add({ ...creates, times: 1, answer: throttled(120) });
  const pods = [webPod(), webPod(), webPod()];
  const startMs = aci.clock.monotonic();
  for (const pod of pods) expect(await aci.create(pod)).toBeUndefined();
  expect(aci.clock.monotonic() - startMs).toBeGreaterThanOrEqual(120_000);
  expect([statuses(aci, "PUT"), aci.groups().length]).toEqual([[429, 201, 201, 201], 3]);
});

test("a storm of 429 makes no pod gone, and costs no more than a request for each time that Azure asks for", async () => {
  await using aci = await openAci();
  const pod = webPod();
  await aci.create(pod);
  await aci.untilPhase(pod, "Running");
  using storm = aci.azure.faults.add({ method: "GET", answer: throttled(60) });
  const before = aci.azure.calls.length;
  await aci.clock.advance(hourMs);
  expect(aci.phaseOf(pod)).toBe("Running");
  expect(aci.azure.calls.length - before).toBeLessThanOrEqual(61);
  storm[Symbol.dispose]();
  await aci.azure.instances.lose(aci.groups()[0]?.name ?? "");
  await aci.untilPhase(pod, "gone");
});

test.for([
  [
    "quota is used up",
    {
      status: 409,
      body: { error: { code: "ContainerGroupQuotaReached", message: "Resource type container group quota exceeded in region." } },
    },
  ],
  [
    "a region has no capacity",
    {
      status: 409,
      body: {
        error: {
          code: "ServiceUnavailable",
          message:
            "The requested resource is not available in the location 'westeurope' at this moment. Please retry with a different resource request or in another location. Resource requested: '1' CPU '1.5' GB memory 'Linux' OS virtual network",
        },
      },
    },
  ],
  [
    "a 503 says that there is no capacity",
    {
      status: 503,
      body: { error: { code: "ServiceUnavailable", message: "The requested resource is not available in the location 'westeurope'." } },
    },
  ],
] as const)("while %s a pod waits, says why and when it is tried again, and then runs", async ([, answer]) => {
  await using aci = await openAci();
  const pod = webPod();
  using fault = aci.azure.faults.add({ ...creates, answer });
  const first = await aci.create(pod);
  expect([isQuotaExceeded(first), String(first)]).toEqual([
    true,
    expect.stringMatching(/has no room: .*Azure: (ContainerGroupQuotaReached|ServiceUnavailable): .*; it is tried again in 60 s/),
  ]);
  const before = statuses(aci, "PUT").length;
  // Core tries again every few seconds; Azure is not asked.
  for (let second = 0; second < 50; second += 10) {
    await aci.clock.advance(10_000);
    expect(isQuotaExceeded(await aci.create(pod))).toBe(true);
  }
  expect([statuses(aci, "PUT").length - before, aci.groups().length]).toEqual([0, 0]);
  await aci.clock.advance(10_000);
  expect(String(await aci.create(pod))).toContain("it is tried again in 120 s");
  fault[Symbol.dispose]();
  await aci.clock.advance(120_000);
  expect(await aci.create(pod)).toBeUndefined();
  await aci.untilPhase(pod, "Running");
});

test("the fake's own quota is told as such, and a deleted container group makes room", async () => {
  await using aci = await openAci({ azure: { limits: { buckets: {}, windows: {}, groups: 1, cores: 100 } } });
  const [first, second] = [webPod(), webPod()];
  await aci.create(first);
  expect(isQuotaExceeded(await aci.create(second))).toBe(true);
  await aci.azure.instances.lose(aci.groups()[0]?.name ?? "");
  await aci.clock.advance(60_000);
  expect(await aci.create(second)).toBeUndefined();
});

test.for([
  ["10 minutes behind", -600_000],
  ["10 minutes ahead of", 600_000],
] as const)("a node whose clock is %s Azure's sees readiness, events and ends as they are", async ([, skewMs]) => {
  let isHealthy = true;
  await using aci = await openAci({
    script: () => ({ exec: async () => (isHealthy ? 0 : 1), exit: { afterMs: hourMs, exitCode: 4 } }),
    nodeAheadMs: skewMs,
  });
  const readinessProbe = { exec: { command: ["check"] }, periodSeconds: 5 };
  const pod = podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx", readinessProbe }] });
  await aci.create(pod);
  await aci.untilPhase(pod, "Running");
  const isReady = (): boolean | undefined => {
    const last = aci.updates.at(-1);
    return last && "status" in last ? last.status.containerStatuses?.[0]?.ready : undefined;
  };
  await aci.clock.runUntil(() => isReady() === true, { withinMs: 60_000 });
  isHealthy = false;
  await aci.clock.runUntil(() => isReady() === false, { withinMs: 120_000 });
  await aci.clock.advance(60_000);
  expect(isReady()).toBe(false);
  const again = await aci.reopen();
  aci.program.events.splice(0);
  await aci.clock.advance(10_000);
  await aci.settle(again.getPods(signal));
  const reasons = new Set(aci.program.events.map(({ reason }) => reason));
  expect(reasons).not.toContain("Started");
  isHealthy = true;
  await aci.clock.runUntil(() => isReady() === true, { withinMs: 180_000 });
  await aci.clock.runUntil(() => aci.phaseOf(pod) === "Failed", { withinMs: 2 * hourMs });
  expect(aci.groups()).toHaveLength(1);
});

/** Requests of each kind between two times, by minutes. */
function perMinute(
  { azure }: OpenedAci,
  sinceMs: number,
  minutes: number,
): Record<string, { readonly total: number; readonly most: number }> {
  const found: Record<string, { total: number; most: number }> = {};
  for (const kind of ["read", "write", "delete"] as const) {
    const times = azure.calls
      .filter((call) => call.kind === kind && call.atMs >= sinceMs)
      .map(({ atMs }) => Math.floor((atMs - sinceMs) / 60_000));
    const counts = Array.from({ length: minutes }, (_, minute) => times.filter((each) => each === minute).length);
    found[kind] = { total: times.length, most: Math.max(...counts) };
  }
  return found;
}

test("1,000 pods are created and followed within the published rates, and none is throttled", { timeout: 600_000 }, async () => {
  const limits = { ...publishedLimits, groups: 2000, cores: 2000 };
  await using aci = await openAci({ azure: { limits, pageSize: 500 }, isFollowed: false });
  const pods = Array.from({ length: 1000 }, webPod);
  let created = 0;
  const beganMs = aci.clock.now();
  for (const pod of pods) void aci.provider.createPod(pod, resolverOf(pod), signal).then(() => created++);
  const createdMs = await aci.clock.runUntil(() => created === pods.length, { withinMs: 8 * hourMs });
  expect([throttledCalls(aci), aci.groups().length, statuses(aci, "PUT").length]).toEqual([0, 1000, 1000]);
  const creation = perMinute(aci, beganMs, Math.ceil(createdMs / 60_000));
  // 70 % of 300 creates an hour: 210 at once in five-minute steps of 70, and the last 160 after four hours.
  expect(createdMs).toBeGreaterThan(4 * hourMs);
  expect(createdMs).toBeLessThan(5 * hourMs);
  expect(creation["write"]?.most).toBeLessThanOrEqual(70);

  aci.provider.notifyPods?.((update) => void aci.updates.push(update));
  const running = new Set<string>();
  await aci.clock.runUntil(() => {
    for (const update of aci.updates.splice(0)) if ("status" in update && update.status.phase === "Running") running.add(update.ref.uid);
    return running.size === pods.length;
  });
  await aci.clock.advance(60_000);
  const restMs = aci.clock.now();
  await aci.clock.advance(300_000);
  const rest = perMinute(aci, restMs, 5);
  expect(throttledCalls(aci)).toBe(0);
  // Descriptions of unchanged pods use 35 % of 25 reads a second, besides two lists of two pages a minute; 70 % is the most.
  expect((rest["read"]?.total ?? 0) / 5).toBeLessThanOrEqual(0.4 * 25 * 60);
  expect(rest["read"]?.most).toBeLessThanOrEqual(0.7 * 25 * 60);
  expect([rest["write"]?.total, rest["delete"]?.total]).toEqual([0, 0]);
});
