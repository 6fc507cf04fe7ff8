import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContainerStatus, DeepReadonly, Pod, PodRef } from "@virtual-kubelet/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { container, forever, NomadRig } from "./nomad-rig.ts";

// Startup, readiness and liveness probes of pods in Nomad, on the fake, whose commands are processes of this machine.
const { signal } = new AbortController();
const often = { periodSeconds: 1, timeoutSeconds: 5 };

let rig: NomadRig;
let folder: string;
let server: Server;
let port: number;
let isHealthy: boolean;

beforeEach(async () => {
  rig = await NomadRig.open();
  folder = mkdtempSync(join(tmpdir(), "vk-nomad-probes-"));
  isHealthy = true;
  server = createServer((_, response) => {
    response.statusCode = isHealthy ? 200 : 503;
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

/** A probe that passes if the file exists. */
function asks(file: string): { readonly exec: { readonly command: string[] } } {
  return { exec: { command: ["test", "-e", join(folder, file)] } };
}

function put(file: string): void {
  writeFileSync(join(folder, file), "");
}

async function statusOf(ref: PodRef, name = "main"): Promise<DeepReadonly<ContainerStatus> | undefined> {
  const { containerStatuses = [], initContainerStatuses = [] } = await rig.provider.getPodStatus(ref, signal);
  return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name);
}

const reasons = (): string[] => rig.events.map(({ reason }) => reason);

test("a command in the container determines its readiness, and changes are reported without being requested", async () => {
  const ref = await rig.run(
    rig.pod({ containers: [container(forever, { readinessProbe: { ...often, ...asks("ready"), failureThreshold: 1 } })] }),
  );
  expect(await statusOf(ref)).toMatchObject({ started: true, ready: false });
  put("ready");
  await expect.poll(() => rig.updates.some((each) => "status" in each && each.status.containerStatuses?.[0]?.ready)).toBe(true);

  rmSync(join(folder, "ready"));
  await expect.poll(async () => (await statusOf(ref))?.ready).toBe(false);
  expect(rig.events).toContainEqual({ type: "Warning", reason: "Unhealthy", message: "Readiness probe failed: ", container: "main" });
  const [total] = (await rig.provider.getMetricsProbes?.(signal)) ?? [];
  expect(total?.name).toBe("prober_probe_total");
  expect(new Set(total?.samples.map(({ labels }) => labels?.["result"]))).toEqual(new Set(["successful", "failed"]));
});

test("a failed liveness probe of the client's port restarts the container, with a count and an event", async () => {
  const livenessProbe = { ...often, httpGet: { port }, failureThreshold: 2 };
  const ref = await rig.run(rig.pod({ restartPolicy: "OnFailure", containers: [container(forever, { livenessProbe })] }));
  const before = await statusOf(ref);
  isHealthy = false;
  await expect.poll(() => reasons().includes("Killing")).toBe(true);
  isHealthy = true;
  await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]).toMatchObject({ restartCount: 1, ready: true }));

  const after = await statusOf(ref);
  expect(after?.lastState?.terminated).toMatchObject({ exitCode: 0 });
  expect(after?.containerID).not.toBe(before?.containerID);
  expect(rig.events.filter(({ reason }) => reason === "Killing")).toEqual([
    { type: "Normal", reason: "Killing", message: "Container main failed liveness probe, will be restarted", container: "main" },
  ]);
});

test("a container that never restarts is killed within its probe's grace period, and its pod is Failed", async () => {
  const livenessProbe = { ...often, ...asks("never"), failureThreshold: 1, terminationGracePeriodSeconds: 1 };
  const script = "trap '' TERM; while :; do sleep 0.1; done";
  const spec = { terminationGracePeriodSeconds: 60, containers: [container(script, { livenessProbe })] };
  const ref = await rig.run(rig.pod({ ...spec, restartPolicy: "Never" }));

  await rig.until(ref, ({ phase }) => expect(phase).toBe("Failed"));
  expect((await statusOf(ref))?.state?.terminated).toMatchObject({ exitCode: 137 });
  expect((await statusOf(ref))?.restartCount).toBe(0);
});

test("containers after a sidecar wait for its startup probe, including main containers", async () => {
  const sidecar = container(forever, {
    name: "proxy",
    restartPolicy: "Always",
    startupProbe: { ...often, ...asks("started"), failureThreshold: 99 },
  });
  const init = container("true", { name: "set-up" });
  const ref = await rig.create(rig.pod({ initContainers: [sidecar, init] }));
  await expect.poll(async () => (await statusOf(ref, "proxy"))?.state?.running).toBeDefined();
  await expect.poll(() => reasons().includes("Unhealthy")).toBe(true);
  expect(await statusOf(ref, "proxy")).toMatchObject({ started: false, ready: false });
  expect((await statusOf(ref, "set-up"))?.state?.waiting).toBeDefined();
  put("started");

  await rig.until(ref, ({ phase }) => expect(phase).toBe("Running"));
  expect((await statusOf(ref, "set-up"))?.state?.terminated?.exitCode).toBe(0);
  await rig.delete(ref);
  await rig.untilGone(ref);
  expect([...rig.nomad.cluster.state.variables.keys()]).toEqual([]);
});

test("no probe fails while Nomad is unreachable, and probes continue afterwards", async () => {
  const livenessProbe = { ...often, ...asks("alive"), failureThreshold: 1 };
  put("alive");
  const ref = await rig.run(rig.pod({ restartPolicy: "Always", containers: [container(forever, { livenessProbe })] }));
  rig.nomad.fault = ({ path }) => (path.includes("/client/") ? "drop" : undefined);
  rmSync(join(folder, "alive"));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(reasons()).not.toContain("Unhealthy");
  rig.nomad.fault = undefined;

  await expect.poll(async () => (await statusOf(ref))?.restartCount).toBe(1);
  // The probe fails again at once; the next restart waits.
  await expect.poll(() => reasons().includes("BackOff")).toBe(true);
  expect(await statusOf(ref)).toMatchObject({ restartCount: 1, ready: false });
});

test("a restarted program keeps the known results, so that containers stay ready", async () => {
  const probes = { startupProbe: { ...often, ...asks("ready") }, readinessProbe: { ...often, ...asks("ready") } };
  put("ready");
  const pod = rig.pod({ containers: [container(forever, probes)] });
  const ref = await rig.run(pod);
  await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.ready).toBe(true));
  pod.status = structuredClone(await rig.provider.getPodStatus(ref, signal)) as NonNullable<Pod["status"]>;
  await rig.stop();
  rig.updates.length = 0;
  rmSync(join(folder, "ready"));

  await rig.start();
  await rig.provider.getPods(signal);

  expect(await statusOf(ref)).toMatchObject({ started: true, ready: true });
  await expect.poll(async () => (await statusOf(ref))?.ready).toBe(false);
  expect(await statusOf(ref)).toMatchObject({ started: true, restartCount: 0 });
});

test("commands of many probes use few connections, and leave enough for users", async () => {
  await rig[Symbol.asyncDispose]();
  rig = await NomadRig.open({ maxConnections: 16, maxSockets: 4 });
  const readinessProbe = { ...often, exec: { command: ["sleep", "0.3"] } };
  const containers = Array.from({ length: 6 }, (_, index) => container(forever, { name: `c${index}`, readinessProbe }));
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, rig.nomad.commands)), 10);
  const ref = await rig.run(rig.pod({ containers }));

  await rig.until(ref, ({ containerStatuses = [] }) => expect(containerStatuses.every(({ ready }) => ready)).toBe(true));
  clearInterval(timer);
  expect(most).toBe(1);
});
