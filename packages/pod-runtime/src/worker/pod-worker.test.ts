import { VirtualClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test, vi } from "vitest";
import { adoptPod } from "./adopt.ts";
import { PodWorker, type PodWorkerOptions } from "./pod-worker.ts";
import type { RuntimeInventory } from "../runtime/container-runtime.ts";
import { FakeRuntime } from "../test-support/fake-runtime.ts";
import { plainPreparation } from "../test-support/plain-preparation.ts";
import { podWith } from "../test-support/pod-rig.ts";

const owner = { clusterId: "c", nodeName: "n" };
const ref = { namespace: "default", name: "web", uid: "u1" };
const never = new AbortController().signal;

class WorkerRig {
  readonly clock = new VirtualClock();
  readonly runtime = new FakeRuntime(this.clock);
  readonly notices: string[] = [];
  report: ProviderPodStatus | undefined;

  /** A worker that is not running yet. */
  make(pod: Pod, more: Partial<PodWorkerOptions> = {}): PodWorker {
    const now = { wallMs: this.clock.now(), monotonicMs: this.clock.monotonic() };
    return new PodWorker({
      ref,
      owner,
      state: adoptPod(pod, { inventory: this.inventory }, now),
      runtime: this.runtime,
      clock: this.clock,
      logger: silentLogger,
      prepare: plainPreparation,
      onReport: (report) => (this.report = report),
      onNotice: ({ reason, message }) => this.notices.push(`${reason}: ${message}`),
      ...more,
    });
  }

  /** A running worker; `end` kills the program that it belongs to. */
  start(pod: Pod): { worker: PodWorker; end: () => void; done: Promise<unknown> } {
    const abort = new AbortController();
    const worker = this.make(pod);
    const done = worker.run(abort.signal).catch((error: unknown) => error);
    return { worker, end: () => abort.abort(new Error("killed")), done };
  }

  get inventory(): RuntimeInventory {
    return { sandboxes: [...this.runtime.sandboxes.values()], containers: [...this.runtime.containers.values()] };
  }

  /** Ids of the running containers. */
  get running(): readonly string[] {
    return [...this.runtime.containers.values()].filter(({ state }) => state.kind === "running").map(({ id }) => id);
  }
}

test("PodWorker.run starts a pod, and resolves when it was deleted and nothing is left", async () => {
  const rig = new WorkerRig();
  const { worker, done } = rig.start(podWith({}));

  await rig.clock.advance(0);
  expect(rig.report?.containerStatuses).toMatchObject([{ name: "app", ready: true, containerID: "fake://c2" }]);
  worker.send({ kind: "deleted", graceMs: 5_000 });
  await rig.clock.advance(0);

  expect(await done).toBeUndefined();
  expect(rig.runtime.calls).toContain("stopContainer c2 5000");
  expect([rig.runtime.sandboxes.size, rig.runtime.containers.size, rig.clock.pending]).toEqual([0, 0, 0]);
});

test("a later worker continues with the same containers", async () => {
  const rig = new WorkerRig();
  const first = rig.start(podWith({}));
  await rig.clock.advance(0);
  first.end();
  expect(await first.done).toEqual(new Error("killed"));
  const before = rig.running;

  const second = rig.start(podWith({}));
  await rig.clock.advance(60_000);

  expect(rig.running).toEqual(before);
  expect(rig.report?.containerStatuses).toMatchObject([{ restartCount: 0, ready: true }]);
  second.end();
});

test("a deletion in progress continues with the rest of its grace period", async () => {
  const rig = new WorkerRig();
  const first = rig.start(podWith({}));
  await rig.clock.advance(0);
  first.end();

  const deletionTimestamp = new Date(rig.clock.now() + 12_000).toISOString();
  const pod = podWith({});
  const second = rig.start({ ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
  await rig.clock.advance(0);

  expect(rig.runtime.calls).toContain("stopContainer c2 12000");
  expect(await second.done).toBeUndefined();
});

test("a preStop hook that exceeds the grace period runs until its container has ended", async () => {
  const rig = new WorkerRig();
  const givenUp: string[] = [];
  rig.runtime.exec = (_id, _command, _io, signal) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => {
      givenUp.push(rig.running.length === 0 ? "after its container" : "before its container");
      reject(signal.reason as Error);
    });
    return promise;
  };
  const lifecycle = { preStop: { exec: { command: ["wait"] } } };
  const { worker, done } = rig.start(podWith({ containers: [{ name: "app", image: "app:1", lifecycle }] }));
  await rig.clock.advance(0);

  worker.send({ kind: "deleted", graceMs: 5_000 });
  await rig.clock.advance(4_999);
  expect(givenUp).toEqual([]);
  await rig.clock.advance(1);

  expect(await done).toBeUndefined();
  expect(givenUp).toEqual(["after its container"]);
});

