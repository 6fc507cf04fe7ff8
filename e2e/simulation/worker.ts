import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "@virtual-kubelet/errdefs";
import { mutate } from "./mutate.ts";
import { mutations } from "./mutations.ts";
import type { WorkerInput } from "./run-seeds.ts";

const { mutation, keepsTrace } = workerData as WorkerInput;
if (mutation !== undefined) mutate(mutations, mutation);
// Only now may what is to be mutated be loaded.
const { simulate } = await import("./simulate.ts");

const unheard: unknown[] = [];
process.on("unhandledRejection", (reason) => unheard.push(reason));

parentPort?.on("message", (seed: number) => {
  void live(seed);
});

async function live(seed: number): Promise<void> {
  const result = await simulate(seed, keepsTrace ? Infinity : undefined);
  // Node tells of rejections that nobody handles when the event loop turns.
  await new Promise<void>((resolve) => setImmediate(resolve));
  const [reason] = unheard.splice(0);
  const failure = { invariant: "I0", problem: `a rejection that nobody handles: ${messageOf(reason)}`, atMs: result.livedMs } as const;
  parentPort?.postMessage(reason === undefined || result.violation ? result : { ...result, violation: failure });
}
