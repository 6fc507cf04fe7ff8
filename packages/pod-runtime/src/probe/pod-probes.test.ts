import { VirtualClock } from "@virtual-kubelet/clock";
import type { Container, Pod, PodEvent } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { hasProbes, PodProbes, type FailedContainer, type RunningContainer } from "./pod-probes.ts";
import { ProbeCounts } from "./probe-counts.ts";
import type { ProbeAttempt } from "./prober.ts";

const exec = { command: ["check"] };

function podOf(container: Partial<Container>, more: Partial<Pod> = {}): Pod {
  return { spec: { containers: [{ name: "app", image: "app:1", ...container }] }, ...more };
}

function rigOf(pod: Pod) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const answers = new Map<string, ProbeAttempt>();
  const events: PodEvent[] = [];
  const failed: FailedContainer[] = [];
  const counts = new ProbeCounts();
  let changes = 0;
  const probes = new PodProbes(pod, {
    clock,
    logger: silentLogger,
    counts,
    attempt: async ({ kind }) => {
      asked.push(kind);
      return answers.get(kind) ?? { isSuccess: true, output: "" };
    },
    onChange: () => changes++,
    onFailed: (container) => failed.push(container),
    recordEvent: (event) => events.push(event),
  });
  const running: RunningContainer = { name: "app", id: "1", containerID: "x://1", startedAtMs: clock.now(), isStopping: false };
  return { clock, asked, answers, events, failed, counts, probes, running, changes: () => changes };
}

