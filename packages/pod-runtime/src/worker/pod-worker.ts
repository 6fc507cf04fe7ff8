import type { Clock, DeepReadonly, Logger, Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { adoptPod } from "./adopt.ts";
import { EffectRunner, type PodPreparation } from "./effect-runner.ts";
import type { Instant } from "../pod/instant.ts";
import { instanceOf } from "../pod/container-life.ts";
import type { PodEffect } from "../pod/pod-effect.ts";
import type { PodEvent } from "../pod/pod-event.ts";
import { podReport } from "../pod/pod-report.ts";
import type { PodState } from "../pod/pod-state.ts";
import { podStep } from "../pod/pod-step.ts";
import { nextDueMs } from "../pod/settle.ts";
import { lostTermination, toTermination } from "../pod/termination.ts";
import { probeOnce } from "../probe/probe-action.ts";
import { Prober } from "../probe/prober.ts";
import { wantedProbes, type WantedProbe } from "../probe/wanted-probes.ts";
import type { ContainerRuntime, RuntimeEvent } from "../runtime/container-runtime.ts";
import { labelNames } from "../runtime/labels.ts";

/** How long after the runtime could not be asked it is asked again, in milliseconds. */
const askAgainMs = 1_000;

/** An event for people, on the pod. */
export type PodNotice = Extract<PodEffect, { readonly kind: "event" }>;

/** What {@link PodWorker} needs. */
export interface PodWorkerOptions {
  readonly pod: DeepReadonly<Pod>;
  readonly runtime: ContainerRuntime;
  readonly prepare: PodPreparation;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each report that differs from the one before, and returns at once. */
  onReport(status: ProviderPodStatus): void;
  onNotice(notice: PodNotice): void;
}

/** Runs one pod on a runtime, from its first container, or from where an earlier program left it, to its end. */
export class PodWorker {
  readonly #options: PodWorkerOptions;
  readonly #inbox: PodEvent[] = [];
  readonly #gone = Promise.withResolvers<void>();
  #state: PodState | undefined;
  #lastReport = "";
  #timer: Disposable | undefined;
  #runner: EffectRunner | undefined;
  #prober: Prober | undefined;
  #isStepping = false;
  #isOver = false;

  constructor(options: PodWorkerOptions) {
    this.#options = options;
  }

  /** The pod's state; `undefined` until the runtime was first asked what it holds. */
  get state(): PodState | undefined {
    return this.#state;
  }

  /**
   * Runs the pod; resolves when the runtime holds nothing of it any more. Containers go on when it is aborted.
   *
   * @throws `signal.reason` when aborted
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, runtime, prepare } = this.#options;
    const stop = new AbortController();
    const inner = AbortSignal.any([signal, stop.signal]);
    using prober = new Prober({
      clock,
      logger,
      attempt: (probe, attemptSignal) => this.#probe(probe, attemptSignal),
      onResult: ({ container, id, kind }, isSuccess) => this.send({ kind: "probed", container, id, probe: kind, isSuccess }),
      onFailure: (probe, output) => this.#noteFailure(probe, output),
    });
    const onAbort = (): void => this.#gone.reject(signal.reason);
    try {
      const adopted = await this.#adopt(inner);
      this.#prober = prober;
      this.#runner = new EffectRunner({ runtime, prepare, clock, logger, signal: inner, send: (event) => this.send(event) });
      this.#state = adopted;
      signal.addEventListener("abort", onAbort, { once: true });
      this.send({ kind: "tick" });
      await this.#gone.promise;
    } finally {
      this.#isOver = true;
      signal.removeEventListener("abort", onAbort);
      this.#timer?.[Symbol.dispose]();
      stop.abort(new Error("the pod's worker has ended"));
    }
  }

  /** Takes in what has happened, at any time. Before the runtime was asked it waits. */
  send(event: PodEvent): void {
    this.#inbox.push(event);
    if (this.#isStepping || !this.#state || this.#isOver) return;
    this.#isStepping = true;
    try {
      for (let next = this.#inbox.shift(); next; next = this.#inbox.shift()) this.#step(next);
    } finally {
      this.#isStepping = false;
    }
  }

  /** Takes in what happened at the runtime. Ids that are none of this pod's are ignored. Never rejects. */
  async runtimeEvent(event: RuntimeEvent, signal: AbortSignal): Promise<void> {
    const state = this.#state;
    if (!state) return;
    try {
      if (event.kind === "sandboxStopped") this.send({ kind: "sandboxStopped", sandboxId: event.id });
      else if (event.kind === "lost") await this.#lookAtAll(state, signal);
      else await this.#lookAt(event.id, signal);
    } catch (error) {
      if (!signal.aborted) this.#options.logger.warn({ err: error }, "the runtime could not be asked about a container");
    }
  }

  #step(event: PodEvent): void {
    if (!this.#state) return;
    const { state, effects } = podStep(this.#state, event, this.#now());
    this.#state = state;
    for (const effect of effects) {
      if (effect.kind === "event") this.#options.onNotice(effect);
      else this.#runner?.start(effect, state);
    }
    this.#runner?.dropUnwanted(state);
    this.#prober?.want(wantedProbes(state));
    this.#setTimer(state);
    this.#report(state);
    if (state.stage.kind === "gone") this.#gone.resolve();
  }

  #setTimer(state: PodState): void {
    const { clock } = this.#options;
    this.#timer?.[Symbol.dispose]();
    const dueMs = nextDueMs(state);
    this.#timer =
      dueMs === undefined ? undefined : clock.setTimer(Math.max(0, dueMs - clock.monotonic()), () => this.send({ kind: "tick" }));
  }

  #report(state: PodState): void {
    const report = podReport(state, this.#options.runtime.name);
    const text = JSON.stringify(report);
    if (text === this.#lastReport) return;
    this.#lastReport = text;
    this.#options.onReport(report);
  }

  /** Asks until the runtime answers. */
  async #adopt(signal: AbortSignal): Promise<PodState> {
    const { runtime, pod, clock, logger } = this.#options;
    for (;;) {
      try {
        const inventory = await runtime.list({ [labelNames.podUid]: pod.metadata?.uid ?? "" }, signal);
        return adoptPod(pod, inventory, this.#now());
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: error, delayMs: askAgainMs }, "the runtime could not be asked what it holds of a pod");
        await clock.sleep(askAgainMs, signal);
      }
    }
  }

  async #lookAtAll(state: PodState, signal: AbortSignal): Promise<void> {
    if (state.stage.kind === "up") {
      const { sandboxId } = state.stage;
      const isReady = await this.#options.runtime.inspectSandbox(sandboxId, signal).then(
        (sandbox) => sandbox.isReady,
        (error: unknown) => {
          if (isNotFound(error)) return false;
          throw error;
        },
      );
      if (!isReady) return this.send({ kind: "sandboxStopped", sandboxId });
    }
    const ids = [...state.containers.values()].flatMap(({ life }) => instanceOf(life)?.id ?? []);
    await Promise.all(ids.map((id) => this.#lookAt(id, signal)));
  }

  async #lookAt(id: string, signal: AbortSignal): Promise<void> {
    const found = [...(this.#state?.containers ?? [])].find(([, { life }]) => instanceOf(life)?.id === id);
    if (!found) return;
    const [container, { life }] = found;
    const instance = instanceOf(life);
    try {
      const { state } = await this.#options.runtime.inspectContainer(id, signal);
      if (state.kind === "exited") this.send({ kind: "exited", container, id, termination: toTermination(state, id) });
    } catch (error) {
      if (!isNotFound(error) || !instance) throw error;
      this.send({ kind: "exited", container, id, termination: lostTermination(instance, this.#options.clock.now()) });
    }
  }

  #probe(probe: WantedProbe, signal: AbortSignal): ReturnType<typeof probeOnce> {
    const state = this.#state;
    const container = state?.plan.containers.find(({ name }) => name === probe.container)?.container;
    if (!state || !container) return Promise.reject(new Error(`probe container ${probe.container}: it is not in the pod`));
    const podIP = state.stage.kind === "up" ? state.stage.ips[0] : undefined;
    return probeOnce(probe.spec, { runtime: this.#options.runtime, id: probe.id, container, podIP }, signal);
  }

  #noteFailure({ container, kind }: WantedProbe, output: string): void {
    const name = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    this.#options.onNotice({ kind: "event", type: "Warning", reason: "Unhealthy", message: `${name} probe failed: ${output}`, container });
  }

  #now(): Instant {
    const { clock } = this.#options;
    return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  }
}
