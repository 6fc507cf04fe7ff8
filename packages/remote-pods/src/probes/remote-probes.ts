import { Semaphore, withDeadline } from "@virtual-kubelet/async";
import {
  podRef,
  type AttachIO,
  type Container,
  type ContainerStatus,
  type DeepReadonly,
  type ExecResult,
  type MetricFamily,
  type Pod,
  type PodRef,
  type ProviderHost,
  type ProviderPodStatus,
} from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import {
  hasProbes,
  PodProbes,
  ProbeCounts,
  probeOnce,
  timeoutMs,
  type FailedContainer,
  type ProbeAttempt,
  type ProbeKind,
  type ProbeStanding,
  type RunningContainer,
  type WantedProbe,
} from "@virtual-kubelet/pod-runtime/probes";
import type { RemoteTarget } from "../backend/remote-target.ts";
import type { RemoteProbing } from "../backend/remote-probing.ts";
import { ContainerEnds } from "./container-ends.ts";

const maxCommands = 8;
/** Longest time that the back end may take to confirm a failed probe, in milliseconds. */
const confirmMs = 5_000;

const probeFields: Readonly<Record<ProbeKind, "startupProbe" | "readinessProbe" | "livenessProbe">> = {
  startup: "startupProbe",
  readiness: "readinessProbe",
  liveness: "livenessProbe",
};

export interface RemoteProbesOptions<Remote> {
  readonly probing: RemoteProbing<Remote>;
  readonly host: Pick<ProviderHost, "clock" | "logger" | "findPod" | "recordEvent">;
  /** The pod's object; `undefined` if it is not known, or the pod is being deleted. */
  readonly targetOf: (uid: string) => RemoteTarget<Remote> | undefined;
  /** Status of the pod as the back end reports it. */
  readonly statusOf: (uid: string) => ProviderPodStatus | undefined;
  /** Describes the pod's object. @throws if the back end does not answer */
  readonly look: (target: RemoteTarget<Remote>, signal: AbortSignal) => Promise<unknown>;
  /** Called when the result of a probe has changed. */
  readonly onChange: (uid: string) => void;
}

/** Runs the probes of all pods that the back end does not run itself. */
export class RemoteProbes<Remote> implements AsyncDisposable {
  readonly #options: RemoteProbesOptions<Remote>;
  readonly #pods = new Map<string, { readonly probes: PodProbes; readonly pod: DeepReadonly<Pod> }>();
  readonly #counts = new ProbeCounts();
  readonly #commands: Semaphore;
  readonly #ends: ContainerEnds;

