import { Semaphore } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { AttachIO, Container, DeepReadonly, ExecResult, Logger, MetricFamily, Pod, PodEvent, PodRef } from "@virtual-kubelet/core";
import { isConflict, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import {
  hasProbes,
  ProbeCounts,
  PodProbes,
  probeOnce,
  timeoutMs,
  type FailedContainer,
  type ProbeAttempt,
  type ProbeStanding,
  type RunningContainer,
  type WantedProbe,
} from "@virtual-kubelet/pod-runtime/probes";
import { toCommandLine } from "../access/shell-words.ts";
import { addressesOf, type Observation } from "../status/observation.ts";
import type { ZunApi } from "../zun/zun-api.ts";

/** Commands of probes that run at once: each is a request of some hundred milliseconds. */
const maxCommands = 8;
/** The longest time that Zun may take to show a container, in milliseconds. */
const answerMs = 5_000;

export interface PodProbingOptions {
  readonly api: Pick<ZunApi, "execute" | "showContainer">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly findPod: (ref: PodRef) => DeepReadonly<Pod> | undefined;
  readonly recordEvent: (ref: PodRef, event: PodEvent) => void;
  /** Called when the result of a probe has changed. */
  readonly onChange: (uid: string) => void;
  /** Called when a container has to be ended because of its probe. */
  readonly onFailed: (uid: string, container: FailedContainer) => void;
}

/** A pod and its running containers. */
export interface ProbedPod {
  readonly observed: Observation;
  readonly running: readonly RunningContainer[];
}

/** Runs the probes of all pods: commands through Zun, the others at the pod's address. */
export class PodProbing implements Disposable {
  readonly #options: PodProbingOptions;
  readonly #pods = new Map<string, { readonly probes: PodProbes; observed: Observation }>();
  readonly #counts = new ProbeCounts();
  readonly #commands = new Semaphore(maxCommands);

  constructor(options: PodProbingOptions) {
    this.#options = options;
  }

  /** Probes the running containers of a pod, and stops all other probes of it. */
  watch({ observed, running }: ProbedPod): void {
    const { ref, probes } = observed.labels;
    if (Object.keys(probes ?? {}).length === 0) return;
    const known = this.#pods.get(ref.uid) ?? this.#begin(observed);
    if (!known) return;
    known.observed = observed;
    known.probes.watch(running);
  }

  /** Probe results of a running container; `undefined` while it is not probed. */
  standingOf(uid: string, container: string): ProbeStanding | undefined {
    return this.#pods.get(uid)?.probes.standingOf(container);
  }

  /** Stops all probes of a pod that is gone. */
  stop(uid: string): void {
    this.#pods.get(uid)?.probes[Symbol.dispose]();
    this.#pods.delete(uid);
  }

  /** How the probes of all pods have gone, as a kubelet serves it at `/metrics/probes`. */
  metrics(): readonly MetricFamily[] {
    return this.#counts.families();
  }

  [Symbol.dispose](): void {
    for (const uid of this.#pods.keys()) this.stop(uid);
  }

  #begin(observed: Observation): { readonly probes: PodProbes; observed: Observation } | undefined {
    const { clock, logger, findPod, recordEvent, onChange, onFailed } = this.#options;
    const { ref } = observed.labels;
    // After a restart the cluster's pods may not be known yet; it is tried again with the next list.
    const pod = findPod(ref);
    if (!pod || !hasProbes(pod)) return undefined;
    const probes = new PodProbes(pod, {
      clock,
      logger,
      counts: this.#counts,
      attempt: (probe, container, signal) => this.#attempt(ref.uid, probe, container, signal),
      admit: (probe, attempt, signal) => (probe.spec.exec ? this.#commands.run(attempt, signal, ref.namespace) : attempt()),
      confirm: (probe, signal) => this.#confirm(ref.uid, probe, signal),
      onChange: () => onChange(ref.uid),
      onFailed: (container) => onFailed(ref.uid, container),
      recordEvent: (event) => recordEvent(ref, event),
    });
    const known = { probes, observed };
    this.#pods.set(ref.uid, known);
    return known;
  }

  async #attempt(uid: string, { id, spec }: WantedProbe, container: DeepReadonly<Container>, signal: AbortSignal): Promise<ProbeAttempt> {
    const observed = this.#pods.get(uid)?.observed;
    const [podIP] = observed ? addressesOf(observed) : [];
    const exec = (_id: string, command: readonly string[], io: AttachIO, limit: AbortSignal): Promise<ExecResult> =>
      this.#run(observed?.uuid ?? "", command, io, limit);
    return probeOnce(spec, { runtime: { exec }, id, container, podIP }, signal);
  }

  /** Zun runs the command to its end, and tells its output and exit code. */
  async #run(uuid: string, command: readonly string[], { stdout }: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    try {
      const { output, exit_code: exitCode } = await this.#options.api.execute(uuid, { command: toCommandLine(command), run: true }, signal);
      if (typeof exitCode !== "number") throw new UnavailableError("run a probe's command: Zun reports no exit code");
      stdout?.write(Buffer.from(output ?? ""));
      return { exitCode };
    } catch (error) {
      // Zun's own limit has passed. Source: zun 18.0.0 zun/container/docker/driver.py (`execute_run`).
      if (!isConflict(error) || !/timeout on executing/i.test(messageOf(error))) throw error;
      stdout?.write(Buffer.from("the command took longer than Zun lets it"));
      return { exitCode: 1 };
    }
  }

  /** Confirms a failure only if Zun itself answers within the probe's time-out. */
  async #confirm(uid: string, { spec }: WantedProbe, signal: AbortSignal): Promise<void> {
    const observed = this.#pods.get(uid)?.observed;
    if (observed?.kind !== "container") return;
    const late = new AbortController();
    const limitMs = Math.min(answerMs, timeoutMs(spec));
    using _timer = this.#options.clock.setTimer(limitMs, () => late.abort(new UnavailableError(`Zun did not answer within ${limitMs} ms`)));
    await this.#options.api.showContainer(observed.uuid, AbortSignal.any([signal, late.signal]));
  }
}
