import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type {
  AttachIO,
  ExecResult,
  PodRef,
  PodStats,
  PodUpdate,
  Provider,
  ProviderDefinition,
  ProviderHost,
  ProviderPod,
  TerminalSize,
} from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { startReaper } from "@virtual-kubelet/testing";
import { z } from "zod";
import type { ProcessContainer } from "./process-container.ts";
import { planContainers, ProcessPod } from "./process-pod.ts";
import { spawnCommand } from "./spawn-command.ts";

/** Configuration of the process provider. */
export interface ProcessProviderConfig {
  /** Folder for logs and working directories. */
  readonly directory: string;
}

const configSchema: z.ZodType<ProcessProviderConfig> = z.strictObject({ directory: z.string().min(1) });

/** Runs pods as real processes of this machine; see the README beside it. */
export const provider: ProviderDefinition<ProcessProviderConfig> = {
  name: "real-process",
  capabilities: {
    initContainers: true,
    multipleContainers: true,
    env: true,
    restarts: true,
    volumes: ["emptyDir"],
    operatingSystems: ["linux"],
  },
  configSchema,
  create: (host, config) => createProcessProvider(host, config),
};

function createProcessProvider(host: ProviderHost, { directory }: ProcessProviderConfig): Provider {
  const { clock } = host;
  const reaper = startReaper();
  const pods = new Map<string, ProcessPod>();
  const commands = new Set<{ kill(): Promise<unknown> }>();
  const startedAt = new Date(clock.now()).toISOString();
  let listener: ((update: PodUpdate) => void) | undefined;

  const find = (ref: PodRef): ProcessPod => {
    const pod = pods.get(ref.uid);
    if (!pod) throw new NotFoundError(`pod ${ref.namespace}/${ref.name} (${ref.uid}) has no processes here`);
    return pod;
  };
  const describe = (pod: ProcessPod): ProviderPod => ({
    ref: pod.ref,
    owner: { clusterId: host.clusterId, nodeName: host.nodeName },
    createdAt: pod.createdAt,
    status: pod.status(),
  });
  const onChange = (pod: ProcessPod): void => {
    if (pod.deleted && pod.hasEnded && pods.delete(pod.ref.uid)) pod.removeFiles();
    listener?.({ ref: pod.ref, status: pod.status() });
  };

  return {
    ping: async () => {},
    configureNode: async () => ({ capacity: { cpu: "4", memory: "8Gi", pods: "200" }, operatingSystem: "linux" }),
    notifyPods: (listen) => void (listener = listen),

    async createPod(pod, resolved, signal) {
      const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
      if (pods.has(uid)) return;
      const plans = await planContainers(pod, resolved, signal);
      signal.throwIfAborted();
      const created = new ProcessPod({ namespace, name, uid }, plans, { clock, reaper, directory, onChange });
      pods.set(uid, created);
      void created.start();
    },
    updatePod: async () => {},
    async deletePod(ref, { gracePeriodSeconds }) {
      const pod = find(ref);
      pod.deleted = true;
      pod.stop(gracePeriodSeconds * 1000);
      onChange(pod);
    },
    getPod: async (ref) => describe(find(ref)),
    getPodStatus: async (ref) => find(ref).status(),
    getPods: async () => ({ pods: Array.from(pods.values(), describe), complete: true }),

    async getContainerLogs(ref, container, { follow, previous }, signal) {
      const log = find(ref).container(container).log(previous);
      if (!log) throw new NotFoundError(`container ${container} has ${previous ? "no earlier instance" : "not started"}`);
      const { size } = log;
      return { data: log.read(), ...(follow && { live: log.follow(size, signal) }), timestamps: true };
    },

    async runInContainer(ref, name, command, io, signal) {
      const pod = find(ref);
      const container = running(pod, name);
      return exec(container, command, io, { cwd: pod.directory, signal });
    },

    async attachToContainer(ref, name, io, signal) {
      const container = running(find(ref), name);
      signal.throwIfAborted();
      const run = container.running;
      if (!run) return;
      const { group, attached } = run;
      const target = io.stdout ?? io.stderr;
      if (target) attached.add(target);
      const over = new AbortController();
      const until = AbortSignal.any([signal, over.signal]);
      const typed = copyInput(io, group.child.stdin, { signal: until, endsInput: container.plan.spec.stdinOnce ?? false });
      const sizes = followSizes(io.resizes, (size) => group.resize(size));
      try {
        await Promise.race([group.exited, aborted(until)]);
      } finally {
        over.abort();
        if (target) attached.delete(target);
        sizes();
        await typed;
      }
      signal.throwIfAborted();
    },

    async portForward(ref, port, stream, signal) {
      find(ref);
      await forward(port, stream, signal);
    },

    async getStatsSummary() {
      return { node: { nodeName: host.nodeName, startTime: startedAt }, pods: [...pods.values()].flatMap(statsOf) };
    },

    async [Symbol.asyncDispose]() {
      listener = undefined;
      await Promise.all([...commands].map((command) => command.kill()));
      for (const pod of pods.values()) pod.stop(0);
      await Promise.all([...pods.values()].flatMap((pod) => pod.containers.map(async ({ running: run }) => run?.group.exited)));
      for (const pod of pods.values()) pod.removeFiles();
      pods.clear();
      reaper[Symbol.dispose]();
    },
  };

  function running(pod: ProcessPod, name: string): ProcessContainer {
    const container = pod.container(name);
    if (!container.running) throw new NotFoundError(`container ${name} of pod ${pod.ref.namespace}/${pod.ref.name} does not run`);
    return container;
  }

  async function exec(
    container: ProcessContainer,
    command: readonly string[],
    io: AttachIO,
    { cwd, signal }: { readonly cwd: string; readonly signal: AbortSignal },
  ): Promise<ExecResult> {
    signal.throwIfAborted();
    let size: TerminalSize = { width: 80, height: 24 };
    let onSize = (next: TerminalSize): void => void (size = next);
    const sizes = followSizes(io.tty ? io.resizes : undefined, (next) => onSize(next));
    // The current size is there at once, if the client tells any.
    if (io.tty) await clock.sleep(20, signal);
    const group = spawnCommand(
      { command, env: container.plan.env, cwd, stdin: io.stdin !== undefined, terminal: io.tty ? size : undefined },
      reaper,
    );
    onSize = (next) => group.resize(next);
    const { child, exited } = group;
    const entry = {
      kill: () => {
        group.signal("SIGKILL");
        return exited;
      },
    };
    commands.add(entry);
    const onAbort = (): void => group.signal("SIGKILL");
    signal.addEventListener("abort", onAbort, { once: true });
    const over = new AbortController();
    const typed = copyInput(io, child.stdin, { signal: AbortSignal.any([signal, over.signal]), endsInput: true });
    const outputs = (["stdout", "stderr"] as const).map(async (name) => {
      const target = io[name];
      if (target && child[name]) await pipeline(child[name], target, { end: false, signal }).catch(() => {});
      else child[name]?.resume();
    });
    try {
      const exitCode = await exited;
      await Promise.all(outputs);
      signal.throwIfAborted();
      return { exitCode };
    } finally {
      over.abort();
      commands.delete(entry);
      signal.removeEventListener("abort", onAbort);
      sizes();
      await typed;
    }
  }

  function statsOf(pod: ProcessPod): PodStats[] {
    const time = new Date(clock.now()).toISOString();
    const containers = pod.containers.flatMap((container) => {
      const use = container.use();
      const run = container.running;
      if (!use || !run) return [];
      const { cpuNanoSeconds, rssBytes } = use;
      const memory = { time, workingSetBytes: rssBytes, rssBytes, usageBytes: rssBytes };
      return [{ name: container.plan.spec.name, startTime: run.startedAt, cpu: { time, usageCoreNanoSeconds: cpuNanoSeconds }, memory }];
    });
    const { namespace, name, uid } = pod.ref;
    return containers.length > 0 ? [{ podRef: { namespace, name, uid }, startTime: pod.createdAt, containers }] : [];
  }
}

