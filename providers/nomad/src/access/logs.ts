import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import { isInvalidInput, isNotFound, NotFoundError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { NomadClient } from "../api/nomad-client.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import { logTypes, type ArrivalTimes, type LogTimes, type LogType } from "./arrival-times.ts";
import { LastLines, LineCutter, shareOfTail, type LogBlock, type LogChunk } from "./log-lines.ts";
import type { LogStreams } from "./log-streams.ts";
import { merge, mergeByTime } from "./merge.ts";
import { taskOf } from "./task-of.ts";

/** Container whose log is read, and how. */
export interface LogInput {
  readonly client: Pick<NomadClient, "log">;
  readonly clock: Clock;
  readonly times: LogTimes;
  readonly streams: LogStreams;
  readonly entry: PodEntry;
  readonly container: string;
  readonly options: Pick<ContainerLogOptions, "follow" | "previous" | "timestamps" | "sinceTime" | "tailLines">;
}

/** Interval between checks of a task that has not started. */
const startPauseMs = 500;

/** One output of the container and its read position. */
interface Output {
  readonly type: LogType;
  readonly times: ArrivalTimes;
  readonly cutter: LineCutter;
  offset: number;
}

/**
 * Output of a container. Nomad keeps standard output and standard error apart and stores no times, so lines have the order and the times
 * in which they arrived here. One log holds the output of all instances of the container.
 *
 * @throws NotFoundError for a container that is not there; UnsupportedError for the log of the instance before
 */
export function containerLogs(input: LogInput, signal: AbortSignal): ContainerLogs {
  const { entry, container, options } = input;
  const task = taskOf(entry, container);
  if (options.previous) throw previousLog(entry, container, task?.Restarts ?? 0);
  const withTimes = options.timestamps || options.sinceTime !== undefined;
  const nowMs = seenAt(input);
  const outputs = logTypes.map((type): Output => {
    const times = input.times.of(entry, container, type);
    return { type, times, offset: 0, cutter: new LineCutter({ timeAt: (offset) => times.timeAt(offset) ?? nowMs, withTimes }) };
  });
  return {
    data: written(input, outputs, nowMs, signal),
    ...(options.follow && { live: live(input, outputs, signal) }),
    timestamps: withTimes,
    applied: ["tailLines"],
  };
}

function previousLog(entry: PodEntry, container: string, restarts: number): Error {
  const { namespace, name } = entry.shape.ref;
  if (restarts === 0) return new NotFoundError(`container ${container} of pod ${namespace}/${name} has no earlier run`);
  return new UnsupportedError(
    `Nomad keeps one log for all instances of container ${container} of pod ${namespace}/${name}: read it without --previous`,
  );
}

/** Upper bound of the time at which the bytes read now were written: an ended container writes nothing more. */
function seenAt({ clock, entry, container }: LogInput): number {
  const { State, FinishedAt } = taskOf(entry, container) ?? {};
  const endMs = State === "dead" && FinishedAt ? Date.parse(FinishedAt) : Number.NaN;
  return Number.isNaN(endMs) ? clock.now() : Math.min(endMs, clock.now());
}

/** Yields the lines written so far, limited to the tail, in order of their times. */
async function* written(
  input: LogInput,
  outputs: readonly Output[],
  nowMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (!hasStarted(input)) return;
  const { tailLines, follow } = input.options;
  const ends = tailLines === undefined ? undefined : await skipToTail(input, outputs, { count: tailLines, nowMs, signal });
  const sources = outputs.map(async function* (output, index): AsyncGenerator<LogBlock, void, undefined> {
    for await (const chunk of chunksOf(input, output, { until: ends?.[index], nowMs, signal })) yield* output.cutter.push(chunk);
    if (ends === undefined) output.times.noteEnd(output.offset);
  });
  for await (const { bytes } of mergeByTime(sources)) yield bytes;
  if (!follow) yield* lastLines(outputs);
}

function* lastLines(outputs: readonly Output[]): Generator<Uint8Array, void, undefined> {
  for (const { cutter } of outputs) for (const { bytes } of cutter.end()) yield bytes;
}

/** Scans both outputs for the tail and moves each to the start of its part. @returns the end of each */
async function skipToTail(
  input: LogInput,
  outputs: readonly Output[],
  { count, nowMs, signal }: { readonly count: number; readonly nowMs: number; readonly signal: AbortSignal },
): Promise<readonly number[]> {
  const tails = await Promise.all(
    outputs.map(async (output) => {
      const last = new LastLines(count, (offset) => output.times.timeAt(offset) ?? nowMs);
      for await (const chunk of chunksOf(input, output, { nowMs, signal })) last.push(chunk);
      output.times.noteEnd(output.offset);
      return last.starts();
    }),
  );
  const ends = outputs.map(({ offset }) => offset);
  const shares = shareOfTail(tails, count);
  for (const [index, output] of outputs.entries())
    output.offset = tails[index]?.slice(-(shares[index] ?? 0) || Infinity)[0]?.offset ?? output.offset;
  return ends;
}

/** Reads an output from its position; empty while there is no log yet. */
async function* chunksOf(
  { client, entry, container }: LogInput,
  output: Output,
  { until = Infinity, nowMs, signal }: { readonly until?: number | undefined; readonly nowMs: number; readonly signal: AbortSignal },
): AsyncGenerator<LogChunk, void, undefined> {
  if (!entry.allocation || output.offset >= until) return;
  const { type, times } = output;
  let body: Awaited<ReturnType<NomadClient["log"]>>;
  try {
    body = await client.log(
      entry.allocation.ID,
      { task: container, tenant: entry.shape.ref.namespace, type, offset: output.offset },
      signal,
    );
  } catch (error) {
    // A task has no log directly after its start.
    if (isNotFound(error) || isInvalidInput(error)) return;
    throw error;
  }
  try {
    for await (const chunk of body) {
      const { offset } = output;
      const bytes = chunk.subarray(0, until - offset);
      output.offset += bytes.byteLength;
      times.note(output.offset, nowMs);
      yield { offset, bytes };
      if (output.offset >= until) break;
    }
  } finally {
    body.destroy();
  }
  signal.throwIfAborted();
}

/** Yields new lines in order of arrival until the container has ended. */
async function* live(input: LogInput, outputs: readonly Output[], signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
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
    for await (const { bytes } of merge(outputs.map((output) => followOutput(input, allocation, output, until)))) yield bytes;
  } finally {
    over.abort();
  }
  yield* lastLines(outputs);
  signal.throwIfAborted();
}

