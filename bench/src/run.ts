/**
 * Runs the benchmarks and writes the results to the guide. They compare our node with a bare loop and kwok on a real API server, the
 * embedded API server with the real one, commands and logs through a node with the same without a node, pods on a Docker engine
 * with containers created directly, and pods that run in another cluster with pods created there.
 *
 * Usage: run.ts [--pods 2000] [--rounds 3] [--race] [--no-guide]; with `--race` only the first of these.
 */
import { execFile, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { ensureControlPlane, startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { Api, readAccess } from "./api.ts";
import { measureApiServers } from "./api-server.ts";
import { stopChild } from "./children.ts";
import { machine } from "./circumstances.ts";
import { bareLoop, kwok, kwokProgram, nodeOf, ours, oursOver, type Contender, type Site } from "./contenders.ts";
import { runLoad, type LoadResult, type Phase } from "./load.ts";
import { median } from "./median.ts";
import { idleShare, residentMiB } from "./process-stats.ts";
import { hasEngine, measureDocker } from "./docker.ts";
import { guide } from "./guide.ts";
import { timeToReady, waitUntilReady } from "./node-ready.ts";
import { writeGuide, type IdleFigures, type LeaseTimes, type OtherReports, type RaceReport, type Row } from "./report.ts";
import { measureStreams } from "./streams.ts";
import { measureClusters } from "./two-clusters.ts";

const root = join(import.meta.dirname, "../..");
const { values } = parseArgs({
  options: {
    pods: { type: "string", default: "2000" },
    rounds: { type: "string", default: "3" },
    race: { type: "boolean", default: false },
    "no-guide": { type: "boolean", default: false },
  },
});
const pods = Number(values.pods);
const rounds = Number(values.rounds);
const contenders = [ours, bareLoop, kwok];
const variants = [oursOver("HTTP/1.1"), oursOver("HTTP/2")];

// The first build takes minutes, so it runs before any measurement.
await ensureControlPlane({ programs: ["etcd", "kube-apiserver", "kube-scheduler", "kubectl"] });
kwokProgram();
// Runs before an API server shares the machine.
const others = values.race ? undefined : await measureOthers();
await using controlPlane = await startControlPlane({
  components: [],
  // Without a controller manager the service account that this plugin waits for is never created.
  flags: { "kube-apiserver": { "disable-admission-plugins": "ServiceAccount" } },
});
const site: Site = { kubeconfig: controlPlane.kubeconfig.path, directory: mkdtempSync(join(tmpdir(), "bench-")) };

const readyMs = median(await inTurn(Math.max(rounds, 3), () => startOurs()));
const idle = await onceRunning(ours, (_api, child) => measureIdle(child.pid ?? 0));
process.stderr.write(`Ready after ${readyMs.toFixed(0)} ms, idle ${JSON.stringify(idle)}\n`);
const results = await inRounds(contenders);
const overHttp = await inRounds(variants);
const heapBytesPerPod = await onceRunning(oursOver("HTTP/1.1"), heapPerPod);
const lease = await leaseUnderLoad();

const report: RaceReport = {
  date: new Date().toISOString().slice(0, 10),
  machine: machine(),
  kubernetes: controlPlane.version,
  pods,
  rounds,
  rows: contenders.map(({ name }) => rowOf(name, results.get(name) ?? [])),
  variants: variants.map(({ name }) => rowOf(name, overHttp.get(name) ?? [])),
  idle,
  readyMs,
  heapBytesPerPod,
  lease,
};
mkdirSync(join(root, ".reports"), { recursive: true });
writeFileSync(
  join(root, ".reports/bench.json"),
  JSON.stringify({ report, others, results: Object.fromEntries([...results, ...overHttp]) }, undefined, 2),
);
if (!values["no-guide"]) writeGuide(guide, report, others);
process.stdout.write(`${JSON.stringify({ report, others }, undefined, 2)}\n`);

async function measureOthers(): Promise<OtherReports> {
  const streams = await measureStreams({ rounds, megabytes: 100 });
  const docker = (await hasEngine()) ? await measureDocker({ rounds, pods: 30, kept: 50 }) : undefined;
  if (!docker) process.stderr.write("no Docker engine answers: what it would show is left out (DOCKER_HOST names one)\n");
  const apiServers = await measureApiServers({ pods: Math.ceil(pods / 5), rounds, held: pods });
  return { streams, docker, apiServers, clusters: await measureClusters({ pods, rounds, many: 5 * pods }) };
}

/** Starts our node and stops it again; returns the milliseconds until it was Ready. */
async function startOurs(): Promise<number> {
  let child: ChildProcess | undefined;
  const api = new Api(readAccess(site.kubeconfig), { connections: 1 });
  try {
    return await timeToReady(readAccess(site.kubeconfig), [nodeOf(ours)], () => (child = ours.start(site)));
  } finally {
    await stopChild(child);
    await api.send("DELETE", `/api/v1/nodes/${nodeOf(ours)}`).catch(() => {});
    await api.close();
  }
}

async function measureIdle(pid: number): Promise<IdleFigures> {
  // What the start left behind is collected in this time, as in a node that has run for a while.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  return { cpuShare: await idleShare(pid, 60), residentMiB: residentMiB(pid) };
}

async function inTurn<T>(count: number, act: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let turn = 0; turn < count; turn++) results.push(await act());
  return results;
}

async function inRounds(all: readonly Contender[]): Promise<Map<string, LoadResult[]>> {
  const measured = new Map<string, LoadResult[]>(all.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    // Each round starts with a different contender, so that no contender always gets the freshest server.
    const order = [...all.slice(round % all.length), ...all.slice(0, round % all.length)];
    for (const contender of order) {
      const result = await onceRunning(contender, (_api, child) => load(contender, child));
      measured.get(contender.name)?.push(result);
      const down = result.down ? summary(result.down) : "-";
      process.stderr.write(`round ${round + 1} ${contender.name}: up ${summary(result.up)}; down ${down}\n`);
    }
  }
  return measured;
}

/** Starts a contender, waits until its node is Ready, calls `use`, and stops the contender. */
async function onceRunning<T>(contender: Contender, use: (api: Api, child: ChildProcess) => Promise<T>): Promise<T> {
  const api = new Api(readAccess(site.kubeconfig), { connections: 4 });
  if (contender === kwok) await createNode(api, nodeOf(kwok));
  const child = contender.start(site);
  try {
    await waitUntilReady(readAccess(site.kubeconfig), nodeOf(contender), site.directory);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    return await use(api, child);
  } finally {
    await stopChild(child);
    await api.send("DELETE", `/api/v1/nodes/${nodeOf(contender)}`).catch(() => {});
    await api.close();
  }
}

function load(contender: Contender, child: ChildProcess): Promise<LoadResult> {
  return runLoad({
    access: readAccess(site.kubeconfig),
    node: nodeOf(contender),
    pods,
    // As many as the race of the other load has: with more, every pod waits longer, and the ratios shrink.
    concurrency: 16,
    processes: { [contender.name]: child.pid ?? 0, apiserver: apiServerPid(controlPlane) },
  });
}

/** Growth of the heap per pod after garbage collection, not counting the first few hundred pods. */
async function heapPerPod(api: Api, child: ChildProcess): Promise<number> {
  const access = readAccess(site.kubeconfig);
  const node = nodeOf(oursOver("HTTP/1.1"));
  const [few, many] = [500, 1_500];
  await runLoad({ access, node, pods: few, processes: {}, keep: true });
  const before = await heapOf(child);
  await runLoad({ access, node, pods: many, processes: {}, keep: true });
  const after = await heapOf(child);
  await api.send("DELETE", "/api/v1/namespaces/default/pods");
  return (after - before) / many;
}

async function heapOf(child: ChildProcess): Promise<number> {
  // Events are written for a while longer, and keep references to their pods.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const printed = new Promise<string>((resolve) => child.stdout?.once("data", (data: Buffer) => resolve(data.toString())));
  child.kill("SIGUSR2");
  return Number(await printed);
}

async function leaseUnderLoad(): Promise<LeaseTimes> {
  const script = join(import.meta.dirname, "lease-under-load.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@virtual-kubelet/source", script, site.kubeconfig]);
  return JSON.parse(stdout) as LeaseTimes;
}

