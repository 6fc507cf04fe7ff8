import type { Clock, DeepReadonly, Logger, Owner, Pod, PodRef, ProviderPodStatus } from "@virtual-kubelet/core";
import { EffectRunner } from "./effect-runner.ts";
import type { PodStorage } from "./pod-storage.ts";
import { PodObserver } from "./pod-observer.ts";
import type { PodPreparation } from "./preparation.ts";
import type { PodCgroupKeeper } from "./pod-cgroup-keeper.ts";
import type { Instant } from "../pod/instant.ts";
import type { PodNotice } from "../pod/pod-effect.ts";
import type { PodEvent } from "../pod/pod-event.ts";
import { podReport } from "../pod/pod-report.ts";
import type { PodState } from "../pod/pod-state.ts";
import { podStep } from "../pod/pod-step.ts";
import { nextDueMs } from "../pod/next-due.ts";
import type { CountedProbe } from "../probe/probe-counts.ts";
import { probeOnce } from "../probe/probe-action.ts";
import { attemptMessage } from "../probe/probe-words.ts";
import { Prober, type WantedProbe } from "../probe/prober.ts";
import { wantedProbes } from "../probe/wanted-probes.ts";
import type { RuntimePresence } from "../provider/runtime-presence.ts";
import type { ContainerRuntime, RuntimeEvent, RuntimeInventory } from "../runtime/container-runtime.ts";
import type { PodRuntimeReason } from "../reasons.ts";

export interface PodWorkerOptions {
  readonly ref: PodRef;
  readonly owner: Owner;
  /** Initial state: from `newPod`, or from `adoptPod` if an earlier program may have started the pod. */
  readonly state: PodState;
  /** Ids of containers that an earlier program may have been about to start. Default: none. */
  readonly mayHaveBegun?: Iterable<string> | undefined;
  readonly runtime: ContainerRuntime;
  /** Default: the runtime always answers. */
  readonly presence?: RuntimePresence | undefined;
  readonly prepare: PodPreparation;
  readonly storage?: PodStorage | undefined;
  readonly cgroups?: PodCgroupKeeper | undefined;
  /** Address of pods on the node's network. */
  readonly hostIP?: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each status that differs from the one before. Must return at once. */
  onReport(status: ProviderPodStatus): void;
  onNotice(notice: PodNotice): void;
  onProbe?(probe: CountedProbe): void;
}

/** Runs one pod on a runtime, from its first container (or from where an earlier program left it) to its end. */
export class PodWorker {
  readonly #options: PodWorkerOptions;
  readonly #observer: PodObserver;
  readonly #inbox: PodEvent[] = [];
  readonly #gone = Promise.withResolvers<void>();
  #state: PodState;
  #report: ProviderPodStatus;
  #reportText = "";
  #timer: Disposable | undefined;
  #runner: EffectRunner | undefined;
  #prober: Prober | undefined;
  #isStepping = false;

  constructor(options: PodWorkerOptions) {
    this.#options = options;
    this.#state = options.state;
    this.#report = podReport(options.state, options.runtime.name);
    this.#observer = new PodObserver({ ...options, state: () => this.#state, send: (event) => this.send(event) });
  }

  get state(): PodState {
    return this.#state;
  }

  /** The pod's current status. */
  get report(): ProviderPodStatus {
    return this.#report;
  }

