import type { Clock, Logger, Owner, PodRef } from "@virtual-kubelet/core";
import { isUnsupported, messageOf } from "@virtual-kubelet/errdefs";
import { ImageError } from "./ensure-image.ts";
import { ensureImages, VolumeImageError } from "./ensure-images.ts";
import type { PodObserver } from "./pod-observer.ts";
import type { PodStorage } from "./pod-storage.ts";
import type { PodCgroupKeeper } from "./pod-cgroup-keeper.ts";
import type { PodPreparation } from "./preparation.ts";
import { runHook } from "./run-hook.ts";
import { SandboxEffects } from "./sandbox-effects.ts";
import { startContainer } from "./start-container.ts";
import { CallsInProgress } from "./calls-in-progress.ts";
import type { PodEffect, PodNotice } from "../pod/pod-effect.ts";
import type { PodEvent } from "../pod/pod-event.ts";
import type { DesiredContainer } from "../pod/desired-pod.ts";
import type { PodState } from "../pod/pod-state.ts";
import { toTermination } from "../pod/termination.ts";
import type { RuntimePresence } from "../provider/runtime-presence.ts";
import type { ContainerRuntime, RuntimeExit } from "../runtime/container-runtime.ts";
import { containerLabels, originLabels } from "../runtime/labels.ts";
import type { ContainerSpec } from "../runtime/runtime-spec.ts";

export interface EffectRunnerOptions {
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly runtime: ContainerRuntime;
  readonly presence?: RuntimePresence | undefined;
  readonly prepare: PodPreparation;
  readonly storage?: PodStorage | undefined;
  readonly cgroups?: PodCgroupKeeper | undefined;
  readonly observer: PodObserver;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends all calls. */
  readonly signal: AbortSignal;
  /** Address for probes and hooks of the pod. */
  podIP(state: PodState): string | undefined;
  send(event: PodEvent): void;
  tell(notice: PodNotice): void;
}

type EffectOf<Kind extends PodEffect["kind"]> = Extract<PodEffect, { readonly kind: Kind }>;
type Runnable = Exclude<PodEffect, { readonly kind: "event" }>;

/** Performs effects on a runtime. Each is answered with an event, also after a failure of the runtime. */
export class EffectRunner {
  readonly #options: EffectRunnerOptions;
  readonly #sandboxes: SandboxEffects;
  /** By container name. */
  readonly #pulls: CallsInProgress;
  readonly #hooks: CallsInProgress;
  readonly #stops: CallsInProgress;
  /** The change of the pod's cgroup that is in progress. */
  #cgroup: Promise<void> | undefined;
  /** Ids of containers whose start may have reached the runtime without a reply. */
  readonly #mayHaveBegun: Set<string>;

  /** @param mayHaveBegun - ids of containers that an earlier program may have been about to start */
  constructor(options: EffectRunnerOptions, mayHaveBegun: Iterable<string>) {
    this.#options = options;
    this.#sandboxes = new SandboxEffects({ ...options, failed: (event, error) => this.#failed(event, error) });
    this.#pulls = new CallsInProgress(options.signal);
    this.#hooks = new CallsInProgress(options.signal);
    this.#stops = new CallsInProgress(options.signal);
    this.#mayHaveBegun = new Set(mayHaveBegun);
  }

