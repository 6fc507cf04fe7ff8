import type { Clock } from "@virtual-kubelet/clock";
import { podRef, type Container, type DeepReadonly, type Logger, type Pod, type PodEvent } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import type { BackoffRecord } from "../pod/container-life.ts";
import { backoffAfter, backOffMessage } from "../pod/restart-backoff.ts";
import type { ProbeCounts } from "./probe-counts.ts";
import { dueProbes, freshStanding, standingAfter, type ProbeStanding } from "./probe-standing.ts";
import { attemptMessage, killMessage } from "./probe-words.ts";
import { Prober, type ProbeAttempt, type ProberOptions, type WantedProbe } from "./prober.ts";
import type { PodRuntimeReason } from "../reasons.ts";

/** A running container, as a provider's back end reports it. */
export interface RunningContainer {
  readonly name: string;
  /** Id of the running instance. A new id restarts its probes. */
  readonly id: string;
  /**
   * The container id in the pod's status. If the stored status has the same id, probes continue from it after a restart of the program.
   */
  readonly containerID: string | undefined;
  /** Start of the instance, in wall-clock milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** Whether it is being stopped. Only its readiness is probed then. */
  readonly isStopping: boolean;
}

/** A container that has to be stopped because its liveness or startup probe failed. */
export interface FailedContainer {
  readonly name: string;
  /** {@link RunningContainer.id} of the instance. */
  readonly id: string;
  /** Grace period: the probe's own, else the pod's. */
  readonly graceSeconds: number;
  /** Whether its restart policy restarts it. */
  readonly isRestarted: boolean;
}

/** Options of the probes of a pod. */
export interface PodProbesOptions extends Pick<ProberOptions, "admit" | "confirm"> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts the attempts for `/metrics/probes`, until the probes are disposed. Default: attempts are not counted. */
  readonly counts?: ProbeCounts | undefined;
  /** Makes one attempt, which ends with `signal` at its time-out. Rejects if the attempt is impossible. */
  attempt(probe: WantedProbe, container: DeepReadonly<Container>, signal: AbortSignal): Promise<ProbeAttempt>;
  /** Called when a container's standing has changed. */
  onChange(): void;
  /**
   * Called once for each instance that has to be stopped: at once for the first instance of a container, and after a kubelet's crash loop
   * back-off for the next ones that are restarted, unless they have run for that long. An instance that has to wait runs without probes and
   * is not ready, until it has ended.
   */
  onFailed(container: FailedContainer): void;
  /** Records a Kubernetes event, in a kubelet's words. */
  recordEvent(event: PodEvent<PodRuntimeReason>): void;
}

/** A running container with the results of its probes. */
interface Probed {
  readonly running: RunningContainer;
  /** When the instance was first seen; monotonic. */
  readonly seenAtMs: number;
  readonly container: DeepReadonly<Container>;
  readonly standing: ProbeStanding;
  readonly hasFailed: boolean;
  /** The wait for its restart, kept when it is over. Disposed when the instance is being stopped or has ended by itself. */
  readonly restart?: Disposable | undefined;
}

/**
 * Runs startup, readiness and liveness probes of a pod whose back end has none. After a restart of the program, a ready container stays
 * ready until its probe fails.
 */
export class PodProbes implements Disposable {
  readonly #pod: DeepReadonly<Pod>;
  readonly #options: PodProbesOptions;
  readonly #containers: ReadonlyMap<string, DeepReadonly<Container>>;
  readonly #prober: Prober;
  #probed: ReadonlyMap<string, Probed> | undefined;
  /** Back-offs of containers that were restarted because of a probe. */
  readonly #backoffs = new Map<string, BackoffRecord>();