/** Hands the client's input on. Never rejects: a command may end before its input does. */
async function copyInput(
  { stdin }: AttachIO,
  target: NodeJS.WritableStream | null,
  { signal, endsInput }: { readonly signal: AbortSignal; readonly endsInput: boolean },
): Promise<void> {
  if (!stdin || !target) return;
  const chunks = stdin[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  try {
    for (;;) {
      const next = chunks.next();
      next.catch(() => {});
      const result = await Promise.race([next, aborted(signal)]);
      if (result === undefined) return;
      if (result.done) break;
      if (!target.write(result.value)) await Promise.race([once(target, "drain", { signal }), once(target, "close", { signal })]);
    }
    if (endsInput) target.end();
  } catch {
    // The command or the client is gone.
  }
}

async function forward(port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  const destroy = (): void => {
    socket.destroy();
    stream.destroy();
  };
  signal.addEventListener("abort", destroy, { once: true });
  try {
    await once(socket, "connect").catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new UnavailableError(`port ${port} of the pod: connection refused`, { cause });
    });
    await Promise.all([pipeline(stream, socket), pipeline(socket, stream)]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", destroy);
    socket.destroy();
  }
}

/** @returns what ends it */
function followSizes(resizes: AsyncIterable<TerminalSize> | undefined, onSize: (size: TerminalSize) => void): () => void {
  const sizes = resizes?.[Symbol.asyncIterator]();
  const read = async (): Promise<void> => {
    for (let next = await sizes?.next(); next && !next.done; next = await sizes?.next()) onSize(next.value);
  };
  read().catch(() => {});
  return () => void sizes?.return?.();
}

/** Resolves with nothing when the signal aborts. */
function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}
