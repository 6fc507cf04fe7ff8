/**
 * Compares many nodes of our program, in one process, with as many of kwok: when all are Ready, their cost at rest, pods that come and go,
 * and how punctually leases are renewed.
 *
 * Usage, after `make build`: many-nodes.ts [--nodes 1000] [--pods 10] [--rounds 1] [--no-guide]; `--pods` is the number for each node.
 */
import { freePort, startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "undici";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Api, readAccess } from "./api.ts";
import { stopChild } from "./children.ts";
import { circumstances } from "./circumstances.ts";
import { kwokWithNodes, oursWithNodes } from "./contenders.ts";
import type { ManyNodesFigures, ManyNodesReport } from "./figures.ts";
import { histogramBound, latenessMs, LeaseWatch, renewIntervalMs } from "./lease-watch.ts";
import { runLoad, type Phase } from "./load.ts";
import { writeManyNodes } from "./many-nodes-report.ts";
import { median } from "./median.ts";
import { timeToReady } from "./node-ready.ts";
import { idleShare, residentMiB, tcpConnections } from "./process-stats.ts";
import { runBenchmark } from "./run-benchmark.ts";

/** Options of {@link measureManyNodes}. */
interface ManyNodesOptions {
  readonly nodes: number;
  /** Pods of each node. */
  readonly pods: number;
  readonly rounds: number;
}

const timeoutMs = 600_000;
const sides = ["ours", "kwok"] as const;

/** Measures both programs in turn, each on an API server of its own. */
async function measureManyNodes({ nodes, pods, rounds }: ManyNodesOptions): Promise<ManyNodesReport> {
  const figures: Record<(typeof sides)[number], ManyNodesFigures[]> = { ours: [], kwok: [] };
  let kubernetes = "";
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      await using controlPlane = await startControlPlane({
        components: [],
        flags: { "kube-apiserver": { "disable-admission-plugins": "ServiceAccount" } },
      });
      kubernetes = controlPlane.version;
      const result = await measureSide(controlPlane, side, { nodes, pods });
      figures[side].push(result);
      process.stderr.write(`round ${round + 1} ${side}: ${JSON.stringify(result)}\n`);
    }
  }
  return {
    circumstances: circumstances(),
    kubernetes,
    nodes,
    podsPerNode: pods,
    rounds,
    ours: mediansOf(figures.ours),
    kwok: mediansOf(figures.kwok),
  };
}

async function measureSide(
  controlPlane: ControlPlane,
  side: (typeof sides)[number],
  { nodes, pods }: { readonly nodes: number; readonly pods: number },
): Promise<ManyNodesFigures> {
  const names = Array.from({ length: nodes }, (_, index) => `${side}-${index}`);
  const access = readAccess(controlPlane.kubeconfig.path);
  const site = { kubeconfig: controlPlane.kubeconfig.path, directory: mkdtempSync(join(tmpdir(), "bench-many-")) };
  const port = await freePort();
  const contender = side === "ours" ? oursWithNodes(nodes, port) : kwokWithNodes;
  if (side === "kwok") await createNodes(new Api(access, { connections: 16 }), names);
  await using leases = new LeaseWatch(access);
  let child: ReturnType<typeof contender.start> | undefined;
  try {
    const readyMs = await timeToReady(access, names, () => (child = contender.start(site)), timeoutMs);
    process.stderr.write(`${side}: ${nodes} nodes are Ready after ${readyMs.toFixed(0)} ms\n`);
    const pid = child?.pid ?? 0;
    await delay(20_000);
    const rest = { cpuShare: await idleShare(pid, 60), residentMiB: residentMiB(pid), connections: tcpConnections(pid) };
    const restGapsMs = leases.takeGapsMs();
    process.stderr.write(`${side} at rest: ${JSON.stringify(rest)}\n`);
    const load = { access, node: names, pods: nodes * pods, concurrency: 16, processes: { program: pid }, timeoutMs };
    const { up, down } = await runLoad(load);
    // Every lease is renewed once more, so that a renewal that the load delayed counts.
    await delay(1.2 * renewIntervalMs);
    const loadGapsMs = leases.takeGapsMs();
    const bound =
      side === "ours" ? histogramBound(await metricsOf(controlPlane, port), "vk_lease_renew_lateness_seconds", 0.99) : undefined;
    return {
      readyMs,
      rest,
      peakMiB: Math.max(up.peakRssMiB["program"] ?? 0, down?.peakRssMiB["program"] ?? 0),
      up: figuresOf(up),
      down: figuresOf(down),
      missing: up.missing + (down?.missing ?? 0),
      lateP99Ms: { rest: latenessMs(restGapsMs, 0.99), load: latenessMs(loadGapsMs, 0.99) },
      ...(bound !== undefined && { lateP99BoundMs: bound * 1000 }),
    };
  } finally {
    await stopChild(child);
    rmSync(site.directory, { recursive: true, force: true });
  }
}

function figuresOf(phase: Phase | undefined): ManyNodesFigures["up"] {
  if (!phase) throw new Error("the load deleted no pods");
  const { podsPerSecond, latencyMs, cpuSeconds } = phase;
  return { podsPerSecond, p50Ms: latencyMs.p50, p99Ms: latencyMs.p99, cpuSeconds: cpuSeconds["program"] ?? Number.NaN };
}

async function createNodes(api: Api, names: readonly string[]): Promise<void> {
  const queue = names.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const name of queue)
        await api.send("POST", "/api/v1/nodes", {
          metadata: { name, labels: { "kubernetes.io/hostname": name }, annotations: { "kwok.x-k8s.io/node": "fake" } },
        });
    }),
  );
  await api.close();
}

/** The metrics of the program, which its server shows to the API server's administrator. */
async function metricsOf({ kubeconfig }: ControlPlane, port: number): Promise<string> {
  const { credentials } = readAccess(kubeconfig.path);
  const agent = new Agent({ connect: { ...credentials, rejectUnauthorized: false } });
  try {
    const { body } = await request(`https://127.0.0.1:${port}/metrics`, { dispatcher: agent });
    return await body.text();
  } finally {
    await agent.close();
  }
}

function mediansOf(runs: readonly ManyNodesFigures[]): ManyNodesFigures {
  const of = (pick: (figures: ManyNodesFigures) => number): number => median(runs.map(pick));
  const side = (phase: "up" | "down"): ManyNodesFigures["up"] => ({
    podsPerSecond: of((run) => run[phase].podsPerSecond),
    p50Ms: of((run) => run[phase].p50Ms),
    p99Ms: of((run) => run[phase].p99Ms),
    cpuSeconds: of((run) => run[phase].cpuSeconds),
  });
  const bound = runs.flatMap(({ lateP99BoundMs }) => lateP99BoundMs ?? []);
  return {
    readyMs: of(({ readyMs }) => readyMs),
    rest: {
      cpuShare: of(({ rest }) => rest.cpuShare),
      residentMiB: of(({ rest }) => rest.residentMiB),
      connections: of(({ rest }) => rest.connections),
    },
    peakMiB: of(({ peakMiB }) => peakMiB),
    up: side("up"),
    down: side("down"),
    missing: Math.max(...runs.map(({ missing }) => missing)),
    lateP99Ms: { rest: of(({ lateP99Ms }) => lateP99Ms.rest), load: of(({ lateP99Ms }) => lateP99Ms.load) },
    ...(bound.length > 0 && { lateP99BoundMs: median(bound) }),
  };
}

if (import.meta.main) await runBenchmark({ nodes: 1_000, pods: 10, rounds: 1 }, measureManyNodes, writeManyNodes);
