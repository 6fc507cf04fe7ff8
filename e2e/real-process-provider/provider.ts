import type { PodRef, PodStats, PodUpdate, Provider, ProviderDefinition, ProviderHost, ProviderPod } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { startReaper } from "@virtual-kubelet/testing";
import { z } from "zod";
import { attach, exec, forward, type RunningCommands } from "./process-access.ts";
import type { ProcessContainer } from "./process-container.ts";
import { ProcessMounts } from "./process-mounts.ts";
import { planContainers, podDirectory, ProcessPod } from "./process-pod.ts";
import { ProcessProbes } from "./process-probes.ts";

/** Settings of the provider of real processes. */
export interface RealProcessProviderConfig {
  /** Folder for logs and working directories. */
  readonly directory: string;
}

const configSchema: z.ZodType<RealProcessProviderConfig> = z.strictObject({ directory: z.string().min(1) });

/** Runs pods as real processes of this machine; see the README beside it. */
export const provider: ProviderDefinition<RealProcessProviderConfig> = {
  name: "real-process",
  capabilities: {
    initContainers: true,
    sidecarContainers: true,
    multipleContainers: true,
    env: true,
    restarts: true,
    probes: true,
    volumes: ["emptyDir", "configMap", "secret", "projected", "downwardAPI"],
    operatingSystems: ["linux"],
  },
  configSchema,
  create: (host, config) => createRealProcessProvider(host, config),
};

function createRealProcessProvider(host: ProviderHost, { directory }: RealProcessProviderConfig): Provider {
  const { clock } = host;
  const reaper = startReaper();
  const pods = new Map<string, ProcessPod>();
  const commands: RunningCommands = new Set();
  const timeNow = (): string => new Date(clock.now()).toISOString();
  const startedAt = timeNow();
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
  const tell = (pod: ProcessPod): void => listener?.({ ref: pod.ref, status: pod.status() });
  const onChange = (pod: ProcessPod): void => {
    probes.watch(pod);
    if (pod.deleted && pod.hasEnded && pods.delete(pod.ref.uid)) {
      probes.remove(pod);
      pod.removeFiles();
    }
    tell(pod);
  };
  const probes = new ProcessProbes({ host, commands, reaper, onChange: tell });

  return {
    ping: async () => {},
    configureNode: async () => ({ capacity: { cpu: "4", memory: "8Gi", pods: "200" }, operatingSystem: "linux" }),
    notifyPods: (listen) => void (listener = listen),

    async createPod(pod, resolved, signal) {
      const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
      if (pods.has(uid)) return;
      const ref = { namespace, name, uid };
      const plans = await planContainers(pod, resolved, signal);
      const mounts = await ProcessMounts.mount(pod, resolved, { directory: podDirectory(directory, ref), signal });
      signal.throwIfAborted();
      const created = new ProcessPod(ref, plans, {
        graceMs: (pod.spec?.terminationGracePeriodSeconds ?? 30) * 1000,
        mounts,
        clock,
        reaper,
        directory,
        standingOf: (each, container) => probes.standingOf(each, container),
        onChange,
      });
      pods.set(uid, created);
      probes.add(pod, created);
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
      return exec(command, io, { env: container.plan.env, cwd: pod.directory, clock, reaper, commands }, signal);
    },

    async attachToContainer(ref, name, io, signal) {
      await attach(running(find(ref), name), io, signal);
    },

    async portForward(ref, port, stream, signal) {
      find(ref);
      await forward(port, stream, signal);
    },

    async getStatsSummary() {
      return {
        node: { nodeName: host.nodeName, startTime: startedAt },
        pods: [...pods.values()].flatMap((pod) => statsOf(pod, timeNow())),
      };
    },

    async [Symbol.asyncDispose]() {
      listener = undefined;
      probes[Symbol.dispose]();
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
}

/** Resource usage of the pod's containers; empty if no container runs. */
function statsOf(pod: ProcessPod, time: string): PodStats[] {
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
