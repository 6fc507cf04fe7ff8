import type { Clock, Logger, PodRef } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { readEnd } from "./container-end.ts";
import { leftovers } from "./leftovers.ts";
import type { PodStorage } from "./pod-storage.ts";
import { instanceOf, type RunningInstance } from "../pod/container-life.ts";
import type { PodEffect } from "../pod/pod-effect.ts";
import type { PodEvent } from "../pod/pod-event.ts";
import type { PodState } from "../pod/pod-state.ts";
import { lostTermination } from "../pod/termination.ts";
import type { ContainerRuntime, RuntimeContainerState, RuntimeInventory } from "../runtime/container-runtime.ts";

export interface PodObserverOptions {
  readonly ref: PodRef;
  readonly runtime: ContainerRuntime;
  readonly storage?: PodStorage | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The pod's current state. */
  state(): PodState | undefined;
  send(event: PodEvent): void;
}

/** A container of the pod that runs, according to the state. */
interface Watched {
  readonly container: string;
  readonly attempt: number;
  readonly instance: RunningInstance;
}

/**
 * Inspects a pod's objects at the runtime, and reports what has ended. An object that is missing in a list is inspected, because the list
 * may be old: only the runtime's NotFound counts.
 */
export class PodObserver {
  readonly #options: PodObserverOptions;

  constructor(options: PodObserverOptions) {
    this.#options = options;
  }

  /** Whether the pod runs on the container or sandbox. */
  isWatched(id: string): boolean {
    const state = this.#options.state();
    return state !== undefined && (sandboxOf(state) === id || this.#watched().some(({ instance }) => instance.id === id));
  }

  /** Inspects a container; ignores ids of other pods. @throws if the runtime does not answer */
  async lookAtContainer(id: string, signal: AbortSignal): Promise<void> {
    const watched = this.#watched().find(({ instance }) => instance.id === id);
    if (!watched) return;
    try {
      const { state } = await this.#options.runtime.inspectContainer(id, signal);
      await this.#note(watched, state, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const termination = lostTermination(watched.instance, this.#options.clock.now());
      this.#options.send({ kind: "exited", container: watched.container, id, termination });
    }
  }

  /** Inspects the sandbox, if it is the pod's. @throws if the runtime does not answer */
  async lookAtSandbox(id: string, signal: AbortSignal): Promise<void> {
    const { runtime, send, state } = this.#options;
    const held = state();
    if (!held || sandboxOf(held) !== id) return;
    try {
      const { isReady } = await runtime.inspectSandbox(id, signal);
      if (isReady) return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    send({ kind: "sandboxStopped", sandboxId: id });
  }

  /**
   * Compares the pod's state with a list of the pod's objects.
   *
   * @returns effects that remove leftovers of earlier attempts
   */
  async compare(inventory: RuntimeInventory, signal: AbortSignal): Promise<readonly PodEffect[]> {
    const before = this.#options.state();
    if (!before) return [];
    const sandboxId = sandboxOf(before);
    const isUp = inventory.sandboxes.some(({ id, isReady }) => id === sandboxId && isReady);
    // Containers first: the sandbox's end hides how they ended.
    await Promise.all(this.#watched().map((watched) => this.#compareContainer(watched, inventory, signal)));
    if (sandboxId !== undefined && !isUp) await this.lookAtSandbox(sandboxId, signal);
    const state = this.#options.state();
    return state ? leftovers(state, inventory) : [];
  }

  async #compareContainer(watched: Watched, { containers }: RuntimeInventory, signal: AbortSignal): Promise<void> {
    const { id } = watched.instance;
    const listed = containers.find((container) => container.id === id);
    return listed ? this.#note(watched, listed.state, signal) : this.lookAtContainer(id, signal);
  }

  async #note({ container, attempt, instance: { id } }: Watched, found: RuntimeContainerState, signal: AbortSignal): Promise<void> {
    if (found.kind !== "exited") return;
    const { ref, runtime, storage, clock, logger, state, send } = this.#options;
    const desired = state()?.desired.containers.find(({ name }) => name === container);
    const termination = await readEnd({ ref, desired, container, attempt, id }, found, { runtime, storage, clock, logger }, signal);
    send({ kind: "exited", container, id, termination });
  }

  #watched(): readonly Watched[] {
    return [...(this.#options.state()?.containers ?? [])].flatMap(([container, { life, attempt }]) => {
      const instance = instanceOf(life);
      return instance ? [{ container, attempt, instance }] : [];
    });
  }
}

/** The sandbox that the pod runs in, or that is being stopped. */
function sandboxOf({ stage }: PodState): string | undefined {
  return stage.kind === "up" ? stage.sandboxId : undefined;
}
