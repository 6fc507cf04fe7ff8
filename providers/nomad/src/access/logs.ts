import type { Clock, ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import { isInvalidInput, isNotFound, NotFoundError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { NomadClient } from "../api/nomad-client.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import { merge } from "./merge.ts";
import { taskOf } from "./task-of.ts";

/** Whose log is wanted. */
export interface LogInput {
  readonly client: NomadClient;
  readonly clock: Clock;
  readonly entry: PodEntry;
  readonly container: string;
  readonly options: Pick<ContainerLogOptions, "follow" | "previous">;
}

/** How often a task that has not started is looked at. */
const startPauseMs = 500;

const streams = ["stdout", "stderr"] as const;

/**
 * A container's output: standard output and standard error come from Nomad one by one, so their order is lost, and neither
 * has times. What all instances of the container wrote is in one log.
 *
 * @throws NotFoundError for a container that is not there; UnsupportedError for the log of the instance before
 */
export function containerLogs(input: LogInput, signal: AbortSignal): ContainerLogs {
  const { entry, container, options } = input;
  const task = taskOf(entry, container);
  if (options.previous) throw previousLog(entry, container, task?.Restarts ?? 0);
  const offsets = { stdout: 0, stderr: 0 };
  return {
    data: written(input, offsets, signal),
    ...(options.follow && { live: live(input, offsets, signal) }),
  };
}

function previousLog({ shape }: PodEntry, container: string, restarts: number): Error {
  const { namespace, name } = shape.ref;
  if (restarts === 0) return new NotFoundError(`container ${container} of pod ${namespace}/${name} has no earlier instance`);
  return new UnsupportedError(
    `Nomad keeps one log for all instances of container ${container} of pod ${namespace}/${name}: read it without --previous`,
  );
}

/** What was written so far: the streams one behind the other. */
async function* written(
  input: LogInput,
  offsets: Record<"stdout" | "stderr", number>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { client, entry, container } = input;
  if (!entry.allocation || !hasStarted(input)) return;
  for (const type of streams) {
    let body: Awaited<ReturnType<NomadClient["log"]>>;
    try {
      body = await client.log(entry.allocation.ID, { task: container, type, offset: 0 }, signal);
    } catch (error) {
      // A task that has just been started has no log yet.
      if (isUnwritten(error)) continue;
      throw error;
    }
    try {
      for await (const chunk of body) {
        offsets[type] += chunk.byteLength;
        yield chunk;
      }
    } finally {
      body.destroy();
    }
    signal.throwIfAborted();
  }
}

/** What is written from then on, until the container has ended. */
async function* live(
  input: LogInput,
  offsets: Readonly<Record<"stdout" | "stderr", number>>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { clock, entry } = input;
  while (!hasStarted(input)) {
    if (isOver(input)) return;
    await clock.sleep(startPauseMs, signal);
  }
  const allocation = entry.allocation?.ID;
  if (allocation === undefined) return;
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  try {
    yield* merge(streams.map((type) => followStream(input, { allocation, type, offset: offsets[type] }, until)));
  } finally {
    over.abort();
  }
  signal.throwIfAborted();
}

/** A followed log never ends by itself: it is over when the task is, and a second has brought nothing more. */
async function* followStream(
  input: LogInput,
  { allocation, type, offset }: { readonly allocation: string; readonly type: "stdout" | "stderr"; readonly offset: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { client, container, clock } = input;
  for (;;) {
    try {
      return yield* untilOver(input, client.followLog(allocation, { task: container, type, offset }, signal));
    } catch (error) {
      if (signal.aborted || !isUnwritten(error)) throw error;
      if (isOver(input)) return;
    }
    await clock.sleep(startPauseMs, signal);
  }
}

async function* untilOver(input: LogInput, frames: AsyncIterable<unknown>): AsyncGenerator<Uint8Array, void, undefined> {
  let isQuiet = false;
  for await (const frame of frames) {
    const { Data } = frame as { readonly Data?: string | null };
    if (Data) yield Buffer.from(Data, "base64");
    else if (isQuiet && isOver(input)) return;
    // What was written last may be on its way when the task is said to be dead.
    isQuiet = !Data && isOver(input);
  }
}

function hasStarted({ entry, container }: LogInput): boolean {
  return Boolean(taskOf(entry, container)?.StartedAt);
}

function isOver({ entry, container }: LogInput): boolean {
  const status = entry.allocation?.ClientStatus;
  return taskOf(entry, container)?.State === "dead" || status === "complete" || status === "failed" || status === "lost";
}

/** There is no such log, or not yet. */
function isUnwritten(error: unknown): boolean {
  return isNotFound(error) || isInvalidInput(error);
}
