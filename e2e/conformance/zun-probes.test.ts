import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { podRef, type Container, type ContainerStatus, type DeepReadonly, type Pod } from "@virtual-kubelet/core";
import { isUnsupported } from "@virtual-kubelet/errdefs";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeCloud } from "../zun/fake/fake-cloud.ts";
import { openProvider, podOf, resolverOf, type OpenedProvider } from "../zun/support.ts";

// Startup, readiness and liveness probes of pods in Zun. The fake's containers and commands are processes of this machine.

const { signal } = new AbortController();
const often = { periodSeconds: 1, timeoutSeconds: 5 };
const soon = { timeoutMs: 30_000, intervalMs: 50 };

let cloud: FakeCloud;
let opened: OpenedProvider;
let pods: Pod[];
let folder: string;

beforeEach(async () => {
  cloud = await FakeCloud.start();
  pods = [];
  opened = await openProvider({ ...cloud.config, pollInterval: "200ms", reachablePods: true }, pods);
  opened.provider.notifyPods?.((update) => void opened.updates.push(update));
  folder = mkdtempSync(join(tmpdir(), "vk-zun-probes-"));
});
afterEach(async () => {
  await opened[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** A probe that asks for a file. */
const asks = (file: string): { readonly exec: { readonly command: string[] } } => ({
  exec: { command: ["test", "-e", join(folder, file)] },
});
const put = (file: string): void => writeFileSync(join(folder, file), "");

async function create(container: Partial<Container>, spec: Partial<NonNullable<Pod["spec"]>> = {}): Promise<Pod> {
  const command = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"];
  const pod = podOf({ containers: [{ name: "main", image: "busybox", command, ...container }], ...spec });
  pods.push(pod);
  await opened.provider.createPod(pod, resolverOf(pod), signal);
  await eventually(async () => expect((await statusOf(pod))?.state?.running).toBeDefined(), soon);
  return pod;
}

async function statusOf(pod: Pod): Promise<DeepReadonly<ContainerStatus> | undefined> {
  return (await opened.provider.getPodStatus(podRef(pod), signal)).containerStatuses?.[0];
}

test("a command that Zun runs tells whether a container has started and is ready", async () => {
  const pod = await create({
    startupProbe: { ...often, ...asks("started"), failureThreshold: 99 },
    readinessProbe: { ...often, ...asks("ready") },
  });
  expect(await statusOf(pod)).toMatchObject({ started: false, ready: false });
  put("started");
  await eventually(async () => expect(await statusOf(pod)).toMatchObject({ started: true, ready: false }), soon);
  put("ready");

  await eventually(async () => expect(await statusOf(pod)).toMatchObject({ started: true, ready: true }), soon);
  await eventually(() => expect(opened.updates.some((each) => "status" in each && each.status.containerStatuses?.[0]?.ready)).toBe(true));
  const counted = (await opened.provider.getMetricsProbes?.(signal)) ?? [];
  const { namespace, name, uid } = podRef(pod);
  const labels = { container: "main", namespace, pod: name, pod_uid: uid, result: "successful" };
  expect(counted.map((family) => family.name)).toEqual(["prober_probe_total", "prober_probe_duration_seconds"]);
  for (const type of ["Startup", "Readiness"])
    expect(counted[0]?.samples).toContainEqual({ labels: { ...labels, probe_type: type }, value: expect.any(Number) as number });
});

test("a container whose liveness probe fails is restarted once, and counted", async () => {
  put("alive");
  const pod = await create({ livenessProbe: { ...often, ...asks("alive"), failureThreshold: 1 } }, { restartPolicy: "OnFailure" });
  rmSync(join(folder, "alive"));
  await eventually(() => expect(opened.events).toContain("Killing: Container main failed liveness probe, will be restarted"), soon);
  put("alive");

  await eventually(async () => expect(await statusOf(pod)).toMatchObject({ restartCount: 1, ready: true }), soon);
  expect((await statusOf(pod))?.lastState?.terminated?.exitCode).toBe(137);
  expect(cloud.seen.filter(({ path }) => path.includes("/reboot"))).toHaveLength(1);
  const phases = opened.updates.flatMap((update) => ("status" in update ? [update.status.phase] : []));
  expect(phases).not.toContain("Succeeded");
});

test("a restart that Zun has answered and not made is asked for again, also where somebody looks at the pod meanwhile", async () => {
  put("alive");
  await create({ livenessProbe: { ...often, ...asks("alive"), failureThreshold: 1 } }, { restartPolicy: "Always" });
  const reboots = (): number => cloud.seen.filter(({ path }) => path.includes("/reboot")).length;
  cloud.faults.answerWith = { method: "POST", path: /\/reboot/, status: 202, body: undefined };
  rmSync(join(folder, "alive"));
  await eventually(() => expect(reboots()).toBe(1), soon);
  const [pod] = pods;
  assert.ok(pod);
  const over = AbortSignal.timeout(4_000);
  while (!over.aborted) await statusOf(pod);
  delete cloud.faults.answerWith;

  await eventually(() => expect(reboots()).toBeGreaterThan(1), soon);
});

test("a container that never restarts is stopped, and its pod has ended", async () => {
  put("alive");
  const command = ["sh", "-c", "trap 'exit 3' TERM; while :; do sleep 0.1; done"];
  const livenessProbe = { ...often, ...asks("alive"), failureThreshold: 1 };
  const pod = await create({ command, livenessProbe }, { restartPolicy: "Never" });
  rmSync(join(folder, "alive"));

  await eventually(async () => expect((await opened.provider.getPodStatus(podRef(pod), signal)).phase).toBe("Failed"), soon);
  expect(await statusOf(pod)).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 3 } } });
});