test("an exit that was not observed is counted once", async () => {
  const rig = new WorkerRig();
  const first = rig.start(podWith({}));
  await rig.clock.advance(0);
  first.end();
  rig.runtime.end("c2", 1);

  const second = rig.start(podWith({}));
  await rig.clock.advance(0);

  expect(rig.report?.containerStatuses).toMatchObject([{ restartCount: 1, lastState: { terminated: { exitCode: 1 } } }]);
  second.end();
});

test("a runtime that is unavailable at every step only delays the pod", async () => {
  const rig = new WorkerRig();
  for (const method of ["createSandbox", "createContainer", "stopContainer", "stopSandbox", "removeSandbox"]) rig.runtime.failNext(method);
  const { worker, done } = rig.start(podWith({}));

  await rig.clock.advance(30_000);
  expect(rig.report?.containerStatuses).toMatchObject([{ ready: true, restartCount: 0 }]);
  worker.send({ kind: "deleted", graceMs: 5_000 });
  await rig.clock.advance(60_000);

  expect(await done).toBeUndefined();
});

test("events of the runtime lead to a restart, and a container that others have removed counts as lost", async () => {
  const rig = new WorkerRig();
  const { worker, end } = rig.start(podWith({}));
  await rig.clock.advance(0);

  rig.runtime.end("c2", 3);
  await worker.runtimeEvent({ kind: "containerExited", id: "c2" }, never);
  await rig.clock.advance(0);
  const [second = ""] = rig.running;
  rig.runtime.containers.delete(second);
  await worker.compare(rig.inventory, never);
  await rig.clock.advance(0);

  expect(rig.report?.containerStatuses).toMatchObject([
    {
      restartCount: 1,
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } },
    },
  ]);
  end();
});

test("a failing liveness probe restarts the container", async () => {
  const rig = new WorkerRig();
  const livenessProbe = { exec: { command: ["check"] }, failureThreshold: 2, periodSeconds: 5 };
  const { end } = rig.start(podWith({ containers: [{ name: "app", image: "app:1", livenessProbe }] }));
  await rig.clock.advance(0);

  rig.runtime.execExitCode = 1;
  await rig.clock.advance(11_000);
  rig.runtime.execExitCode = 0;
  await rig.clock.advance(1_000);

  expect(rig.report?.containerStatuses).toMatchObject([{ restartCount: 1, ready: true }]);
  expect(rig.notices).toContain("Killing: Container app failed liveness probe, will be restarted");
  end();
});

