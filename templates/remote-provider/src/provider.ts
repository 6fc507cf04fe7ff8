import { podRef, type PodRef, type Provider, type ProviderDefinition, type ProviderHost } from "@virtual-kubelet/core";
import { isConflict, isDeadlineExceeded, isUnavailable, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { configSchema, regionAnnotation, type Config } from "./config.ts";
import { followOutput } from "./follow-output.ts";
import { JobPoller, type PodListing } from "./job-poller.ts";
import { JobsApi, type Job, type JobSpec } from "./jobs-api.ts";
import { ownerTags, toJobSpec, toPod } from "./translate.ts";

/** Definition that the program loads. Pods that need more than these capabilities, or than the policy allows, never reach the provider. */
export const provider: ProviderDefinition<Config> = {
  name: "template",
  capabilities: { env: true },
  configSchema,
  policy: (config) => config.policy,
  policyAnnotations: [regionAnnotation],
  create: createProvider,
  plan: async (pod, resolved, context, signal) => [
    { purpose: "create the job", method: "POST", path: "/jobs", body: await toJobSpec(pod, resolved, context, signal) },
  ],
};

function createProvider(host: ProviderHost, config: Config): Provider {
  const { clock, clusterId, nodeName } = host;
  const { address, tokenFile, timeoutSeconds, pollIntervalSeconds } = config;
  const api = new JobsApi({ address, tokenFile, timeoutMs: timeoutSeconds * 1000, fetch: globalThis.fetch, clock });
  const tags = ownerTags({ clusterId, nodeName });
  let poller: JobPoller | undefined;

  /** The pod's job, found by its tags, so that jobs from before a restart of the program are found. */
  async function find({ namespace, name, uid }: PodRef, signal: AbortSignal): Promise<Job> {
    const { jobs, problems } = await api.list({ ...tags, uid }, signal);
    const [job] = jobs;
    if (job) return job;
    const pod = `pod ${namespace}/${name} (${uid})`;
    if (problems.length > 0) throw new UnavailableError(`cannot tell whether ${pod} has a job: ${problems.join(", ")}`);
    throw new NotFoundError(`${pod} has no job`);
  }

  /** Creates the job, or adopts it if an earlier attempt has created it. */
  async function createOrAdopt(spec: JobSpec, ref: PodRef, signal: AbortSignal): Promise<void> {
    try {
      await api.create(spec, signal);
    } catch (error) {
      const mayBeThere = isConflict(error) || isDeadlineExceeded(error) || isUnavailable(error);
      if (!mayBeThere) throw error;
      // Found: adopted. Not found: core calls again, with back-off.
      await find(ref, signal).catch(() => {
        signal.throwIfAborted();
        throw error;
      });
    }
  }

  async function list(signal: AbortSignal): Promise<PodListing> {
    const { jobs, problems } = await api.list(tags, signal);
    return { pods: jobs.map(toPod), problems };
  }

  return {
    ping: (signal) => api.ping(signal),
    configureNode: async () => ({ capacity: { cpu: "100", memory: "400Gi", pods: String(config.pods) } }),
    notifyPods: (onUpdate) => void (poller = new JobPoller({ host, intervalMs: pollIntervalSeconds * 1000, list, onUpdate })),

    async createPod(pod, resolved, signal) {
      const spec = await toJobSpec(pod, resolved, { clusterId, nodeName, config }, signal);
      await createOrAdopt(spec, podRef(pod), signal);
      poller?.kick();
    },
    // Only labels and annotations can change, and a job has neither.
    updatePod: async () => {},
    async deletePod(ref, { gracePeriodSeconds }, signal) {
      const { id } = await find(ref, signal);
      await api.stop(id, gracePeriodSeconds, signal);
      poller?.kick();
    },
    getPod: async (ref, signal) => toPod(await find(ref, signal)),
    getPodStatus: async (ref, signal) => toPod(await find(ref, signal)).status,
    async getPods(signal) {
      const { pods, problems } = await list(signal);
      return { pods, complete: problems.length === 0 };
    },

    async getContainerLogs(ref, container, { follow, previous }, signal) {
      const { id, tags: found } = await find(ref, signal);
      if (previous || found["container"] !== container) throw new NotFoundError(`job ${id} has no such output of container ${container}`);
      const written = await api.output(id, 0, signal);
      const hasEnded = async (): Promise<boolean> => (await find(ref, signal)).ended !== undefined;
      const live = followOutput({ fromByte: written.length, read: (from) => api.output(id, from, signal), hasEnded, clock, signal });
      return { data: once(written), ...(follow && { live }) };
    },

    [Symbol.asyncDispose]: async () => poller?.[Symbol.asyncDispose](),
  };
}

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield chunk;
}