function apiServerPid(plane: ControlPlane): number {
  return plane.processes["kube-apiserver"]?.pid ?? 0;
}

async function createNode(api: Api, name: string): Promise<void> {
  const resources = { cpu: "10k", memory: "100Ti", pods: "5000" };
  await api.send("POST", "/api/v1/nodes", {
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: { capacity: resources, allocatable: resources },
  });
}

function rowOf(name: string, runs: readonly LoadResult[]): Row {
  const of = (phase: "up" | "down", pick: (phase: Phase) => number): number =>
    median(runs.map((run) => (run[phase] ? pick(run[phase]) : Number.NaN)));
  const requests = runs[0] ? { up: runs[0].up.apiRequests, down: runs[0].down?.apiRequests ?? {} } : { up: {}, down: {} };
  const side = (phase: "up" | "down"): Row["up"] => ({
    podsPerSecond: of(phase, (it) => it.podsPerSecond),
    p50Ms: of(phase, (it) => it.latencyMs.p50),
    p99Ms: of(phase, (it) => it.latencyMs.p99),
    cpuSeconds: of(phase, (it) => it.cpuSeconds[name] ?? Number.NaN),
    peakRssMiB: of(phase, (it) => it.peakRssMiB[name] ?? Number.NaN),
  });
  return { name, up: side("up"), down: side("down"), requests };
}

function summary(phase: Phase): string {
  const { podsPerSecond, latencyMs, missing } = phase;
  const cost = `cpu ${JSON.stringify(phase.cpuSeconds)} rss ${JSON.stringify(phase.peakRssMiB)}`;
  return `${podsPerSecond}/s p50 ${latencyMs.p50} ms p99 ${latencyMs.p99} ms ${cost} missing ${missing}`;
}
