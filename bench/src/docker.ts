/**
 * Measures a node on a Docker engine beside the same two containers made through the engine's API, in turns: one pod at a
 * time, many at once, and what the node takes while they run.
 *
 * By itself: docker.ts [--rounds 5] [--pods 30] [--kept 50] [--no-guide]; the engine is that of DOCKER_HOST.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { freePort } from "@virtual-kubelet/testing";
import Docker from "dockerode";
import { Api, followPods, type WatchedPod } from "./api.ts";
import { circumstances } from "./circumstances.ts";
import { importBusybox } from "./docker-image.ts";
import { startEmbedded, type EmbeddedProcess } from "./embedded-process.ts";
import { guide, writeDocker } from "./guide.ts";
import { median } from "./median.ts";
import { cpuSeconds, peakResidentMiB } from "./process-stats.ts";

const main = join(import.meta.dirname, "../../packages/cli/dist/main.js");
/** Its default command runs until it is asked to end: it serves as sandbox, too. */
const image = "virtual-kubelet-bench/busybox:1";
const nodeName = "docker";

/** How much is measured. */
export interface DockerLoad {
  readonly rounds: number;
  /** Pods at once. */
  readonly pods: number;
  /** Pods that run while the node's idle cost is measured. */
  readonly kept: number;
}

/** How fast a side is. */
export interface DockerFigures {
  /** One pod from its creation until it runs, median of the rounds. */
  readonly oneMs: number;
  /** Pods at once, median of the rounds. */
  readonly podsPerSecond: number;
}

/** Figures of both, and what the node takes. */
export interface DockerReport {
  readonly circumstances: string;
  readonly pods: number;
  readonly node: DockerFigures;
  /** The engine's API, called directly. */
  readonly plain: DockerFigures;
  readonly kept: { readonly pods: number; readonly cpuShare: number; readonly peakMiB: number; readonly mockPeakMiB: number };
}

/** Makes so many pods at once; resolves when all run, with what removes them. */
type Runner = (count: number, round: string) => Promise<() => Promise<void>>;

/** Measures both; takes a few minutes. */
export async function measureDocker({ rounds, pods, kept }: DockerLoad): Promise<DockerReport> {
  const docker = new Docker();
  await using _image = await importBusybox(docker, image);
  await using api = await startEmbedded();
  await using node = await startNode(api, "docker", { sandboxImage: image });
  const sides = [
    { run: podRunner(api, nodeName), one: [] as number[], many: [] as number[] },
    { run: containerRunner(docker), one: [] as number[], many: [] as number[] },
  ] as const;
  // The first round warms both up.
  for (let round = -1; round < rounds; round++) {
    for (const { run, one, many } of round % 2 === 0 ? sides : sides.toReversed()) {
      const [oneMs, manyMs] = [await timed(run, 1, `one-${round + 1}`), await timed(run, pods, `many-${round + 1}`)];
      if (round < 0) continue;
      process.stderr.write(
        `round ${round + 1} ${run === sides[0].run ? "node" : "plain"}: one ${oneMs.toFixed(0)} ms, ${pods} in ${manyMs.toFixed(0)} ms\n`,
      );
      one.push(oneMs);
      many.push((pods * 1000) / manyMs);
    }
  }
  const removeKept = await sides[0].run(kept, "kept");
  await delay(10_000);
  const before = cpuSeconds(node.pid);
  await delay(30_000);
  const cpuShare = (cpuSeconds(node.pid) - before) / 30;
  const peakMiB = peakResidentMiB(node.pid);
  await removeKept();
  const figures = (index: 0 | 1): DockerFigures => ({ oneMs: median(sides[index].one), podsPerSecond: median(sides[index].many) });
  const mockPeakMiB = await peakOfMock(kept);
  return {
    circumstances: circumstances(),
    pods,
    node: figures(0),
    plain: figures(1),
    kept: { pods: kept, cpuShare, peakMiB, mockPeakMiB },
  };
}

async function timed(run: Runner, count: number, round: string): Promise<number> {
  const began = performance.now();
  const remove = await run(count, round);
  const ms = performance.now() - began;
  await remove();
  return ms;
}

async function peakOfMock(pods: number): Promise<number> {
  await using api = await startEmbedded();
  await using node = await startNode(api, "mock", {});
  await (
    await podRunner(api, "mock")(pods, "kept")
  )();
  return peakResidentMiB(node.pid);
}

