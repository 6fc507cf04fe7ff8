import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { ConflictError, NotFoundError } from "@virtual-kubelet/errdefs";
import { parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import { dockerLabels, isSameObject } from "../engine/object-names.ts";

/** The extended resource of GPUs. */
export const gpuResource = "nvidia.com/gpu";

/** Units of an extended resource that a container requests. */
export function unitsOf({ resources }: DeepReadonly<Container>, resource: string): number {
  const quantity = resources?.limits?.[resource] ?? resources?.requests?.[resource];
  return quantity === undefined ? 0 : Number(wholeUnits(parseQuantity(quantity)));
}

/** Devices of the host for a container's extended resources. */
export function devicesOf(
  container: DeepReadonly<Container>,
  devices: Readonly<Record<string, { readonly paths: readonly string[] }>>,
): string[] {
  const asked = Object.entries(devices).filter(([resource]) => unitsOf(container, resource) > 0);
  return [...new Set(asked.flatMap(([, { paths }]) => paths))];
}

export interface GpuAllocatorOptions {
  /** Ids of the node's GPUs, requested each time because they may change. */
  readonly gpus: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Labels of all containers with GPUs that have not ended. */
  readonly taken: (signal: AbortSignal) => Promise<readonly Readonly<Record<string, string>>[]>;
}

/**
 * Assigns GPUs to containers, because the engine itself would assign the first ones to all of them. The containers' labels record the
 * assignments, so there is no other state.
 */
export class GpuAllocator {
  readonly #options: GpuAllocatorOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: GpuAllocatorOptions) {
    this.#options = options;
  }

  /**
   * Chooses free GPUs and creates their container, one call at a time.
   *
   * @param labels - labels of that container
   */
  async withGpus<T>(
    { count, labels }: { readonly count: number; readonly labels: Readonly<Record<string, string>> },
    make: (gpus: readonly string[]) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    if (count === 0) return make([]);
    const mine = this.#last.then(async () => make(await this.#choose(count, labels, signal)));
    this.#last = mine.catch(() => {});
    return mine;
  }

  async #choose(count: number, own: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const gpus = await this.#options.gpus(signal);
    if (gpus.length < count) throw new NotFoundError(`take ${count} GPUs: the node has ${gpus.length}`);
    // An earlier try of the same container, whose reply was lost, does not count.
    const others = (await this.#options.taken(signal)).filter((labels) => !isSameObject(labels, own));
    const taken = new Set(others.flatMap((labels) => (labels[dockerLabels.gpus] ?? "").split(",")));
    const free = gpus.filter((gpu) => !taken.has(gpu));
    if (free.length < count) throw new ConflictError(`take ${count} GPUs: ${free.length} of ${gpus.length} are free`);
    return free.slice(0, count);
  }
}
