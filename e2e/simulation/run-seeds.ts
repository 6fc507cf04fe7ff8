import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { messageOf } from "@virtual-kubelet/errdefs";
import { replayCommand } from "./describe-result.ts";
import type { SeedResult } from "./simulate.ts";

/** A run of several seeds. */
export interface SeedRun {
  /** Seeds, in the order in which they are begun. */
  readonly seeds: Iterable<number>;
  /** Name of a bug that is put back first; see `mutations.ts`. */
  readonly mutation?: string | undefined;
  /** Whether the first seed that fails ends the run. Default `true`. */
  readonly stopsAtFirst?: boolean | undefined;
  /** Whether all of each trace is kept, also where nothing failed. */
  readonly keepsTrace?: boolean | undefined;
}

/** Start data of a worker. */
export interface WorkerInput {
  readonly mutation: string | undefined;
  readonly keepsTrace: boolean;
}

/** How long one seed may take in real time: one that never ends must not go without its name. */
const seedTimeoutMs = 180_000;

/**
 * After how many worlds a thread makes way for a fresh one. Node holds on to whatever listens to an `AbortSignal.any` that
 * never aborts: of a program that is killed nothing but the end of its thread lets go, as of a process.
 */
const worldsPerThread = 100;

/**
 * Lives through seeds, each on its own, as many at a time as there are processors.
 *
 * @returns how they went, in the order of their seeds; where the run stops at a failure, all seeds before it are there
 * @throws Error if a seed does not end, or its worker breaks
 */
export async function runSeeds(run: SeedRun): Promise<SeedResult[]> {
  const seeds = run.seeds[Symbol.iterator]();
  const results: SeedResult[] = [];
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver) {
      await using worker = new SeedWorker({ mutation: run.mutation, keepsTrace: run.keepsTrace === true });
      for (let lived = 0; lived < worldsPerThread && !isOver; lived++) {
        const next = seeds.next();
        if (next.done === true) return;
        const result = await worker.live(next.value);
        results.push(result);
        if (result.violation && run.stopsAtFirst !== false) isOver = true;
      }
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return results.toSorted((a, b) => a.seed - b.seed);
}

/** A thread that lives through one seed at a time. */
class SeedWorker implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(input: WorkerInput) {
    this.#worker = new Worker(new URL("worker.ts", import.meta.url), {
      workerData: input,
      execArgv: ["--conditions=@virtual-kubelet/source"],
    });
  }

  live(seed: number): Promise<SeedResult> {
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => end(() => reject(new Error(`seed ${seed} has not ended within ${seedTimeoutMs / 1000} s; replay: ${replayCommand(seed)}`))),
        seedTimeoutMs,
      );
      const onMessage = (result: SeedResult): void => end(() => resolve(result));
      const onError = (cause: unknown): void =>
        end(() => reject(new Error(`seed ${seed} broke its thread: ${messageOf(cause)}; replay: ${replayCommand(seed)}`, { cause })));
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        worker.off("message", onMessage).off("error", onError);
        settle();
      };
      worker.once("message", onMessage).once("error", onError);
      worker.postMessage(seed);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