test("while the cloud is away no probe has failed", async () => {
  put("alive");
  const pod = await create({ livenessProbe: { ...often, ...asks("alive"), failureThreshold: 1 } });
  cloud.faults.away = true;
  rmSync(join(folder, "alive"));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(opened.events.filter((event) => /^(Unhealthy|Killing)/.test(event))).toEqual([]);
  delete cloud.faults.away;

  await eventually(async () => expect((await statusOf(pod))?.restartCount).toBe(1), soon);
});

test("a program that begins again goes on from what is known", async () => {
  put("ready");
  const pod = await create({
    startupProbe: { ...often, ...asks("ready") },
    readinessProbe: { ...often, ...asks("ready"), failureThreshold: 1 },
  });
  await eventually(async () => expect((await statusOf(pod))?.ready).toBe(true), soon);
  pod.status = structuredClone(await opened.provider.getPodStatus(podRef(pod), signal)) as NonNullable<Pod["status"]>;
  await opened[Symbol.asyncDispose]();
  rmSync(join(folder, "ready"));
  opened = await openProvider(cloud.config, pods);

  const [adopted] = (await opened.provider.getPods(signal)).pods;
  expect(adopted?.status.containerStatuses?.[0]).toMatchObject({ started: true, ready: true });
  await eventually(async () => expect(await statusOf(pod)).toMatchObject({ started: true, ready: false, restartCount: 0 }), soon);
});

test("an HTTP probe is refused where the configuration does not say that the pods' addresses are reached, with what to set", async () => {
  await using closed = await openProvider(cloud.config, pods);
  const pod = podOf({ containers: [{ name: "main", image: "busybox", readinessProbe: { httpGet: { port: 80 } } }] });
  const error: unknown = await closed.provider.createPod(pod, resolverOf(pod), signal).catch((caught: unknown) => caught);

  expect(isUnsupported(error)).toBe(true);
  expect(error).toMatchObject({
    fieldPath: "spec.containers[0].readinessProbe.httpGet",
    message: expect.stringContaining("set reachablePods: true") as unknown,
  });
});
