import { type DeepReadonly, type NodeDescription, type Owner, type Pod, type ResolvedPod } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import {
  readTags,
  type BackendLimits,
  type Ending,
  type EndStep,
  type IdentityReading,
  type LogSnapshot,
  type Observation,
  type PodIdentity,
  type RemoteBackend,
  type RemoteDescriptions,
  type RemoteListing,
  type RemoteTarget,
} from "@virtual-kubelet/remote-pods";
import type { Config } from "./config.ts";
import type { Job, JobsApi, JobSpec } from "./jobs-api.ts";
import { toJobSpec, toObservation } from "./translate.ts";

/** What the API's documentation says of its limits. */
export const limits: BackendLimits = {
  rates: { read: [{ burst: 200, perSecond: 50 }], write: [{ burst: 100, perSecond: 20 }] },
  describeBatch: 1,
  // The name is unique, but jobs are addressed by the id that the API chooses.
  idempotency: "token",
  visibleAfterMs: 0,
};

/** Time after which a job that is still there is stopped again. */
const killAgainMs = 300_000;

/** The remote API's jobs, as the back end of a provider. `RemotePodProvider` does the rest. */
export class JobsBackend implements RemoteBackend<JobSpec, Job> {
  readonly name = "the jobs API";
  readonly shortName = "template";
  readonly limits: BackendLimits = limits;
  readonly #api: JobsApi;
  readonly #config: Config;
  readonly #owner: Owner;

  constructor(api: JobsApi, config: Config, owner: Owner) {
    this.#api = api;
    this.#config = config;
    this.#owner = owner;
  }

  translate(pod: DeepReadonly<Pod>, resolved: ResolvedPod, identity: PodIdentity, signal: AbortSignal): Promise<JobSpec> {
    return toJobSpec(pod, resolved, { identity, config: this.#config }, signal);
  }

  identityOf({ tags }: Job): IdentityReading {
    return readTags(tags, this.#owner);
  }

  observe(job: Job): Observation {
    return toObservation(job);
  }

  async create(spec: JobSpec, _identity: PodIdentity, signal: AbortSignal): Promise<{ readonly id: string; readonly remote: Job }> {
    const job = await this.#api.create(spec, signal);
    return { id: job.id, remote: job };
  }

  async list(signal: AbortSignal): Promise<RemoteListing<Job>> {
    const { jobs, problems } = await this.#api.list({ "vk.node": this.#owner.nodeName }, signal);
    return { objects: jobs.map((job) => ({ id: job.id, remote: job, createdAt: job.createdAt })), problems };
  }

  async describe(ids: readonly string[], signal: AbortSignal): Promise<RemoteDescriptions<Job>> {
    const found: { id: string; remote: Job }[] = [];
    const missing: string[] = [];
    for (const id of ids) {
      try {
        found.push({ id, remote: await this.#api.get(id, signal) });
      } catch (error) {
        if (!isNotFound(error)) throw error;
        missing.push(id);
      }
    }
    return { found, missing };
  }

  /** The API stops a job within its grace and then removes it; another call with less grace shortens it. */
  async end({ id }: RemoteTarget<Job>, { graceLeftMs, isDeleted, killedAgoMs }: Ending, signal: AbortSignal): Promise<EndStep> {
    const isOver = graceLeftMs <= 0;
    // The API may have lost a request that it accepted.
    if (isOver ? killedAgoMs !== undefined && killedAgoMs < killAgainMs : isDeleted) return "wait";
    await this.#api.stop(id, Math.max(0, Math.ceil(graceLeftMs / 1000)), signal);
    return isOver ? "killed" : "deleted";
  }

  async logSnapshot({ id }: RemoteTarget<Job>, _container: string, _query: object, signal: AbortSignal): Promise<LogSnapshot> {
    return { text: await this.#api.output(id, signal), hasTimestamps: false };
  }

  ping(signal: AbortSignal): Promise<void> {
    return this.#api.ping(signal);
  }

  async configureNode(): Promise<NodeDescription> {
    return { capacity: { cpu: "100", memory: "400Gi", pods: String(this.#config.pods) } };
  }
}
