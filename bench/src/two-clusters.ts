/**
 * Compares pods of a virtual node with the same pods created directly in the cluster where they run.
 *
 * Usage, without the other benchmarks: two-clusters.ts [--pods 2000] [--rounds 3] [--many 10000] [--no-guide]
 */
import { freePort, startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readAccess } from "./api.ts";
import { circumstances } from "./circumstances.ts";
import type { ClustersReport, ClusterFigures } from "./figures.ts";
import { deploymentPod } from "./deployment-pod.ts";
import { writeClusters } from "./guide.ts";
import { runLoad, type LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { waitUntilReady } from "./node-ready.ts";
import { runBenchmark } from "./run-benchmark.ts";

const main = join(import.meta.dirname, "../../packages/cli/dist/main.js");

/** Options of {@link measureClusters}. */
interface ClustersOptions {
  readonly rounds: number;
  /** Pods of each round. */
  readonly pods: number;
  /** Pods that one virtual node holds at the end. */
  readonly many: number;
}

/**
 * Compares pods of a virtual node, which run in another cluster, with the same pods created in that cluster, in alternating rounds. The
 * far cluster has a scheduler and one node of the mock provider. Its scheduler has Kubernetes' own limit of requests first, and in a last
 * round none, so that the processors are the limit. Then one virtual node is given many pods.
 */
export async function measureClusters({ rounds, pods, many }: ClustersOptions): Promise<ClustersReport> {
  await using cleanup = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "bench-clusters-"));
  cleanup.defer(() => rmSync(directory, { recursive: true, force: true }));
  const limited = await compare({ rounds, pods, directory, requestsPerSecond: 50, many: 0 });
  const unlimited = await compare({ rounds: 2, pods, directory, requestsPerSecond: 1_000, many });
  return {
    circumstances: circumstances(),
    kubernetes: limited.kubernetes,
    rounds,
    pods,
    ...limited.figures,
    unlimited: unlimited.figures,
    many: manyFigures(unlimited.held),
  };
}

/** A comparison in two new clusters. */
interface Comparison {
  readonly rounds: number;
  readonly pods: number;
  readonly directory: string;
  /** Limit of the far scheduler. */
  readonly requestsPerSecond: number;
  /** Pods that the virtual node holds at the end; 0: none. */
  readonly many: number;
}

interface Compared {
  readonly kubernetes: string;
  readonly figures: { readonly through: ClusterFigures; readonly direct: ClusterFigures };
  readonly held: LoadResult | undefined;
}

async function compare({ rounds, pods, directory, requestsPerSecond, many }: Comparison): Promise<Compared> {
  await using cleanup = new AsyncDisposableStack();
  const rate = { "kube-api-qps": String(requestsPerSecond), "kube-api-burst": String(2 * requestsPerSecond) };
  // Without a controller manager nobody removes the taint that this plugin gives a new node, and nobody creates service accounts.
  const server = { "disable-admission-plugins": "ServiceAccount,TaintNodesByCondition" };
  const flags = { "kube-scheduler": rate, "kube-apiserver": server };
  const far = cleanup.use(await startControlPlane({ components: ["kube-scheduler"], flags }));
  const home = cleanup.use(await startControlPlane({ components: [] }));
  const mock = { cpu: "100k", memory: "1000Ti", pods: String(Math.max(2 * many, 2 * pods)), podCIDR: "10.64.0.0/12" };
  cleanup.use(await startNode({ cluster: far, name: "far", provider: "mock", config: mock, directory }));
  const config = { cluster: { kubeconfig: far.kubeconfig.path } };
  await using node = await startNode({ cluster: home, name: "virtual", provider: "kubernetes", config, directory });
  const processes = { node: node.pid };
  const [atHome, atFar] = [readAccess(home.kubeconfig.path), readAccess(far.kubeconfig.path)];
  const load = {
    through: () => runLoad({ access: atHome, node: "virtual", pods, podOf: deploymentPod, processes }),
    direct: () => runLoad({ access: atFar, node: undefined, pods, podOf: deploymentPod, processes: {} }),
  };
  const results: { readonly through: LoadResult[]; readonly direct: LoadResult[] } = { through: [], direct: [] };
  for (let round = 0; round < rounds; round++) {
    // Each round starts with the other side.
    for (const side of round % 2 === 0 ? (["direct", "through"] as const) : (["through", "direct"] as const)) {
      const result = await load[side]();
      results[side].push(result);
      const { up, down } = result;
      const what = `scheduler ${requestsPerSecond}/s, round ${round + 1} ${side}`;
      process.stderr.write(`${what}: up ${summary(up)}; down ${down ? summary(down) : "-"}\n`);
      await delay(3_000);
    }
  }
  const more = { access: atHome, node: "virtual", pods: many, podOf: deploymentPod, processes, timeoutMs: 1_200_000, keep: true };
  const held = many > 0 ? await runLoad(more) : undefined;
  if (held) process.stderr.write(`${many} pods: ${summary(held.up)}\n`);
  const figures = { through: figuresOf(results.through), direct: figuresOf(results.direct) };
  return { kubernetes: far.version, figures, held };
}

