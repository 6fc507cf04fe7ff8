import { Api, followPods, type ApiAccess, type WatchedPod } from "./api.ts";
import { plainPod, type PodToCreate } from "./deployment-pod.ts";
import { cpuSeconds, residentMiB } from "./process-stats.ts";

/** Options of {@link runLoad}. */
export interface LoadOptions {
  readonly access: ApiAccess;
  /** Name of the node that the pods are bound to, or names of nodes that take turns; `undefined`: the scheduler chooses. */
  readonly node: string | readonly string[] | undefined;
  readonly pods: number;
  /** Returns the pod of a name; default: {@link plainPod}. */
  readonly podOf?: (name: string) => PodToCreate;
  /** Number of concurrent requests; default: 32. */
  readonly concurrency?: number;
  /** IDs of the processes to measure, by name. */
  readonly processes: Readonly<Record<string, number>>;
  /** Maximum duration of each phase in milliseconds; default: 180,000. */
  readonly timeoutMs?: number;
  /** Leaves the pods running; default: false. */
  readonly keep?: boolean;
}

/** Results of one phase: starting all pods, or deleting all pods. */
export interface Phase {
  readonly seconds: number;
  readonly podsPerSecond: number;
  readonly latencyMs: { readonly p50: number; readonly p90: number; readonly p99: number; readonly max: number };
  /** By name of the process. */
  readonly cpuSeconds: Readonly<Record<string, number>>;
  /** By name of the process; the maximum of samples taken every 200 ms. */
  readonly peakRssMiB: Readonly<Record<string, number>>;
  /** Number of API requests by `VERB resource/subresource`, with the status code if the request failed. */
  readonly apiRequests: Readonly<Record<string, number>>;
  /** Number of pods that did not reach the state in time. */
  readonly missing: number;
}

/** Results of one load. */
export interface LoadResult {
  readonly pods: number;
  /** Size of a running pod's JSON; only if the pods are left running. */
  readonly podBytes?: number;
  readonly up: Phase;
  readonly down?: Phase;
}

/**
 * Creates pods bound to a node, waits until all are Running, deletes them with their default grace period, and waits until all
 * are gone. A pod's latency runs from just before its request is sent until the watch shows the new state.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { access, node, pods: count, podOf = plainPod, concurrency = 32 } = options;
  const requests = new Api(access, { connections: concurrency });
  const watch = new Api(access, { connections: 1 });
  const run = `bench-${process.pid}-${Date.now() % 1e7}`;
  const running = new Arrivals();
  const gone = new Arrivals();
  const stop = new AbortController();
  const onEvent = (type: string, pod: WatchedPod): void => {
    if (type === "DELETED") gone.arrive(pod.metadata.name);
    else if (pod.status?.phase === "Running") running.arrive(pod.metadata.name);
  };
  const following = followPods(watch, `labelSelector=bench%3D${run}`, onEvent, stop.signal);
  try {
    const names = Array.from({ length: count }, (_, index) => `${run}-${index}`);
    const nodes = [node ?? []].flat();
    const up = await measure(options, requests, running, names, (name, index) => {
      const { metadata, spec } = podOf(name);
      const nodeName = nodes[index % nodes.length];
      return requests.send("POST", "/api/v1/namespaces/default/pods", {
        metadata: { ...metadata, labels: { ...metadata.labels, bench: run } },
        spec: { ...(nodeName !== undefined && { nodeName }), ...spec },
      });
    });
    if (options.keep) {
      const [name = ""] = names;
      const podBytes = Buffer.byteLength(await requests.send("GET", `/api/v1/namespaces/default/pods/${name}`));
      return { pods: count, podBytes, up };
    }
    const down = await measure(options, requests, gone, names, (name) =>
      requests.send("DELETE", `/api/v1/namespaces/default/pods/${name}`),
    );
    return { pods: count, up, down };
  } finally {
    stop.abort();
    await Promise.all([requests.close(), watch.close(), following]);
  }
}

/** Times at which each pod was requested and at which it reached the state. */
class Arrivals {
  readonly asked = new Map<string, number>();
  readonly #arrived = new Map<string, number>();
  #wake: () => void = () => {};

  arrive(name: string): void {
    if (this.#arrived.has(name)) return;
    this.#arrived.set(name, performance.now());
    this.#wake();
  }

  get count(): number {
    return this.#arrived.size;
  }

  async waitFor(count: number, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (this.count < count && performance.now() < deadline) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(1_000, deadline - performance.now()));
        this.#wake = () => {
          if (this.count < count) return;
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  latenciesMs(): number[] {
    return [...this.#arrived].map(([name, at]) => at - (this.asked.get(name) ?? at)).toSorted((a, b) => a - b);
  }
}

async function measure(
  { concurrency = 32, processes, timeoutMs = 180_000 }: LoadOptions,
  api: Api,
  arrivals: Arrivals,
  names: readonly string[],
  ask: (name: string, index: number) => Promise<unknown>,
): Promise<Phase> {
  const before = await requestCounts(api);
  const cpuBefore = mapValues(processes, cpuSeconds);
  const peak: Record<string, number> = mapValues(processes, residentMiB);
  const sampler = setInterval(() => {
    for (const [name, pid] of Object.entries(processes)) peak[name] = Math.max(peak[name] ?? 0, residentMiB(pid));
  }, 200);
  const startMs = performance.now();
  const queue = names.entries();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const [index, name] of queue) {
        arrivals.asked.set(name, performance.now());
        await ask(name, index);
      }
    }),
  );
  await arrivals.waitFor(names.length, timeoutMs);
  const seconds = (performance.now() - startMs) / 1000;
  clearInterval(sampler);
  const latencies = arrivals.latenciesMs();
  const quantile = (share: number): number => round(latencies[Math.floor(share * (latencies.length - 1))] ?? 0);
  const cpuAfter = mapValues(processes, cpuSeconds);
  return {
    seconds: round(seconds),
    podsPerSecond: round(arrivals.count / seconds),
    latencyMs: { p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99), max: quantile(1) },
    cpuSeconds: Object.fromEntries(Object.entries(cpuAfter).map(([name, value]) => [name, round(value - (cpuBefore[name] ?? 0))])),
    peakRssMiB: mapValues(peak, round),
    apiRequests: difference(before, await requestCounts(api)),
    missing: names.length - arrivals.count,
  };
}

/** Request counters from the API server's metrics. */
async function requestCounts(api: Api): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const [, labels = "", value] of (await api.send("GET", "/metrics")).matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const label = (name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const what = [label("resource"), label("subresource")].filter(Boolean).join("/");
    const code = label("code");
    const key = `${label("verb")} ${what}${code && !code.startsWith("2") && code !== "0" ? ` ${code}` : ""}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(value));
  }
  return counts;
}

function difference(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Record<string, number> {
  const changed = [...after].map(([key, value]) => [key, value - (before.get(key) ?? 0)] as const).filter(([, value]) => value > 0);
  return Object.fromEntries(changed.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
