import type { Clock, Container, DeepReadonly, Logger, Pod } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { ensureImage, ImageError } from "./ensure-image.ts";
import { runHook } from "./run-hook.ts";
import { instanceOf } from "../pod/container-life.ts";
import type { PodEffect } from "../pod/pod-effect.ts";
import type { PodEvent } from "../pod/pod-event.ts";
import type { PlannedContainer } from "../pod/pod-plan.ts";
import type { PodState } from "../pod/pod-state.ts";
import { lostTermination, toTermination } from "../pod/termination.ts";
import type { ContainerRuntime, RegistryCredentials } from "../runtime/container-runtime.ts";
import { labelNames } from "../runtime/labels.ts";
import type { ContainerSpec, ResourceLimits, SandboxSpec } from "../runtime/runtime-spec.ts";

/** Turns a pod's spec into what a runtime takes. What it throws leaves the pod waiting, and is tried again. */
export interface PodPreparation {
  /** @param attempt - counts the pod's sandboxes */
  sandbox(state: PodState, attempt: number, signal: AbortSignal): Promise<SandboxSpec>;
  /** Environment, files and all else of one start of a container. */
  container(start: ContainerStart, signal: AbortSignal): Promise<ContainerSpec>;
  /** What a container of the pod may use, as in its {@link ContainerSpec}. */
  limits(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): ResourceLimits;
  /** Credentials for the registry of a pod's image, the most fitting first. */
  credentials(pod: DeepReadonly<Pod>, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]>;
}

/** One start of a container. */
export interface ContainerStart {
  readonly state: PodState;
  readonly planned: PlannedContainer;
  readonly attempt: number;
  /** By content. */
  readonly imageId: string;
}

/** What {@link EffectRunner} needs. */
export interface EffectRunnerOptions {
  readonly runtime: ContainerRuntime;
  readonly prepare: PodPreparation;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends everything. */
  readonly signal: AbortSignal;
  send(event: PodEvent): void;
}

type EffectOf<Kind extends PodEffect["kind"]> = Extract<PodEffect, { readonly kind: Kind }>;
type Runnable = Exclude<PodEffect, { readonly kind: "event" }>;

/** Carries effects out on a runtime, and answers each with an event, whatever the runtime does. */
export class EffectRunner {
  readonly #options: EffectRunnerOptions;
  /** What is under way and can be given up, by container. */
  readonly #pulls = new Map<string, AbortController>();
  readonly #hooks = new Map<string, AbortController>();
  readonly #stops = new Map<string, AbortController>();

  constructor(options: EffectRunnerOptions) {
    this.#options = options;
  }