  /** @param pod - with its stored status, from which the probes continue */
  constructor(pod: DeepReadonly<Pod>, options: PodProbesOptions) {
    const { clock, logger, admit, confirm } = options;
    this.#pod = pod;
    this.#options = options;
    this.#containers = new Map(
      [...(pod.spec?.initContainers ?? []).filter(isSidecar), ...(pod.spec?.containers ?? [])].map((each) => [each.name, each]),
    );
    this.#prober = new Prober({
      clock,
      logger,
      ...(admit && { admit }),
      ...(confirm && { confirm }),
      attempt: (probe, signal) => {
        const container = this.#containers.get(probe.container);
        return container
          ? options.attempt(probe, container, signal)
          : Promise.reject(new Error(`there is no container ${probe.container}`));
      },
      onAttempt: ({ container, kind }, outcome, seconds) => options.counts?.count(podRef(pod), { container, kind, outcome, seconds }),
      onResult: (probe, isSuccess) => this.#onResult(probe, isSuccess),
      onFailure: (probe, output) => this.#tell(probe, "Unhealthy", `failed: ${output}`),
      onWarning: (probe, output) => this.#tell(probe, "ProbeWarning", `warning: ${output}`),
    });
  }

  /** Sets the running containers. Probes of instances that go on running are not disturbed, all others end. */
  watch(running: readonly RunningContainer[]): void {
    const before = this.#probed;
    const probed = new Map(
      running.flatMap((each): [string, Probed][] => {
        const container = this.#containers.get(each.name);
        if (!container) return [];
        const known = before?.get(each.name);
        if (known?.running.id === each.id) {
          if (each.isStopping) known.restart?.[Symbol.dispose]();
          return [[each.name, { ...known, running: each }]];
        }
        const standing = (before ? undefined : this.#told(each, container)) ?? freshStanding(container);
        return [[each.name, { running: each, seenAtMs: this.#options.clock.monotonic(), container, standing, hasFailed: false }]];
      }),
    );
    for (const [name, each] of before ?? []) if (probed.get(name)?.running.id !== each.running.id) each.restart?.[Symbol.dispose]();
    this.#probed = probed;
    this.#want();
  }

  /** Standing of a running container; `undefined` if it does not run. */
  standingOf(name: string): ProbeStanding | undefined {
    return this.#probed?.get(name)?.standing;
  }

  /** Ends all probes and removes their counts. */
  [Symbol.dispose](): void {
    this.#prober[Symbol.dispose]();
    for (const { restart } of this.#probed?.values() ?? []) restart?.[Symbol.dispose]();
    this.#options.counts?.forget(podRef(this.#pod));
  }

  /**
   * The standing in the pod's stored status, if it is of the same instance. A container without a readiness probe is ready once it is
   * started, because nothing would make it ready again if its status is that of a back-off.
   */
  #told({ name, containerID }: RunningContainer, { readinessProbe }: DeepReadonly<Container>): ProbeStanding | undefined {
    const { initContainerStatuses = [], containerStatuses = [] } = this.#pod.status ?? {};
    const status = [...initContainerStatuses, ...containerStatuses].find((each) => each.name === name);
    if (containerID === undefined || status?.containerID !== containerID || !status.state?.running) return undefined;
    const isStarted = status.started ?? false;
    return { isStarted, isReady: readinessProbe ? status.ready : isStarted };
  }

  #want(): void {
    this.#prober.want(
      [...(this.#probed?.values() ?? [])].flatMap(({ running, container, standing, hasFailed, restart }) =>
        (restart ? [] : dueProbes(standing, container, running.isStopping || hasFailed)).map(({ kind, spec }): WantedProbe => ({
          container: running.name,
          id: running.id,
          kind,
          spec,
          startedAtMs: running.startedAtMs,
          isReady: standing.isReady,
        })),
      ),
    );
  }

  #onResult(probe: WantedProbe, isSuccess: boolean): void {
    const probed = this.#probed?.get(probe.container);
    if (probed?.running.id !== probe.id) return;
    const standing = standingAfter(probed.standing, probed.container, { kind: probe.kind, isSuccess });
    if (!standing) return this.#fail(probe, probed);
    this.#set({ ...probed, standing });
    this.#options.onChange();
  }

  #set(probed: Probed): void {
    this.#probed = new Map(this.#probed).set(probed.running.name, probed);
    this.#want();
  }

  #fail({ kind, spec }: WantedProbe, probed: Probed): void {
    const { clock, onFailed, onChange, recordEvent } = this.#options;
    const { running, seenAtMs, container, standing } = probed;
    const { name, id } = running;
    const { restartPolicy, terminationGracePeriodSeconds = 30 } = this.#pod.spec ?? {};
    const isRestarted = (container.restartPolicy ?? restartPolicy) !== "Never";
    const stop = (): void => {
      this.#set({ ...(this.#probed?.get(name) ?? probed), hasFailed: true });
      const message = killMessage({ name, isSidecar: isSidecar(container), isRestarted }, kind);
      recordEvent({ type: "Normal", reason: "Killing", message, container: name });
      onFailed({ name, id, graceSeconds: spec.terminationGracePeriodSeconds ?? terminationGracePeriodSeconds, isRestarted });
    };
    const nowMs = clock.monotonic();
    const { delayMs, next } = backoffAfter(this.#backoffs.get(name), nowMs);
    // A kubelet stops and starts such a container in one sync, in which the delay counts from the end of the instance before.
    const isAtOnce = nowMs - seenAtMs >= delayMs;
    if (isRestarted) this.#backoffs.set(name, isAtOnce ? { ...next, usedAtMs: nowMs } : next);
    if (!isRestarted || isAtOnce) return stop();
    this.#set({ ...probed, hasFailed: true, standing: { ...standing, isReady: false }, restart: clock.setTimer(delayMs, stop) });
    recordEvent({ type: "Warning", reason: "BackOff", message: backOffMessage(name, this.#pod), container: name });
    onChange();
  }

  #tell({ container, kind }: WantedProbe, reason: PodRuntimeReason, what: string): void {
    this.#options.recordEvent({ type: "Warning", reason, message: attemptMessage(kind, what), container });
  }
}

/** Whether a main container or sidecar of the pod has a probe. */
export function hasProbes({ spec }: DeepReadonly<Pod>): boolean {
  return [...(spec?.initContainers ?? []).filter(isSidecar), ...(spec?.containers ?? [])].some(
    ({ startupProbe, readinessProbe, livenessProbe }) => startupProbe ?? readinessProbe ?? livenessProbe,
  );
}
