import type { AttachIO, DeepReadonly, ExecResult, Pod, ProviderHost } from "@virtual-kubelet/core";
import { hasProbes, PodProbes, probeOnce, type ProbeStanding } from "@virtual-kubelet/pod-runtime/probes";
import type { Reaper } from "@virtual-kubelet/testing";
import { exec, type RunningCommands } from "./process-access.ts";
import type { ProcessPod } from "./process-pod.ts";

/** Options of {@link ProcessProbes}. */
export interface ProcessProbesOptions {
  readonly host: ProviderHost;
  readonly commands: RunningCommands;
  readonly reaper: Reaper;
  /** The standing of a container has changed. */
  readonly onChange: (pod: ProcessPod) => void;
}

/** The probes of all pods: commands run beside a container's processes, and ports are those of 127.0.0.1. */
export class ProcessProbes implements Disposable {
  readonly #options: ProcessProbesOptions;
  readonly #pods = new Map<ProcessPod, PodProbes>();

  constructor(options: ProcessProbesOptions) {
    this.#options = options;
  }

  /** Probes a new pod, if it has probes. */
  add(spec: DeepReadonly<Pod>, pod: ProcessPod): void {
    if (!hasProbes(spec)) return;
    const { host, commands, reaper, onChange } = this.#options;
    const { clock, logger } = host;
    const probes = new PodProbes(spec, {
      clock,
      logger,
      attempt: ({ id, container: name, spec: probe }, container, signal) => {
        const { env } = pod.container(name).plan;
        const run = (_id: string, command: readonly string[], io: AttachIO, limit: AbortSignal): Promise<ExecResult> =>
          exec(command, io, { env, cwd: pod.directory, clock, reaper, commands }, limit);
        return probeOnce(probe, { runtime: { exec: run }, id, container, podIP: "127.0.0.1" }, signal);
      },
      onChange: () => onChange(pod),
      onFailed: ({ name, graceSeconds }) => pod.container(name).end(graceSeconds * 1000),
      recordEvent: (event) => host.recordEvent(pod.ref, event),
    });
    this.#pods.set(pod, probes);
  }

  /** Probes what runs of the pod now. */
  watch(pod: ProcessPod): void {
    const running = pod.containers.flatMap(({ plan, running: run }) =>
      run
        ? [{ name: plan.spec.name, id: run.id, containerID: undefined, startedAtMs: Date.parse(run.startedAt), isStopping: pod.deleted }]
        : [],
    );
    this.#pods.get(pod)?.watch(running);
  }

  /** Results of a container's probes; `undefined` for a pod without probes. */
  standingOf(pod: ProcessPod, container: string): ProbeStanding | undefined {
    return this.#pods.get(pod)?.standingOf(container);
  }

  /** The pod is gone. */
  remove(pod: ProcessPod): void {
    this.#pods.get(pod)?.[Symbol.dispose]();
    this.#pods.delete(pod);
  }

  [Symbol.dispose](): void {
    for (const pod of this.#pods.keys()) this.remove(pod);
  }
}
