import type { PodRef, ProviderHost, ProviderPod, ProviderPodList } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { PodState } from "../pod/pod-state.ts";
import type { RuntimeInventory } from "../runtime/container-runtime.ts";
import type { RegisteredPod, PodRegistry } from "./pod-registry.ts";
import type { RuntimePod } from "./runtime-pods.ts";

const nothing: RuntimeInventory = { sandboxes: [], containers: [] };

/** All pods on the node: registered pods as their workers report them, others as the runtime lists them. */
export class PodInventory {
  readonly #pods: PodRegistry;
  readonly #host: ProviderHost;
  readonly #closed: AbortSignal;

  /** @param closed - aborts inspections that follow a list */
  constructor(pods: PodRegistry, host: ProviderHost, closed: AbortSignal) {
    this.#pods = pods;
    this.#host = host;
    this.#closed = closed;
  }

  /** As `PodLifecycleHandler.getPod`. */
  async pod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    const registered = this.#pods.get(ref.uid);
    return registered ? this.#describeRegistered(registered) : this.#describeFound(await this.find(ref, signal));
  }

  /** As `PodLifecycleHandler.getPods`, after {@link lookAtAll}. */
  async list(signal: AbortSignal): Promise<ProviderPodList> {
    const found = await this.lookAtAll(signal);
    const unregistered = [...found.values()].filter(({ ref }) => !this.#pods.get(ref.uid));
    const registered = this.#pods.values();
    return {
      pods: [...registered.map((pod) => this.#describeRegistered(pod)), ...unregistered.map((pod) => this.#describeFound(pod))],
      complete: true,
    };
  }

  /** The pod's objects at the runtime. @throws NotFoundError if there are none */
  async find(ref: PodRef, signal: AbortSignal): Promise<RuntimePod> {
    const found = await this.#pods.find(ref, signal);
    if (!found) throw unknownPod(ref);
    return found;
  }

  /** The pod's state. @throws NotFoundError if the runtime holds nothing of it */
  async state(ref: PodRef, signal: AbortSignal): Promise<PodState> {
    signal.throwIfAborted();
    return this.#pods.get(ref.uid)?.worker.state ?? this.#pods.stateOf(await this.find(ref, signal));
  }

  /**
   * Lists all pods, gives each worker the objects of its pod, and adopts pods of the node that have no worker.
   *
   * @throws as the runtime; never returns a part
   */
  async lookAtAll(signal: AbortSignal): Promise<ReadonlyMap<string, RuntimePod>> {
    const before = this.#pods.values();
    const found = await this.#pods.listAll(signal);
    const looking = before.map(({ ref, worker }) => worker.compare(found.get(ref.uid)?.inventory ?? nothing, this.#closed));
    const taking = [...found.values()].flatMap((pod) => {
      const wanted = this.#pods.get(pod.ref.uid) ? undefined : this.#host.findPod(pod.ref);
      return wanted ? [this.#pods.take(wanted, pod)] : [];
    });
    await Promise.all(taking);
    // Inspections of single containers follow where the list is not enough. No caller waits for them.
    void Promise.allSettled(looking);
    return found;
  }

  #describeRegistered({ ref, worker, createdAtMs }: RegisteredPod): ProviderPod {
    return { ref, owner: this.#pods.owner, createdAt: rfc3339(createdAtMs), status: structuredClone(worker.report) };
  }

  #describeFound(found: RuntimePod): ProviderPod {
    const { ref, owner, createdAtMs } = found;
    return { ref, owner, ...(createdAtMs !== undefined && { createdAt: rfc3339(createdAtMs) }), status: this.#pods.statusOf(found) };
  }
}

/** Error for a pod of which nothing is left. */
export function unknownPod({ namespace, name, uid }: PodRef): NotFoundError {
  return new NotFoundError(`find pod ${namespace}/${name}: the container runtime has nothing with UID ${uid}`);
}
