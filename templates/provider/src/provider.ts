import {
  podRef,
  type PodRef,
  type PodStats,
  type PodUpdate,
  type Provider,
  type ProviderDefinition,
  type ProviderHost,
  type ProviderPod,
  type ReasonCatalogue,
} from "@virtual-kubelet/core";
import { BackEnd } from "./back-end.ts";
import { configSchema, type Config } from "./config.ts";
import type { Job } from "./job.ts";
import { toJobSpec, toOwner, toRef, toStatus } from "./translate.ts";

/** Reasons of this provider's own events. `virtual-kubelet explain ImageUnused --provider …` shows what is said here. */
const reasons = {
  ImageUnused: {
    on: ["podEvent"],
    meaning: "The command runs as a process of the node's machine, outside of the container's image.",
    remedy: "Nothing, if the machine has the command.",
  },
} satisfies ReasonCatalogue;

/** Definition that the program loads. Pods that need more than these capabilities never reach the provider. */
export const provider: ProviderDefinition<Config> = {
  name: "template",
  capabilities: { env: true },
  reasons,
  configSchema,
  create: createProvider,
  plan: async (pod, resolved, owner, signal) => [
    { purpose: "create the job", method: "POST", path: "/jobs", body: await toJobSpec(pod, resolved, owner, signal) },
  ],
};

function createProvider(host: ProviderHost, config: Config): Provider {
  const api = new BackEnd(host.clock);
  const describe = (job: Job): ProviderPod => ({
    ref: toRef(job),
    owner: toOwner(job),
    createdAt: job.createdAt,
    status: toStatus(job),
  });
  const update = (job: Job): PodUpdate => ({ ref: toRef(job), status: toStatus(job) });
  const measure = (job: Job): PodStats[] => {
    const usage = api.usage(job.id);
    const { createdAt: startTime, container } = job;
    const time = new Date(host.clock.now()).toISOString();
    const cpu = { time, usageCoreNanoSeconds: usage?.cpuNanoSeconds };
    const memory = { time, workingSetBytes: usage?.memoryBytes };
    return usage ? [{ podRef: toRef(job), startTime, containers: [{ name: container, startTime, cpu, memory }] }] : [];
  };

  return {
    ping: (signal) => api.ping(signal),
    configureNode: async () => ({ capacity: { cpu: "4", memory: "8Gi", pods: String(config.pods) } }),
    notifyPods: (listener) => api.onChange((job) => listener(update(job))),

    // Called again if an answer was lost: the same ID returns the same job.
    async createPod(pod, resolved, signal) {
      api.create(await toJobSpec(pod, resolved, host, signal));
      const reason: keyof typeof reasons = "ImageUnused";
      host.recordEvent(podRef(pod), { type: "Normal", reason, message: "The command runs as a process, not in the image" });
    },
    // Only labels and annotations of a pod can change, and a job has neither.
    updatePod: async () => {},
    deletePod: async (ref, { gracePeriodSeconds }) => api.stop(ref.uid, gracePeriodSeconds * 1000),
    getPod: async (ref) => describe(api.get(ref.uid)),
    getPodStatus: async (ref) => toStatus(api.get(ref.uid)),
    getPods: async () => ({ pods: api.list().map(describe), complete: true }),

    async getContainerLogs(ref, container, { follow, previous }, signal) {
      const { written, rest } = api.output(jobOf(ref, container), { previous });
      return { data: written, ...(follow && { live: rest(signal) }) };
    },
    async runInContainer(ref, container, command, io, signal) {
      return { exitCode: await api.exec(jobOf(ref, container), command, io, signal) };
    },
    getStatsSummary: async () => ({ pods: api.list().flatMap(measure) }),

    [Symbol.asyncDispose]: () => api.close(),
  };

  function jobOf({ uid }: PodRef, container: string): string {
    return api.find(uid, container).id;
  }
}
