import type { PodRef, ProviderHost, ProviderPod, ProviderPodList } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { PodState } from "../pod/pod-state.ts";
import type { RuntimeInventory } from "../runtime/container-runtime.ts";
import type { RegisteredPod, PodRegistry } from "./pod-registry.ts";
import type { RuntimePod } from "./runtime-pods.ts";

const nothing: RuntimeInventory = { sandboxes: [], containers: [] };

/** What is on the node: of the pods that a worker runs, what it knows; of all others, what the runtime holds. */
export class PodInventory {
  readonly #pods: PodRegistry;
  readonly #host: ProviderHost;
  readonly #closed: AbortSignal;

  /** @param closed - ends what is looked at beside a list */
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

  /** What the runtime holds of a pod. @throws NotFoundError if that is nothing */
  async find(ref: PodRef, signal: AbortSignal): Promise<RuntimePod> {
    const found = await this.#pods.find(ref, signal);
    if (!found) throw unknownPod(ref);
    return found;
  }

  /** Where a pod stands. @throws NotFoundError if there is nothing of it */
  async state(ref: PodRef, signal: AbortSignal): Promise<PodState> {
    signal.throwIfAborted();
    return this.#pods.get(ref.uid)?.worker.state ?? this.#pods.stateOf(await this.find(ref, signal));
  }

  /**
   * Lists everything: hands each worker what is its own, and takes over the node's pods that none runs.
   *
   * @throws as the runtime; never gives a part
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
    // Containers are looked at one by one where the list does not tell; nobody has to wait for that.
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

/** What is thrown of a pod that nothing is left of. */
export function unknownPod({ namespace, name, uid }: PodRef): NotFoundError {
  return new NotFoundError(`find pod ${namespace}/${name}: the container runtime holds nothing of UID ${uid}`);
}
