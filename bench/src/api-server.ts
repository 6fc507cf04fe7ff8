/**
 * Compares the embedded API server with kube-apiserver and etcd: pods per second, memory, start. The embedded server
 * is the package's program as published, so build it first.
 *
 * Usage, without the other benchmarks: api-server.ts [--pods 400] [--rounds 3] [--held 2000] [--no-guide]
 */
import { execFileSync } from "node:child_process";
import { startControlPlane } from "@virtual-kubelet/testing";
import { Api, readAccess, type ApiAccess } from "./api.ts";
import { circumstances } from "./circumstances.ts";
import { embeddingHost, startEmbedded, startEmbeddedInHost } from "./embedded-process.ts";
import type { ApiServerFigures, ApiServerReport } from "./figures.ts";
import { writeApiServers } from "./guide.ts";
import { median } from "./median.ts";
import { peakResidentMiB } from "./process-stats.ts";
import { runBenchmark } from "./run-benchmark.ts";

/** Number of concurrent callers. */
const concurrency = 32;

/** Size of the measurement. */
export interface ApiServerLoad {
  /** Pods in a round. */
  readonly pods: number;
  readonly rounds: number;
  /** Pods that exist while the memory is measured. */
  readonly held: number;
}

/** A server to measure. */
interface Contender {
  readonly access: ApiAccess;
  /** Its process IDs. */
  readonly pids: readonly number[];
}

/** Measures both servers in each round; takes one to two minutes. */
export async function measureApiServers({ pods, rounds, held }: ApiServerLoad): Promise<ApiServerReport> {
  await using controlPlane = await startControlPlane({ components: [] });
  await using embedded = await startEmbedded();
  const { etcd, "kube-apiserver": apiServer } = controlPlane.processes;
  const contenders: readonly [Contender, Contender] = [
    { access: embedded.access, pids: [embedded.pid] },
    { access: readAccess(controlPlane.kubeconfig.path), pids: [etcd?.pid ?? 0, apiServer?.pid ?? 0] },
  ];

  for (const { access } of contenders) await createNode(access);
  const peakMiB: number[] = [];
  for (const contender of contenders) {
    await hold(contender.access, held);
    peakMiB.push(contender.pids.reduce((sum, pid) => sum + peakResidentMiB(pid), 0));
  }
  const hostMiB = await peakOfHost(held);
  // The first round of each server is a warm-up.
  for (const { access } of contenders) await podsPerSecond(access, pods);
  const rates: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (const index of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const))
      rates[index].push(await podsPerSecond(contenders[index].access, pods));
  }

  const figures = (index: 0 | 1): ApiServerFigures => ({ podsPerSecond: median(rates[index]), peakMiB: peakMiB[index] ?? Number.NaN });
  const [first = Number.NaN, ...others] = JSON.parse(
    execFileSync(process.execPath, [embeddingHost, "11"], { encoding: "utf8" }),
  ) as number[];
  const startMs = { first, warm: median(others) };
  return {
    circumstances: circumstances(),
    kubernetes: controlPlane.version,
    held,
    rounds,
    embedded: figures(0),
    hostMiB,
    real: figures(1),
    startMs,
  };
}

async function peakOfHost(held: number): Promise<number> {
  await using embedded = await startEmbeddedInHost();
  await createNode(embedded.access);
  await hold(embedded.access, held);
  return peakResidentMiB(embedded.pid);
}

/** Pods per second that are created, get the status updates of a kubelet, and are deleted, while a client watches them. */
async function podsPerSecond(access: ApiAccess, pods: number): Promise<number> {
  const api = new Api(access, { connections: concurrency + 1 });
  const list = JSON.parse(await api.send("GET", "/api/v1/pods?limit=1")) as { metadata: { resourceVersion: string } };
  let deleted = 0;
  const allDeleted = Promise.withResolvers<void>();
  const watch = api
    .watch(
      `/api/v1/namespaces/default/pods?watch=true&labelSelector=bench=churn&resourceVersion=${list.metadata.resourceVersion}`,
      (line) => {
        if (line.startsWith('{"type":"DELETED"') && ++deleted === pods) allDeleted.resolve();
      },
    )
    .catch(() => undefined);
  const began = performance.now();
  await atOnce(pods, async (index) => {
    const path = await createRunning(api, `churn-${String(index)}`, "churn");
    await api.send("DELETE", path, { gracePeriodSeconds: 0 });
  });
  await allDeleted.promise;
  const seconds = (performance.now() - began) / 1000;
  await api.close();
  await watch;
  return pods / seconds;
}

/** Creates this number of running pods and leaves them in place. */
async function hold(access: ApiAccess, count: number): Promise<void> {
  const api = new Api(access, { connections: concurrency });
  await atOnce(count, (index) => createRunning(api, `held-${String(index)}`, "held"));
  await api.close();
}

/** Creates a pod on the node and writes its status twice. @returns its path */
async function createRunning(api: Api, name: string, label: string): Promise<string> {
  const collection = "/api/v1/namespaces/default/pods";
  const containers = [{ name: "main", image: "main:1", resources: { requests: { cpu: "10m", memory: "16Mi" } } }];
  const metadata = { name, labels: { bench: label, app: name } };
  await api.send("POST", collection, { metadata, spec: { nodeName: "bench", automountServiceAccountToken: false, containers } });
  for (const isReady of [false, true]) {
    await api.send("PATCH", `${collection}/${name}/status`, { status: statusOf(isReady) }, "application/strategic-merge-patch+json");
  }
  return `${collection}/${name}`;
}

function statusOf(isReady: boolean): object {
  const time = "2026-01-01T00:00:00Z";
  const status = isReady ? "True" : "False";
  return {
    phase: isReady ? "Running" : "Pending",
    startTime: time,
    ...(isReady ? { hostIP: "192.168.0.1", podIP: "192.168.1.1", podIPs: [{ ip: "192.168.1.1" }] } : {}),
    conditions: ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
      type,
      status,
      lastTransitionTime: time,
    })),
    containerStatuses: [
      {
        name: "main",
        image: "main:1",
        imageID: "",
        ready: isReady,
        started: isReady,
        restartCount: 0,
        state: isReady ? { running: { startedAt: time } } : { waiting: { reason: "ContainerCreating" } },
      },
    ],
  };
}

async function createNode(access: ApiAccess): Promise<void> {
  const api = new Api(access, { connections: 1 });
  const capacity = { cpu: "10k", memory: "100Ti", pods: "10000" };
  await api.send("POST", "/api/v1/nodes", { metadata: { name: "bench" }, status: { capacity } });
  await api.close();
}

/** Runs the task for each number below `count`, {@link concurrency} at a time. */
async function atOnce(count: number, task: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < count) await task(next++);
    }),
  );
}

if (import.meta.main) await runBenchmark({ pods: 400, rounds: 3, held: 2000 }, measureApiServers, writeApiServers);
