import { waitingReasonOf, type Owner, type PodRef } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { PodCgroupKeeper } from "./pod-cgroup-keeper.ts";
import type { PodStorage } from "./pod-storage.ts";
import type { PodPreparation } from "./preparation.ts";
import type { PodEffect } from "../pod/pod-effect.ts";
import type { PodEvent } from "../pod/pod-event.ts";
import type { PodState } from "../pod/pod-state.ts";
import type { ContainerRuntime, RuntimeInventory } from "../runtime/container-runtime.ts";
import { labelNames, ownerLabels, podLabels, tryContainerIdentity } from "../runtime/labels.ts";

export interface SandboxEffectsOptions {
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly runtime: ContainerRuntime;
  readonly prepare: PodPreparation;
  readonly storage?: PodStorage | undefined;
  readonly cgroups?: PodCgroupKeeper | undefined;
  /** Ends all calls. */
  readonly signal: AbortSignal;
  send(event: PodEvent): void;
  /** Answers with a failure. */
  failed(event: PodEvent, error: unknown): void;
}

type EffectOf<Kind extends PodEffect["kind"]> = Extract<PodEffect, { readonly kind: Kind }>;

/** Performs the effects on a pod's sandbox and on the pod's remains. */
export class SandboxEffects {
  readonly #options: SandboxEffectsOptions;

  constructor(options: SandboxEffectsOptions) {
    this.#options = options;
  }

  /** Creates a sandbox, after the pod's volumes. */
  async create({ attempt }: EffectOf<"createSandbox">, state: PodState): Promise<void> {
    const { runtime, prepare, storage, cgroups, signal, send, ref, owner } = this.#options;
    let reason: "FailedMount" | "FailedCreatePodSandBox" | undefined = "FailedMount";
    try {
      await storage?.prepare(state.desired.pod, signal);
      reason = "FailedCreatePodSandBox";
      const spec = await prepare.sandbox(state, attempt, signal);
      const begun = state.deadSandboxes.length > 0 ? await this.#endAllBefore(state) : undefined;
      const labels = { ...spec.labels, ...podLabels(ref, owner, attempt) };
      const cgroupParent = (await cgroups?.prepare(state.desired.pod, signal)) ?? spec.cgroupParent;
      const { id, ips } = await runtime.createSandbox({ ...spec, labels, ...(cgroupParent !== undefined && { cgroupParent }) }, signal);
      send({ kind: "sandboxCreated", attempt, sandboxId: id, ips, begun });
    } catch (error) {
      // The resolver of the volume has recorded the event.
      if (waitingReasonOf(error) !== undefined) reason = undefined;
      this.#options.failed({ kind: "sandboxFailed", attempt, message: messageOf(error), reason }, error);
    }
  }

  /**
   * Stops processes that may still run in earlier sandboxes, because they must not run beside a new start, and removes containers that were
   * only created there, because they block the same attempt.
   *
   * @returns the newest attempt of each container that has started
   */
  async #endAllBefore({ deadSandboxes }: PodState): Promise<ReadonlyMap<string, number>> {
    const { runtime, signal } = this.#options;
    await Promise.all(deadSandboxes.map((sandboxId) => runtime.stopSandbox(sandboxId, signal)));
    const { containers } = await this.#list();
    const running = containers.filter(({ state }) => state.kind === "running");
    await Promise.all(running.map(({ id }) => runtime.killContainer(id, signal)));
    const unbegun = containers.filter(({ state }) => state.kind === "created");
    await Promise.all(unbegun.map(({ id }) => runtime.removeContainer(id, signal)));
    const begun = new Map<string, number>();
    for (const { labels, state } of containers) {
      const identity = tryContainerIdentity(labels);
      if (identity && state.kind !== "created")
        begun.set(identity.container, Math.max(identity.attempt, begun.get(identity.container) ?? -1));
    }
    return begun;
  }

  #list(): Promise<RuntimeInventory> {
    const { runtime, ref, owner, signal } = this.#options;
    return runtime.list({ ...ownerLabels(owner), [labelNames.podUid]: ref.uid }, signal);
  }

  /** Stops a sandbox with its containers. */
  async stop({ sandboxId }: EffectOf<"stopSandbox">): Promise<void> {
    const { runtime, signal, send } = this.#options;
    try {
      await runtime.stopSandbox(sandboxId, signal);
      send({ kind: "sandboxStopped", sandboxId });
    } catch (error) {
      this.#options.failed({ kind: "sandboxStopFailed", sandboxId }, error);
    }
  }

  /** Removes everything that is left of the pod. */
  async removeAll(): Promise<void> {
    const { runtime, storage, cgroups, ref, signal, send } = this.#options;
    try {
      const { sandboxes, containers } = await this.#list();
      await Promise.all(sandboxes.map(({ id }) => runtime.removeSandbox(id, signal)));
      const loose = containers.filter(({ sandboxId }) => !sandboxes.some(({ id }) => id === sandboxId));
      await Promise.all(loose.map(({ id }) => this.removeContainer(id)));
      await Promise.all([storage?.release(ref, signal), cgroups?.release(ref, signal)]);
      send({ kind: "removed" });
    } catch (error) {
      this.#options.failed({ kind: "removeFailed" }, error);
    }
  }

  /** Removes a container, running or not. @throws as the runtime */
  async removeContainer(id: string): Promise<void> {
    const { runtime, signal } = this.#options;
    await runtime.killContainer(id, signal);
    await runtime.removeContainer(id, signal);
  }
}