/** The program with a provider, in a process of its own; resolves when its node is Ready. */
async function startNode(
  { access, kubeconfig }: EmbeddedProcess,
  provider: "docker" | "mock",
  config: object,
): Promise<AsyncDisposable & { readonly pid: number }> {
  const directory = mkdtempSync(join(tmpdir(), "bench-docker-"));
  const configFile = join(directory, "provider.json");
  writeFileSync(configFile, JSON.stringify(provider === "docker" ? { ...config, rootDirectory: join(directory, "pods") } : config));
  const flags = ["--kubeconfig", kubeconfig, "--nodename", provider, "--provider", provider, "--provider-config", configFile];
  const log = openSync(join(directory, "log"), "a");
  const child = spawn(
    process.execPath,
    [main, ...flags, ...["--log-level", "warn", "--health-addr", "127.0.0.1:0", "--kubelet-port", String(await freePort())]],
    {
      stdio: ["ignore", "ignore", log],
    },
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await waitUntilReady(access, provider, directory);
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      // What holds secrets stays mounted for the next program.
      spawnSync("umount", ["-l", join(directory, "pods/memory")]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function waitUntilReady(access: EmbeddedProcess["access"], name: string, directory: string): Promise<void> {
  const api = new Api(access, { connections: 1 });
  for (let tries = 0; tries < 300; tries++) {
    const text = await api.send("GET", `/api/v1/nodes/${name}`).catch(() => "{}");
    const { status } = JSON.parse(text) as { status?: { conditions?: { type: string; status: string }[] } };
    if (status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True")) return api.close();
    await delay(100);
  }
  throw new Error(`node ${name} did not become Ready within 30 s; its log is in ${directory}`);
}

/** Pods at the API server: from their creation until a watch shows them Running. */
function podRunner({ access }: EmbeddedProcess, node: string): Runner {
  return async (count, round) => {
    const api = new Api(access, { connections: count + 1 });
    const names = Array.from({ length: count }, (_, index) => `${round}-${index}`);
    const watch = new PodWatch(access, round);
    const containers = [{ name: "main", image, imagePullPolicy: "IfNotPresent" }];
    await Promise.all(
      names.map(async (name) => {
        await api.send("POST", "/api/v1/namespaces/default/pods", {
          metadata: { name, labels: { round } },
          spec: { nodeName: node, containers, automountServiceAccountToken: false, terminationGracePeriodSeconds: 1 },
        });
        await watch.until(name, ({ status }) => status?.phase === "Running");
      }),
    );
    return async () => {
      await Promise.all(
        names.map(async (name) => {
          await api.send("DELETE", `/api/v1/namespaces/default/pods/${name}`);
          await watch.untilGone(name);
        }),
      );
      await watch[Symbol.asyncDispose]();
      await api.close();
    };
  };
}

/** The pods of a round, as a watch shows them. */
class PodWatch implements AsyncDisposable {
  readonly #api: Api;
  readonly #stop = new AbortController();
  readonly #pods = new Map<string, WatchedPod>();
  readonly #gone = new Set<string>();
  #changed = Promise.withResolvers<void>();
  readonly #following: Promise<void>;

  constructor(access: EmbeddedProcess["access"], round: string) {
    this.#api = new Api(access, { connections: 1 });
    this.#following = followPods(
      this.#api,
      `labelSelector=round%3D${round}`,
      (type, pod) => this.#take(type, pod),
      this.#stop.signal,
    ).catch(() => {});
  }

  async until(name: string, is: (pod: WatchedPod) => boolean): Promise<void> {
    for (;;) {
      const pod = this.#pods.get(name);
      if (pod && is(pod)) return;
      await this.#changed.promise;
    }
  }

  async untilGone(name: string): Promise<void> {
    while (!this.#gone.has(name)) await this.#changed.promise;
  }

  #take(type: string, pod: WatchedPod): void {
    if (type === "DELETED") this.#gone.add(pod.metadata.name);
    else this.#pods.set(pod.metadata.name, pod);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#api.close();
    await this.#following;
  }
}

/** The two containers of such a pod, one after the other, straight at the engine; until an inspection shows the second running. */
function containerRunner(docker: Docker): Runner {
  return async (count) => {
    const made: Docker.Container[] = [];
    await Promise.all(
      Array.from({ length: count }, async () => {
        const sandbox = await docker.createContainer({ Image: image, HostConfig: { IpcMode: "shareable" } });
        made.push(sandbox);
        await sandbox.start();
        await sandbox.inspect();
        const joined = `container:${sandbox.id}`;
        const container = await docker.createContainer({ Image: image, HostConfig: { NetworkMode: joined, IpcMode: joined } });
        made.push(container);
        await container.start();
        const { State } = await container.inspect();
        if (!State.Running) throw new Error(`container ${container.id} does not run`);
      }),
    );
    return async () => {
      await Promise.all(made.map((container) => container.remove({ force: true, v: true })));
    };
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      pods: { type: "string", default: "30" },
      kept: { type: "string", default: "50" },
      "no-guide": { type: "boolean", default: false },
    },
  });
  const report = await measureDocker({ rounds: Number(values.rounds), pods: Number(values.pods), kept: Number(values.kept) });
  if (!values["no-guide"]) writeDocker(guide, report);
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
}