async function* followOutput(
  input: LogInput,
  allocation: string,
  output: Output,
  signal: AbortSignal,
): AsyncGenerator<LogBlock, void, undefined> {
  const { streams, container, clock, entry } = input;
  const tenant = entry.shape.ref.namespace;
  const { type, times, cutter } = output;
  for (;;) {
    using follower = streams.follow({ allocation, task: container, tenant, type, times, isOver: () => isOver(input) }, output.offset);
    // Others may have got further, or this one may have been left behind.
    if (follower.position > output.offset)
      for await (const chunk of chunksOf(input, output, { nowMs: clock.now(), signal })) yield* cutter.push(chunk);
    for await (const { offset, bytes } of follower.chunks(signal)) {
      const rest = bytes.subarray(Math.max(0, output.offset - offset));
      if (rest.byteLength === 0) continue;
      const start = offset + bytes.byteLength - rest.byteLength;
      output.offset = offset + bytes.byteLength;
      yield* cutter.push({ offset: start, bytes: rest });
    }
    if (!follower.isLate) return;
  }
}

function hasStarted({ entry, container }: LogInput): boolean {
  return Boolean(taskOf(entry, container)?.StartedAt);
}

function isOver({ entry, container }: LogInput): boolean {
  const status = entry.allocation?.ClientStatus;
  return taskOf(entry, container)?.State === "dead" || status === "complete" || status === "failed" || status === "lost";
}