  /** Starts an effect. The answer arrives by `send`. */
  start(effect: Runnable, state: PodState): void {
    void this.#carryOut(effect, state).catch((error: unknown) => {
      if (!this.#options.signal.aborted)
        this.#options.logger.error({ effect: effect.kind, err: error }, "an action on a pod ended without a result");
    });
  }

  /** Aborts pulls and hooks that the pod does not wait for any more. */
  dropUnwanted(state: PodState): void {
    const lifeOf = (name: string): string => state.containers.get(name)?.life.kind ?? "";
    this.#pulls.abortUnless((name) => lifeOf(name) === "pulling", new Error("the image is no longer needed"));
    const isHookWanted = (name: string): boolean => {
      const [hook = "", container = ""] = name.split(" ");
      const life = lifeOf(container);
      // Like a kubelet's, a preStop hook that exceeds the grace period runs until its container ends.
      return life === hook || (hook === "preStop" && life === "stopping");
    };
    this.#hooks.abortUnless(isHookWanted, new Error("the hook is no longer waited for"));
  }

  async #carryOut(effect: Runnable, state: PodState): Promise<void> {
    const { runtime, signal, logger } = this.#options;
    switch (effect.kind) {
      case "createSandbox":
        return this.#sandboxes.create(effect, state);
      case "stopSandbox":
        return this.#sandboxes.stop(effect);
      case "removeAll":
        return this.#sandboxes.removeAll();
      case "ensureImage":
        return this.#ensureImage(effect, state);
      case "startContainer":
        return this.#startContainer(effect, state);
      case "stopContainer":
        return this.#stopContainer(effect, state);
      case "growPod":
      case "fitPod":
        return this.#resizePod(effect, state);
      case "resizeContainer":
        return this.#resizeContainer(effect, state);
      case "removeContainer":
        return this.#sandboxes
          .removeContainer(effect.id)
          .catch((error: unknown) => logger.warn({ err: error }, "a container of an abandoned start could not be removed"));
      case "removeSandbox":
        return runtime
          .removeSandbox(effect.sandboxId, signal)
          .catch((error: unknown) => logger.warn({ err: error }, "an earlier sandbox could not be removed"));
      case "runHook":
        return this.#runHook(effect, state);
      default:
        effect satisfies never;
        return undefined;
    }
  }

  /** Answers with a failure, unless all calls are being ended. */
  #failed(event: PodEvent, error: unknown): void {
    if (this.#options.signal.aborted) return;
    this.#options.logger.warn({ effect: event.kind, err: error }, "the runtime failed");
    this.#options.send(event);
  }

  async #ensureImage({ container, specHash }: EffectOf<"ensureImage">, state: PodState): Promise<void> {
    const { runtime, presence, prepare, send, tell, clock } = this.#options;
    const desired = plannedOf(state, container);
    using pull = this.#pulls.begin(container);
    try {
      await presence?.untilBack(pull.signal);
      const { imageId, volumeImages } = await ensureImages(
        state.desired.pod,
        desired.container,
        { runtime, clock, tell, credentials: (image, inner) => prepare.credentials(state.desired.pod, image, inner) },
        pull.signal,
      );
      await this.#checkSandbox(container, state, pull.signal);
      const image = { name: desired.container.image ?? "", id: imageId };
      send({ kind: "imageReady", container, specHash, image, volumeImages });
    } catch (error) {
      if (pull.signal.aborted) return;
      const reason = error instanceof ImageError ? error.reason : "ErrImagePull";
      const volumeImage = error instanceof VolumeImageError ? error.image : undefined;
      send({ kind: "imageFailed", container, specHash, reason, message: messageOf(error), volumeImage });
    }
  }

  /** A container may have ended together with its sandbox before the sandbox's end was reported. It is not restarted in a dead sandbox. */
  async #checkSandbox(container: string, { stage, containers }: PodState, signal: AbortSignal): Promise<void> {
    const hasRun = containers.get(container)?.lastTermination !== undefined;
    // If the sandbox cannot be inspected, the start finds out.
    if (hasRun && stage.kind === "up") await this.#options.observer.lookAtSandbox(stage.sandboxId, signal).catch(() => undefined);
  }

  async #startContainer({ container, attempt, sandboxId }: EffectOf<"startContainer">, state: PodState): Promise<void> {
    const { runtime, signal } = this.#options;
    let reason: "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" = "CreateContainerConfigError";
    try {
      const spec = await this.#containerSpec(container, attempt, state);
      // With cgroups version 1 a container with more CPU than its pod does not start.
      await this.#cgroup;
      reason = "CreateContainerError";
      const id = await runtime.createContainer(sandboxId, spec, signal);
      this.#options.tell({ kind: "event", type: "Normal", reason: "Created", message: "Container created", container });
      reason = "RunContainerError";
      await this.#begin(id, { container, attempt });
    } catch (error) {
      this.#failed({ kind: "startFailed", container, attempt, reason, message: messageOf(error) }, error);
    }
  }

  async #containerSpec(container: string, attempt: number, state: PodState): Promise<ContainerSpec> {
    const { prepare, signal, ref, owner } = this.#options;
    const desired = plannedOf(state, container);
    const { image, volumeImages } = state.containers.get(container) ?? {};
    const spec = await prepare.container({ state, desired, attempt, imageId: image?.id ?? "", volumeImages }, signal);
    const identity = { container, attempt, specHash: desired.specHash };
    const labels = { ...spec.labels, ...containerLabels(ref, owner, identity), ...originLabels(desired.role, desired.container) };
    return { ...spec, labels };
  }

  async #begin(id: string, { container, attempt }: { readonly container: string; readonly attempt: number }): Promise<void> {
    const { runtime, signal, send, clock, observer } = this.#options;
    const outcome = await startContainer(id, { runtime, mayHaveBegun: this.#mayHaveBegun.has(id) }, signal);
    if (outcome.kind !== "begun") {
      const failure = { kind: "startFailed", container, attempt, reason: "RunContainerError", message: outcome.message } as const;
      if (outcome.kind === "refused") return send({ ...failure, id, exitCode: outcome.exitCode });
      this.#mayHaveBegun.add(id);
      return send(failure);
    }
    const { state: found, user } = outcome.container ?? {};
    const startedAtMs = (found && "startedAtMs" in found ? found.startedAtMs : undefined) ?? clock.now();
    send({ kind: "started", container, attempt, id, startedAtMs, user });
    // It may have ended before its end was watched for.
    if (found?.kind === "exited") await observer.lookAtContainer(id, signal).catch(() => send(endedEvent(container, id, found)));
  }

  async #stopContainer({ container, id, graceMs }: EffectOf<"stopContainer">, state: PodState): Promise<void> {
    const { runtime, observer } = this.#options;
    const stopSignal = plannedOf(state, container).container.lifecycle?.stopSignal;
    // A later stop has less grace, and replaces the earlier one.
    this.#stops.abort(container, new Error("replaced by a stop with less grace"));
    using stop = this.#stops.begin(container);
    try {
      await runtime.stopContainer(id, { graceMs, stopSignal }, stop.signal);
      await observer.lookAtContainer(id, stop.signal);
      if (observer.isWatched(id)) throw new Error(`stop container ${id}: the runtime reported success, but the container is still running`);
    } catch (error) {
      if (!stop.signal.aborted) this.#failed({ kind: "stopFailed", container, id }, error);
    }
  }

  async #resizePod({ kind, sandboxId }: EffectOf<"growPod" | "fitPod">, { desired: { pod } }: PodState): Promise<void> {
    const { cgroups, signal, send } = this.#options;
    const isGrowing = kind === "growPod";
    try {
      const change = isGrowing ? cgroups?.grow(pod, signal) : cgroups?.fit(pod, signal);
      this.#cgroup = change?.catch(() => {});
      await change;
      send({ kind: isGrowing ? "podGrown" : "podFitted", sandboxId });
    } catch (error) {
      this.#failed({ kind: "podFitFailed", sandboxId, message: messageOf(error) }, error);
    }
  }

  async #resizeContainer({ container, id }: EffectOf<"resizeContainer">, state: PodState): Promise<void> {
    const { runtime, prepare, signal, send } = this.#options;
    try {
      await runtime.resizeContainer(id, prepare.limits(state.desired.pod, plannedOf(state, container).container), signal);
      send({ kind: "resized", container, id });
    } catch (error) {
      this.#failed({ kind: "resizeFailed", container, id, message: messageOf(error), isRestartNeeded: isUnsupported(error) }, error);
    }
  }

  async #runHook({ container, id, hook }: EffectOf<"runHook">, state: PodState): Promise<void> {
    const { runtime, clock, send, podIP, logger, tell } = this.#options;
    const desired = plannedOf(state, container);
    const spec = desired.container.lifecycle?.[hook];
    using begun = this.#hooks.begin(`${hook} ${container}`);
    try {
      if (spec) await runHook(spec, { runtime, id, container: desired.container, podIP: podIP(state), clock, tell }, begun.signal);
      send({ kind: "hookEnded", container, id, hook });
    } catch (error) {
      if (this.#options.signal.aborted) return;
      logger.debug({ container, hook, err: error }, "a hook has failed");
      send({ kind: "hookEnded", container, id, hook, error: messageOf(error) });
    }
  }
}

function plannedOf({ desired }: PodState, container: string): DesiredContainer {
  const found = desired.containers.find(({ name }) => name === container);
  if (!found) throw new Error(`find container ${container}: it is not in the pod's spec`);
  return found;
}

function endedEvent(container: string, id: string, exit: RuntimeExit): PodEvent {
  return { kind: "exited", container, id, termination: toTermination(exit, id) };
}