function manyFigures(held: LoadResult | undefined): ClustersReport["many"] {
  const { podsPerSecond = Number.NaN, seconds = Number.NaN, missing = Number.NaN, peakRssMiB, cpuSeconds } = held?.up ?? {};
  return {
    pods: held?.pods ?? 0,
    podBytes: held?.podBytes ?? Number.NaN,
    missing,
    podsPerSecond,
    peakMiB: peakRssMiB?.["node"] ?? Number.NaN,
    cpuShare: (cpuSeconds?.["node"] ?? Number.NaN) / seconds,
  };
}

function figuresOf(runs: readonly LoadResult[]): ClusterFigures {
  return {
    upPodsPerSecond: median(runs.map(({ up }) => up.podsPerSecond)),
    downPodsPerSecond: median(runs.map(({ down }) => down?.podsPerSecond ?? Number.NaN)),
    upP50Ms: median(runs.map(({ up }) => up.latencyMs.p50)),
    upP99Ms: median(runs.map(({ up }) => up.latencyMs.p99)),
  };
}

function summary({ podsPerSecond, latencyMs, cpuSeconds, peakRssMiB, missing, seconds }: LoadResult["up"]): string {
  const cost = `cpu ${JSON.stringify(cpuSeconds)} rss ${JSON.stringify(peakRssMiB)}`;
  return `${podsPerSecond}/s in ${seconds} s, p50 ${latencyMs.p50} ms p99 ${latencyMs.p99} ms ${cost} missing ${missing}`;
}

interface NodeToStart {
  readonly cluster: ControlPlane;
  readonly name: string;
  readonly provider: "mock" | "kubernetes";
  readonly config: object;
  readonly directory: string;
}

/** Starts the built program as a node without a taint; resolves when the node is Ready. */
async function startNode({ cluster, name, provider, config, directory }: NodeToStart): Promise<AsyncDisposable & { readonly pid: number }> {
  const configFile = join(directory, `${name}.json`);
  writeFileSync(configFile, JSON.stringify(config));
  const flags = ["--kubeconfig", cluster.kubeconfig.path, "--nodename", name, "--provider", provider, "--provider-config", configFile];
  // A far node that looks like a virtual one gets no pods of the provider.
  const labels = provider === "mock" ? ["--label", "type=machine"] : [];
  const more = [
    ...labels,
    "--disable-taint",
    "--log-level",
    "warn",
    "--health-addr",
    "127.0.0.1:0",
    "--kubelet-port",
    String(await freePort()),
  ];
  const log = openSync(join(directory, `${name}.log`), "a");
  const child: ChildProcess = spawn(process.execPath, [main, ...flags, ...more], { stdio: ["ignore", "ignore", log] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await waitUntilReady(readAccess(cluster.kubeconfig.path), name, directory);
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

if (import.meta.main) await runBenchmark({ pods: 2000, rounds: 3, many: 10_000 }, measureClusters, writeClusters);