  /** Begins an effect; its answer comes by `send`. */
  start(effect: Runnable, state: PodState): void {
    void this.#carryOut(effect, state).catch((error: unknown) => {
      if (!this.#options.signal.aborted) this.#options.logger.error({ effect: effect.kind, err: error }, "an effect was not answered");
    });
  }

  /** Gives up pulls and hooks that the pod does not wait for any more. */
  dropUnwanted(state: PodState): void {
    const isWanted = (name: string, kinds: readonly string[]): boolean => kinds.includes(state.containers.get(name)?.life.kind ?? "");
    for (const [name, abort] of this.#pulls) if (!isWanted(name, ["pulling"])) abort.abort(new Error("the image is not wanted any more"));
    for (const [name, abort] of this.#hooks) {
      if (!isWanted(name, ["postStart", "preStop"])) abort.abort(new Error("the hook is not waited for any more"));
    }
  }

  async #carryOut(effect: Runnable, state: PodState): Promise<void> {
    const { runtime, signal, send, logger } = this.#options;
    switch (effect.kind) {
      case "createSandbox":
        return this.#createSandbox(effect, state);
      case "stopSandbox":
        return runtime
          .stopSandbox(effect.sandboxId, signal)
          .then(
            () => send({ kind: "sandboxStopped", sandboxId: effect.sandboxId }),
            this.#failed({ kind: "sandboxStopFailed", sandboxId: effect.sandboxId }),
          );
      case "removeAll":
        return this.#removeAll(state).then(() => send({ kind: "removed" }), this.#failed({ kind: "removeFailed" }));
      case "ensureImage":
        return this.#ensureImage(effect, state);
      case "startContainer":
        return this.#startContainer(effect, state);
      case "stopContainer":
        return this.#stopContainer(effect, state);
      case "removeContainer":
        return runtime
          .killContainer(effect.id, signal)
          .then(() => runtime.removeContainer(effect.id, signal))
          .catch((error: unknown) => logger.warn({ err: error }, "a container nobody waits for was not removed"));
      case "runHook":
        return this.#runHook(effect, state);
      default:
        effect satisfies never;
        return undefined;
    }
  }

  /** Answers a failure, unless all is ending. */
  #failed(event: PodEvent): (error: unknown) => void {
    return (error) => {
      if (this.#options.signal.aborted) return;
      this.#options.logger.warn({ effect: event.kind, err: error }, "the runtime failed");
      this.#options.send(event);
    };
  }

  async #createSandbox({ attempt }: EffectOf<"createSandbox">, state: PodState): Promise<void> {
    const { runtime, prepare, signal, send } = this.#options;
    try {
      const { id, ips } = await runtime.createSandbox(await prepare.sandbox(state, attempt, signal), signal);
      send({ kind: "sandboxCreated", attempt, sandboxId: id, ips });
    } catch (error) {
      this.#failed({ kind: "sandboxFailed", attempt, message: messageOf(error) })(error);
    }
  }

  async #removeAll({ plan }: PodState): Promise<void> {
    const { runtime, signal } = this.#options;
    const { sandboxes } = await runtime.list({ [labelNames.podUid]: plan.pod.metadata?.uid ?? "" }, signal);
    await Promise.all(sandboxes.map(({ id }) => runtime.removeSandbox(id, signal)));
  }

  async #ensureImage({ container, specHash }: EffectOf<"ensureImage">, state: PodState): Promise<void> {
    const { runtime, prepare, send } = this.#options;
    const planned = plannedOf(state, container);
    const { signal, end } = this.#open(this.#pulls, container);
    try {
      const credentials = (image: string, inner: AbortSignal): Promise<readonly RegistryCredentials[]> =>
        prepare.credentials(state.plan.pod, image, inner);
      const { id } = await ensureImage(planned.container, { runtime, credentials }, signal);
      send({ kind: "imageReady", container, specHash, image: { name: planned.container.image ?? "", id } });
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof ImageError ? error.reason : "ErrImagePull";
      send({ kind: "imageFailed", container, specHash, reason, message: messageOf(error) });
    } finally {
      end();
    }
  }

  async #startContainer(effect: EffectOf<"startContainer">, state: PodState): Promise<void> {
    const { runtime, prepare, signal, send, clock } = this.#options;
    const { container, attempt, sandboxId } = effect;
    let reason: EffectFailure = "CreateContainerConfigError";
    let id: string | undefined;
    try {
      const imageId = state.containers.get(container)?.image?.id ?? "";
      const spec = await prepare.container({ state, planned: plannedOf(state, container), attempt, imageId }, signal);
      reason = "CreateContainerError";
      id = await runtime.createContainer(sandboxId, spec, signal);
      reason = "RunContainerError";
      await runtime.startContainer(id, signal);
    } catch (error) {
      return this.#failed({ kind: "startFailed", container, attempt, id, reason, message: messageOf(error) })(error);
    }
    const found = await runtime.inspectContainer(id, signal).catch(() => undefined);
    const startedAtMs = (found && "startedAtMs" in found.state ? found.state.startedAtMs : undefined) ?? clock.now();
    send({ kind: "started", container, attempt, id, startedAtMs });
    // It may have ended before anybody waited for it.
    if (found?.state.kind === "exited") send({ kind: "exited", container, id, termination: toTermination(found.state, id) });
  }

  async #stopContainer({ container, id, graceMs }: EffectOf<"stopContainer">, state: PodState): Promise<void> {
    const { runtime, send, clock } = this.#options;
    const life = state.containers.get(container)?.life;
    const instance = (life && instanceOf(life)) ?? { id, startedAtMs: clock.now() };
    // A later stop has less grace and takes the place of the one before.
    this.#stops.get(container)?.abort(new Error("a stop with less grace has come"));
    const { signal, end } = this.#open(this.#stops, container);
    try {
      await runtime.stopContainer(id, { graceMs, stopSignal: stopSignalOf(plannedOf(state, container)) }, signal);
      const found = await runtime.inspectContainer(id, signal).catch(() => undefined);
      const termination = found?.state.kind === "exited" ? toTermination(found.state, id) : lostTermination(instance, clock.now());
      send({ kind: "exited", container, id, termination });
    } catch (error) {
      if (!signal.aborted) this.#failed({ kind: "stopFailed", container, id })(error);
    } finally {
      end();
    }
  }

  async #runHook({ container, id, hook, timeoutMs }: EffectOf<"runHook">, state: PodState): Promise<void> {
    const { runtime, clock, send } = this.#options;
    const planned = plannedOf(state, container);
    const spec = planned.container.lifecycle?.[hook];
    const { signal, end, abort } = this.#open(this.#hooks, container);
    using _timer = timeoutMs === undefined ? undefined : clock.setTimer(timeoutMs, () => abort(new Error(`no end within ${timeoutMs} ms`)));
    const podIP = state.stage.kind === "up" ? state.stage.ips[0] : undefined;
    try {
      if (spec) await runHook(spec, { runtime, id, container: planned.container, podIP, clock }, signal);
      send({ kind: "hookEnded", container, id, hook });
    } catch (error) {
      if (!this.#options.signal.aborted) send({ kind: "hookEnded", container, id, hook, error: messageOf(error) });
    } finally {
      end();
    }
  }

  #open(
    running: Map<string, AbortController>,
    container: string,
  ): { signal: AbortSignal; abort: (reason: Error) => void; end: () => void } {
    const controller = new AbortController();
    running.set(container, controller);
    return {
      signal: AbortSignal.any([this.#options.signal, controller.signal]),
      abort: (reason) => controller.abort(reason),
      end: () => void (running.get(container) === controller && running.delete(container)),
    };
  }
}

type EffectFailure = "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError";

function plannedOf({ plan }: PodState, container: string): PlannedContainer {
  const found = plan.containers.find(({ name }) => name === container);
  if (!found) throw new Error(`find container ${container}: it is not in the pod's spec`);
  return found;
}

function stopSignalOf({ container }: PlannedContainer): string | undefined {
  return container.lifecycle?.stopSignal;
}
