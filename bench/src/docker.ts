/**
 * Compares a node on a Docker engine with the same two containers created through the engine's API, in alternating rounds: one pod
 * at a time, many at once, and the resources of the node while they run.
 *
 * Usage, without the other benchmarks: docker.ts [--rounds 5] [--pods 30] [--kept 50] [--no-guide]; DOCKER_HOST names the engine.
 */
import { setTimeout as delay } from "node:timers/promises";
import Docker from "dockerode";
import { circumstances } from "./circumstances.ts";
import { importBusybox } from "./docker-image.ts";
import { countEngineCalls } from "./docker-calls.ts";
import { containerRunner } from "./docker-sides.ts";
import { startEmbedded } from "./embedded-process.ts";
import type { DockerFigures, DockerReport } from "./figures.ts";
import { writeDocker } from "./guide.ts";
import { median } from "./median.ts";
import { startNode } from "./node-program.ts";
import { podRunner, timed, type Runner } from "./pod-runner.ts";
import { idleShare, peakResidentMiB } from "./process-stats.ts";
import { runBenchmark } from "./run-benchmark.ts";

/** The image's default command runs until it is told to stop, so it also serves as the sandbox image. */
const image = "virtual-kubelet-bench/busybox:1";

/** Number of single pods per round. */
const singles = 3;

/** Pause because the kernel is still removing the networks of deleted containers. */
const settleMs = 4_000;

/** Size of the measurement. */
export interface DockerLoad {
  readonly rounds: number;
  /** Number of concurrent pods. */
  readonly pods: number;
  /** Number of pods that run while the node's idle cost is measured. */
  readonly kept: number;
}

/** Whether an engine responds. */
export async function hasEngine(): Promise<boolean> {
  return new Docker().ping().then(
    () => true,
    () => false,
  );
}

/** Measures both sides; takes several minutes. */
export async function measureDocker({ rounds, pods, kept }: DockerLoad): Promise<DockerReport> {
  const docker = new Docker();
  await using _image = await importBusybox(docker, image);
  // This node has the same name as the node below, so it must be gone before that one starts.
  const calls = await countEngineCalls(image, pods);
  await using api = await startEmbedded();
  await using node = await startNode(api, "docker", { sandboxImage: image });
  const ours: Side = { name: "node", run: podRunner(api, { node: "docker", image }), one: [], many: [] };
  const plain: Side = { name: "plain", run: containerRunner(docker, image), one: [], many: [] };
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? [ours, plain] : [plain, ours]) {
      const { one, many } = await measureRound(side, pods, round);
      process.stderr.write(`round ${round} ${side.name}: one ${one.toFixed(0)} ms, ${pods} in ${many.toFixed(0)} ms\n`);
      if (round === 0) continue;
      side.one.push(one);
      side.many.push(many);
    }
  }
  const removeKept = await ours.run(kept, "kept");
  // Work that is in progress must finish first.
  await delay(10_000);
  const cpuShare = await idleShare(node.pid);
  const peakMiB = peakResidentMiB(node.pid);
  await removeKept();
  const mockPeakMiB = await peakOfMock({ rounds, pods, kept });
  return {
    circumstances: circumstances(),
    pods,
    node: figuresOf(ours, pods),
    plain: figuresOf(plain, pods),
    calls,
    kept: { pods: kept, cpuShare, peakMiB, mockPeakMiB },
  };
}

/** One of the two sides, with the duration of each round in milliseconds. */
interface Side {
  readonly name: string;
  readonly run: Runner;
  readonly one: number[];
  readonly many: number[];
}

function figuresOf({ one, many }: Side, pods: number): DockerFigures {
  return { oneMs: median(one), podsPerSecond: (pods * 1000) / median(many) };
}

async function measureRound({ run }: Side, pods: number, round: number): Promise<{ readonly one: number; readonly many: number }> {
  const ones: number[] = [];
  for (let single = 0; single < singles; single++) ones.push(await timed(run, 1, `one-${round}-${single}`, settleMs));
  return { one: median(ones), many: await timed(run, pods, `many-${round}`, settleMs) };
}

/** Peak memory of the mock provider under the same load, because the heap keeps its largest size. */
async function peakOfMock({ rounds, pods, kept }: DockerLoad): Promise<number> {
  await using api = await startEmbedded();
  await using node = await startNode(api, "mock", { pods: String(Math.max(pods, kept)) });
  const run = podRunner(api, { node: "mock", image });
  for (let round = 0; round <= rounds; round++) {
    for (let single = 0; single < singles; single++) await (await run(1, `one-${round}-${single}`))();
    await (
      await run(pods, `many-${round}`)
    )();
  }
  const removeKept = await run(kept, "kept");
  await delay(settleMs);
  const peakMiB = peakResidentMiB(node.pid);
  await removeKept();
  return peakMiB;
}

if (import.meta.main) await runBenchmark({ rounds: 5, pods: 30, kept: 50 }, measureDocker, writeDocker);