  /**
   * Runs the pod; resolves when the runtime holds nothing of it any more. After an abort its containers continue to run.
   *
   * @throws `signal.reason` when aborted
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const stop = new AbortController();
    const inner = AbortSignal.any([signal, stop.signal]);
    using prober = new Prober({
      clock,
      logger,
      watchPresence: () => this.#options.presence?.watch() ?? (() => false),
      pingRuntime: async (pingSignal) => this.#options.runtime.ping?.(pingSignal),
      attempt: (probe, attemptSignal) => this.#probe(probe, attemptSignal),
      onAttempt: ({ container, kind }, outcome, seconds) => this.#options.onProbe?.({ container, kind, outcome, seconds }),
      onResult: ({ container, id, kind }, isSuccess) => this.send({ kind: "probed", container, id, probe: kind, isSuccess }),
      onFailure: (probe, output) => this.#noteProbe(probe, "Unhealthy", `failed: ${output}`),
      onWarning: (probe, output) => this.#noteProbe(probe, "ProbeWarning", `warning: ${output}`),
    });
    const onAbort = (): void => this.#gone.reject(signal.reason);
    try {
      signal.throwIfAborted();
      signal.addEventListener("abort", onAbort, { once: true });
      this.#prober = prober;
      this.#runner = new EffectRunner(
        {
          ...this.#options,
          observer: this.#observer,
          signal: inner,
          podIP: (state) => this.#podIP(state),
          send: (event) => this.send(event),
          tell: (notice) => this.#options.onNotice(notice),
        },
        this.#options.mayHaveBegun ?? [],
      );
      this.send({ kind: "tick" });
      await this.#gone.promise;
    } finally {
      this.#runner = undefined;
      signal.removeEventListener("abort", onAbort);
      this.#timer?.[Symbol.dispose]();
      stop.abort(new Error("the pod's worker has ended"));
    }
  }

  /** Processes an event. Before {@link run} and after its end, events change nothing. */
  send(event: PodEvent): void {
    this.#inbox.push(event);
    if (this.#isStepping || !this.#runner) return;
    this.#isStepping = true;
    try {
      for (let next = this.#inbox.shift(); next; next = this.#inbox.shift()) this.#step(next, this.#runner);
    } finally {
      this.#isStepping = false;
    }
  }

  /** Whether the pod runs on the container or sandbox with that id. */
  isWatched(id: string): boolean {
    return this.#observer.isWatched(id);
  }

  /** Processes an event of the runtime. Never rejects: if the object cannot be inspected now, {@link compare} finds the change later. */
  async runtimeEvent(event: Extract<RuntimeEvent, { readonly id: string }>, signal: AbortSignal): Promise<void> {
    try {
      if (event.kind === "sandboxStopped") await this.#observer.lookAtSandbox(event.id, signal);
      else await this.#observer.lookAtContainer(event.id, signal);
    } catch (error) {
      if (!signal.aborted) this.#options.logger.warn({ err: error }, "the runtime could not be asked about a container");
    }
  }

  /** Compares the state with a list of the pod's objects at the runtime. Never rejects. */
  async compare(inventory: RuntimeInventory, signal: AbortSignal): Promise<void> {
    try {
      const effects = await this.#observer.compare(inventory, signal);
      for (const effect of effects) if (effect.kind !== "event") this.#runner?.start(effect, this.#state);
    } catch (error) {
      if (!signal.aborted) this.#options.logger.warn({ err: error }, "the runtime could not be asked about a pod");
    }
  }

  #step(event: PodEvent, runner: EffectRunner): void {
    const { state, effects } = podStep(this.#state, event, this.#now());
    this.#state = state;
    for (const effect of effects) {
      if (effect.kind === "event") this.#options.onNotice(effect);
      else runner.start(effect, state);
    }
    runner.dropUnwanted(state);
    this.#prober?.want(wantedProbes(state));
    this.#setTimer(state);
    this.#tell(state);
    if (state.stage.kind === "gone") this.#gone.resolve();
  }

  #setTimer(state: PodState): void {
    const { clock } = this.#options;
    this.#timer?.[Symbol.dispose]();
    const dueMs = nextDueMs(state);
    this.#timer =
      dueMs === undefined ? undefined : clock.setTimer(Math.max(0, dueMs - clock.monotonic()), () => this.send({ kind: "tick" }));
  }

  #tell(state: PodState): void {
    const report = podReport(state, this.#options.runtime.name);
    const text = JSON.stringify(report);
    if (text === this.#reportText) return;
    this.#reportText = text;
    this.#report = report;
    this.#options.onReport(report);
  }

  #probe(probe: WantedProbe, signal: AbortSignal): ReturnType<typeof probeOnce> {
    const container = this.#state.desired.containers.find(({ name }) => name === probe.container)?.container;
    if (!container) return Promise.reject(new Error(`probe container ${probe.container}: it is not in the pod`));
    const target = { runtime: this.#options.runtime, id: probe.id, container, podIP: this.#podIP(this.#state) };
    return probeOnce(probe.spec, target, signal);
  }

  #podIP({ stage, desired: { pod } }: PodState): string | undefined {
    const own = stage.kind === "up" ? stage.ips[0] : undefined;
    return own ?? (isOnHostNetwork(pod) ? this.#options.hostIP : undefined);
  }

  #noteProbe({ container, kind }: WantedProbe, reason: PodRuntimeReason, what: string): void {
    this.#options.onNotice({ kind: "event", type: "Warning", reason, message: attemptMessage(kind, what), container });
  }

  #now(): Instant {
    const { clock } = this.#options;
    return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  }
}

function isOnHostNetwork({ spec }: DeepReadonly<Pod>): boolean {
  return spec?.hostNetwork === true;
}
