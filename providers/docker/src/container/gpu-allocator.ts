import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { ConflictError, NotFoundError } from "@virtual-kubelet/errdefs";
import { parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import { dockerLabels, isSameObject } from "../engine/object-names.ts";

/** The extended resource of GPUs that are handed out one by one. */
export const gpuResource = "nvidia.com/gpu";

/** How many units of an extended resource a container asks for. */
export function unitsOf({ resources }: DeepReadonly<Container>, resource: string): number {
  const quantity = resources?.limits?.[resource] ?? resources?.requests?.[resource];
  return quantity === undefined ? 0 : Number(wholeUnits(parseQuantity(quantity)));
}

/** Devices of the host that a container's resources stand for. */
export function devicesOf(
  container: DeepReadonly<Container>,
  devices: Readonly<Record<string, { readonly paths: readonly string[] }>>,
): string[] {
  const asked = Object.entries(devices).filter(([resource]) => unitsOf(container, resource) > 0);
  return [...new Set(asked.flatMap(([, { paths }]) => paths))];
}

/** What {@link GpuAllocator} needs. */
export interface GpuAllocatorOptions {
  /** Ids of the node's GPUs; asked each time, for they may change. */
  readonly gpus: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Labels of all containers at the engine that have not ended, and have GPUs. */
  readonly taken: (signal: AbortSignal) => Promise<readonly Readonly<Record<string, string>>[]>;
}

/**
 * Hands out GPUs one by one: asked for a number, the engine would give everybody the first ones. Which are taken stands in
 * the containers' labels, so nothing has to be kept.
 */
export class GpuAllocator {
  readonly #options: GpuAllocatorOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: GpuAllocatorOptions) {
    this.#options = options;
  }

  /**
   * Chooses free GPUs and makes the container that has them, before anybody else chooses.
   *
   * @param labels - of that container
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
    // What an earlier try made, whose answer was lost, does not take from itself.
    const others = (await this.#options.taken(signal)).filter((labels) => !isSameObject(labels, own));
    const taken = new Set(others.flatMap((labels) => (labels[dockerLabels.gpus] ?? "").split(",")));
    const free = gpus.filter((gpu) => !taken.has(gpu));
    if (free.length < count) throw new ConflictError(`take ${count} GPUs: ${free.length} of ${gpus.length} are free`);
    return free.slice(0, count);
  }
}
