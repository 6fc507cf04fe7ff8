import type { AttachIO, Clock, ExecResult } from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";
import { PodFiles } from "../container/container-files.ts";
import { defaultLines, readContainerLogs, type LogSource, type RunLog } from "../container/container-logs.ts";
import { runCommand, toOutput, readUntilAborted } from "../container/container-exec.ts";
import type { Container, FinishedRun } from "../container/container-state.ts";
import { emptyContainerSpec } from "../container/container-spec.ts";
import { respondHttp } from "../container/http-responder.ts";
import { watchPod, type MockPod } from "./mock-pod.ts";
import type { MockHost } from "../mock-host.ts";

type RunningContainer = Container & { readonly state: Container["state"] & { readonly kind: "running" } };

/** Source of the container's logs. @throws NotFoundError if the pod does not have the container */
export function logSourceOf(
  pod: MockPod,
  name: string,
  { previous, clock }: { readonly previous: boolean; readonly clock: Clock },
): LogSource {
  containerOf(pod, name);
  return {
    read() {
      const container = containerOf(pod, name);
      const text = { lines: container.script.log ?? defaultLines(container, `${pod.ref.namespace}/${pod.ref.name}`) };
      return { ...text, everyMs: container.script.logEveryMs, ...runOf(container, { previous, nowMs: clock.monotonic() }) };
    },
    async wait(untilRanMs, signal) {
      const { state } = containerOf(pod, name);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      using _watch = watchPod(pod, resolve);
      const delayMs = state.kind === "running" && untilRanMs !== undefined ? state.startedMs + untilRanMs - clock.monotonic() : undefined;
      using _timer = delayMs === undefined ? undefined : clock.setTimer(Math.max(1, delayMs), resolve);
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        signal.throwIfAborted();
        await promise;
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
  };
}

/** Runs a command in a container, and kills it when the container ends. */
export async function exec(
  pod: MockPod,
  { container: name, command, io, host }: { container: string; command: readonly string[]; io: AttachIO; host: MockHost },
  signal: AbortSignal,
): Promise<ExecResult> {
  const container = runningContainer(pod, name);
  const spec = pod.containerSpecs.get(name) ?? emptyContainerSpec();
  pod.files ??= new PodFiles(pod.ref, host.clock);
  const volumes = { payloads: pod.payloadVolumes, resolvePod: host.resolvePod };
  const files = await pod.files.open(container, spec, volumes, signal);
  const environment = await host
    .resolvePod(pod.ref)
    .environment(name, signal, pod.ownIP === undefined ? undefined : { podIPs: [pod.ownIP] });
  const ended = new AbortController();
  using _watch = watchPod(pod, () => {
    if (!stillRuns(pod, container)) ended.abort(new UnavailableError(`container ${name} has ended`));
  });
  try {
    const directory = spec.workingDir ?? "/";
    if (spec.workingDir !== undefined) files.makeDirectory(directory, { parents: true });
    return await runCommand(
      command,
      io,
      { hostname: pod.ref.name, files, clock: host.clock, environment, directory },
      AbortSignal.any([signal, ended.signal]),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (ended.signal.aborted) return { exitCode: 137 };
    throw error;
  }
}

/** Streams the container's log from now on, and echoes the input, until the container ends. */
export async function attach(
  pod: MockPod,
  { container: name, io, clock }: { container: string; io: AttachIO; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const container = runningContainer(pod, name);
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const output = toOutput(io.stdout ?? io.stderr, signal);
  const source = logSourceOf(pod, name, { previous: false, clock });
  const echo = async (): Promise<void> => {
    if (io.stdin) for await (const chunk of readUntilAborted(io.stdin, until)) await output.write(chunk);
  };
  const show = async (): Promise<void> => {
    const options = { follow: true, previous: false, timestamps: false, tailLines: 0 };
    const { live } = readContainerLogs(source, options, until);
    for await (const text of live ?? []) await output.write(withoutTimes(String(text), io.tty ? "\r\n" : "\n"));
    while (stillRuns(pod, container)) await source.wait(undefined, until);
  };
  const echoing = echo();
  echoing.catch((error: unknown) => over.abort(error));
  try {
    await show();
  } finally {
    over.abort(new UnavailableError(`container ${name} has ended`));
    await echoing.catch(() => {});
    signal.throwIfAborted();
  }
}

/** Answers HTTP on a port that a running container declares. */
export async function forward(pod: MockPod, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
  const listens = pod.model.containers.some(
    ({ name, state }) => state.kind === "running" && (pod.containerSpecs.get(name)?.ports.includes(port) ?? false),
  );
  const what = `pod ${pod.ref.namespace}/${pod.ref.name}, port ${port}`;
  if (!listens) throw new UnavailableError(`${what}: connection refused: no running container of the pod declares it`);
  await respondHttp(what, stream, signal);
}

function containerOf(pod: MockPod, name: string): Container {
  const container = pod.model.containers.find((each) => each.name === name);
  if (!container) throw new NotFoundError(`pod ${pod.ref.namespace}/${pod.ref.name} has no container ${name} at the mock provider`);
  return container;
}

function runningContainer(pod: MockPod, name: string): RunningContainer {
  const container = containerOf(pod, name);
  if (!isRunning(container)) throw new NotFoundError(`container ${name} of pod ${pod.ref.namespace}/${pod.ref.name} is not running`);
  return container;
}

function isRunning(container: Container): container is RunningContainer {
  return container.state.kind === "running";
}

/** Whether the same run of the container is still running. */
function stillRuns(pod: MockPod, { name, restartCount, state: { startedMs } }: RunningContainer): boolean {
  return pod.model.containers.some(
    (each) => each.name === name && each.restartCount === restartCount && isRunning(each) && each.state.startedMs === startedMs,
  );
}

/** The run to show the log of: the current or last one, or with `previous` the one before it. */
function runOf(
  container: Container,
  { previous, nowMs }: { readonly previous: boolean; readonly nowMs: number },
): Pick<RunLog, "startMs" | "ranMs" | "ended"> {
  const { state, lastRun } = container;
  if (!previous && state.kind === "running")
    return { startMs: Date.parse(state.startedAt), ranMs: Math.max(0, nowMs - state.startedMs), ended: false };
  const run: FinishedRun | undefined = !previous && state.kind === "exited" ? state.run : lastRun;
  if (!run)
    throw new NotFoundError(previous ? `container ${container.name} has no earlier run` : `container ${container.name} has not started`);
  return { startMs: Date.parse(run.startedAt), ranMs: run.ranMs, ended: true };
}

function withoutTimes(text: string, lineEnd: string): string {
  return text.replace(/^\S+ (.*)\n/gm, (_, line: string) => `${line}${lineEnd}`);
}