test("failed attempts of a probe, and successful ones with a warning, cause events", async () => {
  const server = createServer((_, response) => response.writeHead(302, { location: "http://192.0.2.1/" }).end("elsewhere"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const rig = new WorkerRig();
  const livenessProbe = { exec: { command: ["check"] }, periodSeconds: 10 };
  const readinessProbe = { httpGet: { host: "127.0.0.1", port }, periodSeconds: 1_000 };
  rig.runtime.execExitCode = 1;
  const { end } = rig.start(podWith({ containers: [{ name: "app", image: "app:1", livenessProbe, readinessProbe }] }));

  await rig.clock.advance(0);
  await vi.waitFor(() => expect(rig.notices.filter((notice) => notice.startsWith("ProbeWarning"))).toHaveLength(1), 30_000);

  expect(rig.notices).toContain("ProbeWarning: Readiness probe warning: Probe terminated redirects, Response body: elsewhere");
  expect(rig.notices).toContain("Unhealthy: Liveness probe failed: ");
  end();
  await new Promise((resolve) => server.close(resolve));
});

test("of the ended containers the last two stay", async () => {
  const rig = new WorkerRig();
  const { worker, end } = rig.start(podWith({}));
  await rig.clock.advance(0);

  for (let crash = 0; crash < 4; crash++) {
    const [id = ""] = rig.running;
    rig.runtime.end(id, 1);
    await worker.runtimeEvent({ kind: "containerExited", id }, never);
    await rig.clock.advance(60_000);
  }

  expect([rig.runtime.containers.size, rig.running.length]).toEqual([3, 1]);
  expect(rig.report?.containerStatuses).toMatchObject([{ restartCount: 4 }]);
  end();
});

test("a worker whose signal is already aborted does nothing, and rejects with its reason", async () => {
  const rig = new WorkerRig();
  const worker = rig.make(podWith({}));

  await expect(worker.run(AbortSignal.abort(new Error("over")))).rejects.toThrow("over");

  expect([rig.runtime.calls, rig.clock.pending]).toEqual([[], 0]);
});

test("a worker has a report before it runs, and reports each change", async () => {
  const rig = new WorkerRig();
  const reports: unknown[] = [];
  const worker = rig.make(podWith({}), { onReport: (report) => reports.push(report) });
  expect(worker.report).toMatchObject({ phase: "Pending", containerStatuses: [{ name: "app", ready: false }] });
  const end = new AbortController();
  void worker.run(end.signal).catch(() => {});
  await rig.clock.advance(0);
  const count = reports.length;
  expect([reports.at(-1), worker.report.phase]).toEqual([worker.report, "Running"]);
  expect(new Set(reports.map((report) => JSON.stringify(report))).size).toBe(count);

  worker.send({ kind: "tick" });
  await rig.clock.advance(0);

  expect(reports).toHaveLength(count);
  end.abort(new Error("enough"));
});

test("after its end a worker ignores events, and has no timer", async () => {
  const rig = new WorkerRig();
  const { worker, end, done } = rig.start(podWith({ activeDeadlineSeconds: 60 }));
  await rig.clock.advance(0);
  expect(rig.clock.pending).toBe(1);

  end();
  expect(await done).toEqual(new Error("killed"));
  worker.send({ kind: "deleted", graceMs: 0 });
  await rig.clock.advance(600_000);

  expect([rig.clock.pending, rig.running.length, worker.state.isDeleted]).toEqual([0, 1, false]);
});

test("a worker acts when something is due, without an event, to the millisecond", async () => {
  const rig = new WorkerRig();
  const { end } = rig.start(podWith({ activeDeadlineSeconds: 60 }));
  await rig.clock.advance(59_999);
  expect(rig.running).toHaveLength(1);
  await rig.clock.advance(1);

  expect([rig.running, rig.report?.reason]).toEqual([[], "DeadlineExceeded"]);
  end();
});

test("each failed probe causes an event with its name, as a warning about its container", async () => {
  const rig = new WorkerRig();
  const check = { exec: { command: ["check"] }, periodSeconds: 1_000 };
  const notices: unknown[] = [];
  const containers = [
    { name: "starting", image: "app:1", startupProbe: check },
    { name: "app", image: "app:1", livenessProbe: check, readinessProbe: check },
  ];
  rig.runtime.execExitCode = 1;
  const worker = rig.make(podWith({ containers }), { onNotice: (notice) => notices.push(notice) });
  const end = new AbortController();
  void worker.run(end.signal).catch(() => {});
  await rig.clock.advance(0);

  const unhealthy = { kind: "event", type: "Warning", reason: "Unhealthy" };
  const told = notices.filter((notice) => Object(notice).reason === "Unhealthy");
  expect(told).toHaveLength(3);
  expect(told).toEqual(
    expect.arrayContaining([
      { ...unhealthy, message: "Startup probe failed: ", container: "starting" },
      { ...unhealthy, message: "Liveness probe failed: ", container: "app" },
      { ...unhealthy, message: "Readiness probe failed: ", container: "app" },
    ]),
  );
  end.abort(new Error("enough"));
});

test.for([
  ["the pod's", {}, ["127.0.0.1"], "192.0.2.9"],
  ["the node's", { hostNetwork: true }, [], "127.0.0.1"],
] as const)("probes use %s address", async ([, spec, ips, hostIP]) => {
  const asked = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    asked.resolve();
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const rig = new WorkerRig();
  const create = rig.runtime.createSandbox.bind(rig.runtime);
  rig.runtime.createSandbox = async (wish) => ({ ...(await create(wish)), ips });
  const containers = [{ name: "app", image: "app:1", readinessProbe: { httpGet: { port }, periodSeconds: 1_000 } }];
  const worker = rig.make(podWith({ ...spec, containers }), { hostIP });
  const end = new AbortController();
  void worker.run(end.signal).catch(() => {});
  await rig.clock.advance(0);

  await asked.promise;
  await vi.waitFor(() => expect(worker.report.containerStatuses).toMatchObject([{ ready: true }]), 30_000);

  end.abort(new Error("enough"));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("a pod on its own network is never probed at the node's address", async () => {
  const rig = new WorkerRig();
  const create = rig.runtime.createSandbox.bind(rig.runtime);
  rig.runtime.createSandbox = async (wish) => ({ ...(await create(wish)), ips: [] });
  const said: string[] = [];
  const containers = [{ name: "app", image: "app:1", readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 1_000 } }];
  const debug = (fields: object): void => void said.push(String(Object(fields).err));
  const worker = rig.make(podWith({ containers }), { hostIP: "127.0.0.1", logger: { ...silentLogger, debug } });
  const end = new AbortController();
  void worker.run(end.signal).catch(() => {});
  await rig.clock.advance(0);

  expect(said.at(-1)).toContain("probe container app: the pod has no address");
  end.abort(new Error("enough"));
});