  constructor(options: RemoteProbesOptions<Remote>) {
    const { probing, host, targetOf, look } = options;
    this.#options = options;
    this.#commands = new Semaphore(probing.maxCommands ?? maxCommands);
    this.#ends = new ContainerEnds({
      clock: host.clock,
      logger: host.logger,
      runs: async (uid, failed, signal) => {
        const target = targetOf(uid);
        if (!target) return false;
        await look(target, signal);
        return targetOf(uid) !== undefined && this.#running(uid, false).some(({ id }) => id === failed.id);
      },
      end: async (uid, failed, signal) => {
        const target = targetOf(uid);
        if (target) await probing.endContainer(target, failed, signal);
      },
    });
  }

  /** Probes the running containers of a pod, and stops all other probes of it. */
  watch(ref: PodRef, isStopping: boolean): void {
    // The probes go on from the stored status of the containers that run at first.
    const isDescribed = this.#options.statusOf(ref.uid) !== undefined;
    const known = this.#pods.get(ref.uid) ?? (isDescribed ? this.#begin(ref) : undefined);
    known?.probes.watch(this.#running(ref.uid, isStopping));
  }

  /** Probes a pod that the API server did not have yet when its object was described. */
  resume(ref: PodRef): void {
    if (this.#pods.has(ref.uid)) return;
    this.watch(ref, false);
    if (this.#pods.has(ref.uid)) this.#options.onChange(ref.uid);
  }

  /** The status with the results of the probes. */
  apply(ref: PodRef, status: ProviderPodStatus): ProviderPodStatus {
    const known = this.#pods.get(ref.uid);
    if (!known) return status;
    const { initContainers = [], containers = [] } = known.pod.spec ?? {};
    const specs = new Map([...initContainers, ...containers].map((each) => [each.name, each]));
    const withStanding = (each: DeepReadonly<ContainerStatus>): DeepReadonly<ContainerStatus> => {
      const spec = specs.get(each.name);
      if (!each.state?.running || !spec || !(spec.startupProbe || spec.readinessProbe || spec.livenessProbe)) return each;
      const { isStarted, isReady } = known.probes.standingOf(each.name) ?? unprobed(spec);
      // The back end may have probes of its own.
      return { ...each, started: isStarted && each.started !== false, ready: isReady && each.ready };
    };
    return {
      ...status,
      ...(status.containerStatuses && { containerStatuses: status.containerStatuses.map(withStanding) }),
      ...(status.initContainerStatuses && { initContainerStatuses: status.initContainerStatuses.map(withStanding) }),
    };
  }

  /** Stops all probes of a pod that is gone. */
  stop(uid: string): void {
    this.#pods.get(uid)?.probes[Symbol.dispose]();
    this.#pods.delete(uid);
  }

  /** Results of the probes of all pods, as a kubelet serves them at `/metrics/probes`. */
  metrics(): readonly MetricFamily[] {
    return this.#counts.families();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const uid of this.#pods.keys()) this.stop(uid);
    await this.#ends[Symbol.asyncDispose]();
  }

  #running(uid: string, isStopping: boolean): readonly RunningContainer[] {
    const { statusOf } = this.#options;
    const { initContainerStatuses = [], containerStatuses = [] } = statusOf(uid) ?? {};
    return [...initContainerStatuses, ...containerStatuses].flatMap(({ name, state, containerID, restartCount }): RunningContainer[] => {
      if (!state?.running) return [];
      const { startedAt } = state.running;
      const startedAtMs = startedAt === undefined ? this.#options.host.clock.now() : Date.parse(startedAt);
      return [{ name, id: `${containerID ?? name}/${restartCount}`, containerID, startedAtMs, isStopping }];
    });
  }

  #begin(ref: PodRef): { readonly probes: PodProbes; readonly pod: DeepReadonly<Pod> } | undefined {
    const { host, onChange } = this.#options;
    // After a restart of the program the pods may not be known yet; the next observation tries again.
    const found = host.findPod(ref);
    if (!found || podRef(found).uid !== ref.uid) return undefined;
    const pod = this.#withOwnProbes(found);
    if (!hasProbes(pod)) return undefined;
    const { uid } = ref;
    const probes = new PodProbes(pod, {
      clock: host.clock,
      logger: host.logger,
      counts: this.#counts,
      attempt: (probe, container, signal) => this.#attempt(uid, probe, container, signal),
      admit: (probe, attempt, signal) => (probe.spec.exec ? this.#commands.run(attempt, signal, ref.namespace) : attempt()),
      confirm: (probe, signal) => this.#confirm(uid, probe, signal),
      onChange: () => onChange(uid),
      onFailed: (container: FailedContainer) => this.#ends.end(uid, container),
      recordEvent: (event) => host.recordEvent(ref, event),
    });
    const known = { probes, pod };
    this.#pods.set(uid, known);
    return known;
  }

  /** The pod without the probes that the back end runs. */
  #withOwnProbes(pod: DeepReadonly<Pod>): DeepReadonly<Pod> {
    const { spec } = pod;
    if (!spec) return pod;
    const { probing } = this.#options;
    const own = (container: DeepReadonly<Container>): DeepReadonly<Container> => {
      const kept = { ...container };
      for (const [kind, field] of Object.entries(probeFields))
        if (kept[field] && !probing.runs(kind as ProbeKind, container)) delete kept[field];
      return kept;
    };
    return {
      ...pod,
      spec: {
        ...spec,
        containers: spec.containers.map(own),
        ...(spec.initContainers && { initContainers: spec.initContainers.map(own) }),
      },
    };
  }

  async #attempt(uid: string, { id, spec }: WantedProbe, container: DeepReadonly<Container>, signal: AbortSignal): Promise<ProbeAttempt> {
    const { targetOf, statusOf, probing } = this.#options;
    const target = targetOf(uid);
    if (!target) throw new UnavailableError(`probe container ${container.name}: its object is not known`);
    const exec = async (_id: string, command: readonly string[], io: AttachIO, limit: AbortSignal): Promise<ExecResult> => {
      if (!probing.exec) throw new UnavailableError(`probe container ${container.name}: commands cannot be run in it`);
      return probing.exec(target, container.name, command, io, limit);
    };
    const { endpointOf } = probing;
    return probeOnce(
      spec,
      {
        runtime: { exec },
        id,
        container,
        podIP: statusOf(uid)?.podIP,
        ...(endpointOf && { endpointOf: (port: number) => endpointOf.call(probing, target, port) }),
      },
      signal,
    );
  }

  /** Confirms a failure only if the back end answers within the probe's timeout. */
  async #confirm(uid: string, { spec }: WantedProbe, signal: AbortSignal): Promise<void> {
    const { targetOf, probing, look, host } = this.#options;
    const target = targetOf(uid);
    if (!target) return;
    const deadline = { clock: host.clock, timeoutMs: Math.min(confirmMs, timeoutMs(spec)), what: "confirm a failed probe" };
    await withDeadline(deadline, signal, async (limit) => (probing.confirm ? probing.confirm(target, limit) : look(target, limit)));
  }
}

/** Standing of a container that runs and that nobody has probed yet. */
function unprobed({ startupProbe, readinessProbe }: DeepReadonly<Container>): ProbeStanding {
  const isStarted = startupProbe === undefined;
  return { isStarted, isReady: isStarted && readinessProbe === undefined };
}