test("other probes wait for the startup probe, and the container is ready when its readiness probe has succeeded after that", async () => {
  const { clock, asked, answers, probes, running, changes } = rigOf(podOf({ startupProbe: { exec }, readinessProbe: { exec } }));
  answers.set("startup", { isSuccess: false, output: "not yet" });

  probes.watch([running]);
  await clock.advance(0);
  expect([asked, probes.standingOf("app")]).toEqual([["startup"], { isStarted: false, isReady: false }]);
  answers.delete("startup");
  await clock.advance(10_000);

  expect([asked, probes.standingOf("app")]).toEqual([["startup", "startup", "readiness"], { isStarted: true, isReady: true }]);
  expect(changes()).toBe(2);
  probes[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});

test("a container without probes is ready as soon as it runs", () => {
  const { probes, running } = rigOf(podOf({}));

  probes.watch([running]);

  expect(probes.standingOf("app")).toEqual({ isStarted: true, isReady: true });
});

test("a failed liveness probe stops the container once, in a kubelet's words, and is not repeated until another instance runs", async () => {
  const { clock, asked, answers, events, failed, probes, running } = rigOf(
    podOf({ livenessProbe: { exec, failureThreshold: 2, terminationGracePeriodSeconds: 5 } }),
  );
  answers.set("liveness", { isSuccess: false, output: "no" });

  probes.watch([running]);
  await clock.advance(60_000);

  expect(failed).toEqual([{ name: "app", id: "1", graceSeconds: 5, isRestarted: true }]);
  expect(asked).toEqual(["liveness", "liveness"]);
  const unhealthy = { type: "Warning", reason: "Unhealthy", message: "Liveness probe failed: no", container: "app" };
  const killing = {
    type: "Normal",
    reason: "Killing",
    message: "Container app failed liveness probe, will be restarted",
    container: "app",
  };
  expect(events).toEqual([unhealthy, unhealthy, killing]);
  probes.watch([{ ...running, id: "2", startedAtMs: clock.now() }]);
  await clock.advance(0);
  expect(asked).toHaveLength(3);
  probes[Symbol.dispose]();
});

test("a container whose liveness probe always fails is restarted with a kubelet's back-off, and is not ready while it waits", async () => {
  const pod = podOf({ livenessProbe: { exec, failureThreshold: 1 } }, { metadata: { name: "web", namespace: "default", uid: "u1" } });
  const { clock, asked, answers, events, failed, probes, running } = rigOf(pod);
  answers.set("liveness", { isSuccess: false, output: "no" });
  const restartedAtMs: number[] = [];
  for (let instance = 0; instance < 8; instance++) {
    const startedAtMs = clock.now();
    probes.watch([{ ...running, id: String(instance), startedAtMs }]);
    expect(probes.standingOf("app")).toEqual({ isStarted: true, isReady: true });
    await clock.advance(0);
    expect(probes.standingOf("app")?.isReady).toBe(instance === 0);
    while (failed.length === instance) await clock.advance(1_000);
    restartedAtMs.push(clock.now() - startedAtMs);
  }

  expect(restartedAtMs).toEqual([0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  expect(asked).toHaveLength(8);
  expect(failed.map(({ id }) => id)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
  const message = "Back-off restarting failed container app in pod web_default(u1)";
  expect(events.slice(2, 5)).toMatchObject([
    { reason: "Unhealthy" },
    { reason: "BackOff", type: "Warning", message },
    { reason: "Killing" },
  ]);
  answers.delete("liveness");
  probes.watch([{ ...running, id: "8", startedAtMs: clock.now() }]);
  await clock.advance(600_001);
  answers.set("liveness", { isSuccess: false, output: "no" });
  await clock.advance(10_000);
  expect(failed).toHaveLength(9);
  probes[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});

test.each([
  ["has ended by itself", (running: RunningContainer) => [{ ...running, id: "3" }]],
  ["is being stopped", (running: RunningContainer) => [{ ...running, id: "2", isStopping: true }]],
  ["is gone", () => []],
])("a container that waits for its restart and %s is not restarted", async (_, next) => {
  const { clock, answers, failed, probes, running } = rigOf(podOf({ livenessProbe: { exec, failureThreshold: 1 } }));
  answers.set("liveness", { isSuccess: false, output: "no" });
  for (const id of ["1", "2"]) {
    probes.watch([{ ...running, id, startedAtMs: clock.now() }]);
    await clock.advance(0);
  }
  answers.delete("liveness");
  probes.watch(next(running));
  await clock.advance(60_000);

  expect(failed.map(({ id }) => id)).toEqual(["1"]);
  probes[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});

test("a container that is never restarted is stopped with the pod's grace period, and not started again", async () => {
  const pod = podOf({ startupProbe: { exec, failureThreshold: 1 } });
  const { clock, answers, events, failed, probes, running } = rigOf({
    ...pod,
    spec: { containers: [], ...pod.spec, restartPolicy: "Never", terminationGracePeriodSeconds: 7 },
  });
  answers.set("startup", { isSuccess: false, output: "no" });

  probes.watch([running]);
  await clock.advance(0);

  expect(failed).toEqual([{ name: "app", id: "1", graceSeconds: 7, isRestarted: false }]);
  expect(events.at(-1)?.message).toBe("Container app failed startup probe");
  probes[Symbol.dispose]();
});

test("after a restart of the program probes continue from the stored status of the same instance, but not of another one", async () => {
  const pod = podOf({ startupProbe: { exec }, readinessProbe: { exec, failureThreshold: 1 } });
  const status = { name: "app", image: "", imageID: "", restartCount: 0, ready: true, started: true, state: { running: {} } };
  const told = (containerID: string): Pod => ({ ...pod, status: { containerStatuses: [{ ...status, containerID }] } });
  const same = rigOf(told("x://1"));
  const other = rigOf(told("x://0"));

  same.probes.watch([same.running]);
  other.probes.watch([other.running]);

  expect(same.probes.standingOf("app")).toEqual({ isStarted: true, isReady: true });
  expect(other.probes.standingOf("app")).toEqual({ isStarted: false, isReady: false });
  same.answers.set("readiness", { isSuccess: false, output: "no" });
  await same.clock.advance(0);
  expect([same.asked, same.probes.standingOf("app")]).toEqual([["readiness"], { isStarted: true, isReady: false }]);
  // An instance that is started later does not continue from the status, whatever its id at the back end.
  same.probes.watch([{ ...same.running, id: "2" }]);
  expect(same.probes.standingOf("app")).toEqual({ isStarted: false, isReady: false });
  for (const { probes } of [same, other]) probes[Symbol.dispose]();
});

test("of a container that is being stopped only readiness is probed, and of one that has ended nothing", async () => {
  const { clock, asked, probes, running } = rigOf(podOf({ livenessProbe: { exec }, readinessProbe: { exec } }));

  probes.watch([{ ...running, isStopping: true }]);
  await clock.advance(0);
  expect(asked).toEqual(["readiness"]);
  probes.watch([]);
  await clock.advance(60_000);

  expect([asked, probes.standingOf("app"), clock.pending]).toEqual([["readiness"], undefined, 0]);
});

test("sidecars have probes, with their own event message; init containers have none", async () => {
  const sidecar: Container = { name: "proxy", image: "p", restartPolicy: "Always", livenessProbe: { exec, failureThreshold: 1 } };
  const pod = { spec: { restartPolicy: "Never" as const, initContainers: [sidecar], containers: [{ name: "app", image: "a" }] } };
  const { clock, answers, events, failed, probes, running } = rigOf(pod);
  answers.set("liveness", { isSuccess: false, output: "no" });

  probes.watch([{ ...running, name: "proxy" }]);
  await clock.advance(0);

  expect(failed).toMatchObject([{ name: "proxy", isRestarted: true }]);
  expect(events.at(-1)?.message).toBe("Init container proxy failed liveness probe");
  expect([hasProbes(pod), hasProbes(podOf({})), hasProbes({})]).toEqual([true, false, false]);
  probes[Symbol.dispose]();
});

test("attempts are counted by pod and result until the probes end, except those that could not be made", async () => {
  const pod = podOf({ readinessProbe: { exec, periodSeconds: 10 } }, { metadata: { namespace: "shop", name: "web", uid: "u-1" } });
  const { clock, answers, counts, probes, running } = rigOf(pod);

  probes.watch([running]);
  await clock.advance(10_000);
  answers.set("readiness", { isSuccess: false, output: "no" });
  await clock.advance(10_000);

  const labels = { container: "app", namespace: "shop", pod: "web", pod_uid: "u-1", probe_type: "Readiness" };
  expect(counts.families()[0]?.samples).toEqual([
    { labels: { ...labels, result: "successful" }, value: 2 },
    { labels: { ...labels, result: "failed" }, value: 1 },
  ]);
  probes[Symbol.dispose]();
  expect(counts.families()).toEqual([]);
});

test("after a restart of the program, a container that waited for its restart is ready again unless its liveness probe fails", async () => {
  const status = { name: "app", image: "", imageID: "", restartCount: 1, ready: false, started: true, state: { running: {} } };
  const pod = podOf({ livenessProbe: { exec } }, { status: { containerStatuses: [{ ...status, containerID: "x://1" }] } });
  const { clock, probes, running } = rigOf(pod);

  probes.watch([running]);
  await clock.advance(60_000);

  expect(probes.standingOf("app")).toEqual({ isStarted: true, isReady: true });
  probes[Symbol.dispose]();
});

test("the wait for a restart is reported when it begins, and ends with the probes of the pod", async () => {
  const { clock, answers, failed, probes, running, changes } = rigOf(podOf({ livenessProbe: { exec, failureThreshold: 1 } }));
  answers.set("liveness", { isSuccess: false, output: "no" });
  probes.watch([running]);
  await clock.advance(0);
  expect(changes()).toBe(0);
  probes.watch([{ ...running, id: "2" }]);
  await clock.advance(0);
  expect(changes()).toBe(1);

  probes[Symbol.dispose]();
  expect(clock.pending).toBe(0);
  await clock.advance(60_000);

  expect(failed.map(({ id }) => id)).toEqual(["1"]);
});

test("a container whose restart has waited stays without probes and not ready until it is gone, however long its stop takes", async () => {
  const { clock, asked, answers, failed, probes, running } = rigOf(
    podOf({ livenessProbe: { exec, failureThreshold: 1 }, readinessProbe: { exec } }),
  );
  answers.set("liveness", { isSuccess: false, output: "no" });
  for (const id of ["1", "2"]) {
    probes.watch([{ ...running, id, startedAtMs: clock.now() }]);
    await clock.advance(0);
  }
  await clock.advance(10_000);
  expect(failed.map(({ id }) => id)).toEqual(["1", "2"]);
  asked.length = 0;

  await clock.advance(60_000);
  expect([asked, probes.standingOf("app")]).toEqual([[], { isStarted: true, isReady: false }]);
  probes.watch([{ ...running, id: "2", isStopping: true }]);
  await clock.advance(60_000);

  expect([asked, probes.standingOf("app")]).toEqual([[], { isStarted: true, isReady: false }]);
  probes[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});

test("a container that has run for longer than its back-off is restarted at once", async () => {
  const { clock, answers, events, failed, probes, running } = rigOf(podOf({ livenessProbe: { exec, failureThreshold: 1 } }));
  const minutes = [0, 8, 8, 8, 8, 8, 8, 8];
  for (const [instance, ranFor] of minutes.entries()) {
    answers.delete("liveness");
    probes.watch([{ ...running, id: String(instance), startedAtMs: clock.now() }]);
    await clock.advance(ranFor * 60_000);
    answers.set("liveness", { isSuccess: false, output: "no" });
    await clock.advance(10_000);
    expect(failed).toHaveLength(instance + 1);
  }
  expect(events.map(({ reason }) => reason)).not.toContain("BackOff");

  probes.watch([{ ...running, id: "8", startedAtMs: clock.now() }]);
  await clock.advance(299_000);
  expect(failed).toHaveLength(8);
  await clock.advance(1_000);
  expect(failed).toHaveLength(9);

  for (const [id, ranForMs] of [
    ["9", 480_000],
    ["10", 600_000],
  ] as const) {
    answers.delete("liveness");
    probes.watch([{ ...running, id, startedAtMs: clock.now() }]);
    await clock.advance(ranForMs);
    answers.set("liveness", { isSuccess: false, output: "no" });
    await clock.advance(10_000);
  }
  expect(failed).toHaveLength(11);
  // More than ten minutes without a restart have reset the back-off to ten seconds.
  probes.watch([{ ...running, id: "11", startedAtMs: clock.now() }]);
  await clock.advance(9_999);
  expect(failed).toHaveLength(11);
  await clock.advance(1);

  expect(failed).toHaveLength(12);
  probes[Symbol.dispose]();
});
