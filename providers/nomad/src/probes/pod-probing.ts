import { Semaphore } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import type { AttachIO, Container, DeepReadonly, ExecResult, Logger, MetricFamily, Pod, PodEvent, PodRef } from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import {
  hasProbes,
  ProbeCounts,
  PodProbes,
  probeOnce,
  type ProbeAttempt,
  type ProbeStanding,
  type WantedProbe,
} from "@virtual-kubelet/pod-runtime/probes";
import type { BackgroundWork } from "@virtual-kubelet/remote-pods";
import { execInTask } from "../access/exec.ts";
import type { NomadClient } from "../api/nomad-client.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import { hasEnded } from "../status/pod-status.ts";
import { ClientReach } from "./client-reach.ts";
import { endpointOf } from "./probe-endpoint.ts";
import { runningContainers } from "./running-containers.ts";
import { TaskEnds } from "./task-ends.ts";

export interface PodProbingOptions {
  readonly clientOf: (ref: PodRef) => NomadClient;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  readonly logger: Logger;
  readonly background: BackgroundWork;
  /** Maximum number of commands at once. */
  readonly maxCommands: number;
  readonly findPod: (ref: PodRef) => DeepReadonly<Pod> | undefined;
  readonly recordEvent: (pod: PodRef, event: PodEvent) => void;
  /** Address of a client; `undefined` if it is not known yet. */
  readonly addressOf: (nodeId: string) => string | undefined;
  /** Called when the result of a probe has changed. */
  readonly onChange: (entry: PodEntry) => void;
}

/** Runs the probes of all pods: commands through Nomad, the others at the pod's address or at its port on the client. */
export class PodProbing implements Disposable {
  readonly #options: PodProbingOptions;
  readonly #pods = new Map<string, PodProbes>();
  readonly #counts = new ProbeCounts();
  readonly #commands: Semaphore;
  readonly #reach: ClientReach;
  readonly #ends: TaskEnds;

  constructor(options: PodProbingOptions) {
    this.#options = options;
    this.#commands = new Semaphore(options.maxCommands);
    this.#reach = new ClientReach(options);
    this.#ends = new TaskEnds(options);
  }

  /** Probes the running containers of a pod, and stops all other probes of it. @returns whether these are the pod's first probes */
  watch(entry: PodEntry): boolean {
    const { uid } = entry.shape.ref;
    if (!entry.shape.containers.some(({ probes }) => probes)) return false;
    const known = this.#pods.get(uid);
    if (hasEnded(entry.allocation)) {
      known?.watch([]);
      return false;
    }
    const probes = known ?? this.#begin(entry);
    probes?.watch(runningContainers(entry));
    return !known && probes !== undefined;
  }

  /** Probe results by the names of the pod's containers. */
  standingsOf({ shape }: PodEntry): ReadonlyMap<string, ProbeStanding> {
    const probes = this.#pods.get(shape.ref.uid);
    return new Map(
      shape.containers.flatMap(({ name }) => {
        const standing = probes?.standingOf(name);
        return standing ? [[name, standing]] : [];
      }),
    );
  }

  /** Stops all probes of the pod. */
  stop(uid: string): void {
    this.#pods.get(uid)?.[Symbol.dispose]();
    this.#pods.delete(uid);
  }

  /** How the probes of all pods have gone, as a kubelet serves it at `/metrics/probes`. */
  metrics(): readonly MetricFamily[] {
    return this.#counts.families();
  }

  [Symbol.dispose](): void {
    for (const uid of this.#pods.keys()) this.stop(uid);
  }

  #begin(entry: PodEntry): PodProbes | undefined {
    const { clock, logger, findPod, recordEvent, onChange } = this.#options;
    const { ref } = entry.shape;
    // After a restart the cluster's pods may not be known yet; it is tried again with the next list.
    const pod = findPod(ref);
    if (!pod || !hasProbes(pod)) return undefined;
    const probes = new PodProbes(pod, {
      clock,
      logger,
      counts: this.#counts,
      attempt: (probe, container, signal) => this.#attempt(entry, probe, container, signal),
      admit: (probe, attempt, signal) => (probe.spec.exec ? this.#commands.run(attempt, signal, ref.namespace) : attempt()),
      confirm: async (_, signal) => {
        if (entry.allocation) await this.#reach.check(this.#options.clientOf(ref), entry.allocation, signal);
      },
      onChange: () => onChange(entry),
      onFailed: (container) => this.#ends.end(entry, container),
      recordEvent: (event) => recordEvent(ref, event),
    });
    this.#pods.set(ref.uid, probes);
    return probes;
  }

  async #attempt(
    entry: PodEntry,
    { id, spec }: WantedProbe,
    container: DeepReadonly<Container>,
    signal: AbortSignal,
  ): Promise<ProbeAttempt> {
    const { clientOf, clock, random, addressOf } = this.#options;
    const { allocation, shape } = entry;
    if (!allocation || allocation.ClientStatus === "unknown")
      throw new UnavailableError(`probe container ${container.name}: Nomad is not connected to its client`);
    const exec = (_id: string, command: readonly string[], io: AttachIO, limit: AbortSignal): Promise<ExecResult> => {
      const client = clientOf(shape.ref);
      const probing = { exec: client.execProbe.bind(client) };
      return execInTask({ client: probing, clock, random, entry, container: container.name, command, io }, limit);
    };
    const clientAddress = addressOf(allocation.NodeID);
    return probeOnce(
      spec,
      { runtime: { exec }, id, container, podIP: undefined, endpointOf: (port) => endpointOf({ shape, allocation, clientAddress }, port) },
      signal,
    );
  }
}
