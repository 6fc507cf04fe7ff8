import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock, DeepReadonly, Pod, PodRef, ProviderPodStatus, ResolvedPod } from "@virtual-kubelet/core";
import { InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";
import type { ProbeStanding } from "@virtual-kubelet/pod-runtime/probes";
import type { Reaper } from "@virtual-kubelet/testing";
import { ProcessContainer, type ContainerPlan } from "./process-container.ts";

/** Options of a pod. */
export interface PodOptions {
  readonly clock: Clock;
  readonly reaper: Reaper;
  readonly directory: string;
  /** Its `terminationGracePeriodSeconds`, for the end of its sidecars. */
  readonly graceMs: number;
  /** Mounts of its volumes, which it disposes. */
  readonly mounts: Disposable;
  /** Results of its containers' probes. */
  readonly standingOf: (pod: ProcessPod, container: string) => ProbeStanding | undefined;
  /** Its status has changed. */
  readonly onChange: (pod: ProcessPod) => void;
}

/** Resolves what the pod's containers run. @throws what `resolved` throws */
export async function planContainers(
  { spec }: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  signal: AbortSignal,
): Promise<{ readonly init: readonly ContainerPlan[]; readonly main: readonly ContainerPlan[] }> {
  const policy = spec?.restartPolicy === "Never" || spec?.restartPolicy === "OnFailure" ? spec.restartPolicy : "Always";
  const plan = async (container: ContainerPlan["spec"], restarts: ContainerPlan["restarts"]): Promise<ContainerPlan> => {
    const { command, args } = await resolved.commandLine(container.name, signal);
    const words = [...command, ...args];
    if (words.length === 0) throw new InvalidInputError(`container ${container.name} has no command; say in it which program to run`);
    const env = Object.fromEntries((await resolved.environment(container.name, signal)).map(({ name, value }) => [name, value]));
    return { spec: container, command: words, env, restarts };
  };
  const init = [];
  for (const container of spec?.initContainers ?? [])
    init.push(await plan(container, container.restartPolicy === "Always" ? "Always" : policy === "Never" ? "Never" : "OnFailure"));
  const main = [];
  for (const container of spec?.containers ?? []) main.push(await plan(container, policy));
  return { init, main };
}

/** A pod: process groups in a folder of their own. */
export class ProcessPod {
  readonly ref: PodRef;
  readonly createdAt: string;
  deleted = false;
  readonly #directory: string;
  /** In the order of the spec, with the sidecars. */
  readonly #init: readonly ProcessContainer[];
  readonly #main: readonly ProcessContainer[];
  readonly #standingOf: (container: string) => ProbeStanding | undefined;
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #mounts: Disposable;
  #stopped = false;
  /** Clock time by which the sidecars of a stopped pod have to end. */
  #deadlineMs = 0;

  constructor(
    ref: PodRef,
    plans: { readonly init: readonly ContainerPlan[]; readonly main: readonly ContainerPlan[] },
    options: PodOptions,
  ) {
    this.ref = ref;
    this.createdAt = new Date(options.clock.now()).toISOString();
    this.#standingOf = (container) => options.standingOf(this, container);
    this.#clock = options.clock;
    this.#graceMs = options.graceMs;
    this.#mounts = options.mounts;
    this.#directory = podDirectory(options.directory, ref);
    mkdirSync(this.#directory, { recursive: true });
    const onChange = (): void => {
      this.#endSidecars();
      options.onChange(this);
    };
    const own = { clock: options.clock, reaper: options.reaper, directory: this.#directory, onChange };
    this.#init = plans.init.map((plan) => new ProcessContainer(plan, own));
    this.#main = plans.main.map((plan) => new ProcessContainer(plan, own));
  }

  get directory(): string {
    return this.#directory;
  }

  get containers(): readonly ProcessContainer[] {
    return [...this.#init, ...this.#main];
  }

  /** Runs the init containers one after another, then all others. A sidecar has to be started, not to end. */
  async start(): Promise<void> {
    for (const container of this.#init) {
      if (this.#stopped) return;
      container.start();
      if (isSidecar(container)) {
        await this.#untilStarted(container);
        continue;
      }
      await container.done;
      if (container.exitCode !== 0) return;
    }
    if (!this.#stopped) for (const container of this.#main) container.start();
  }

  /** Ends the containers, and then the sidecars, within the grace period. */
  stop(graceMs: number): void {
    this.#stopped = true;
    this.#deadlineMs = this.#clock.monotonic() + graceMs;
    for (const container of this.containers) if (!isSidecar(container)) container.stop(graceMs);
    this.#endSidecars();
  }

  /** Ends the sidecars when the containers have ended for good. */
  #endSidecars(): void {
    const isOver = this.#main.every(({ running, exitCode, hasStarted }) => !running && (exitCode !== undefined || !hasStarted));
    const hasRun = this.#main.some(({ hasStarted }) => hasStarted);
    if (!isOver || (!hasRun && !this.#stopped && !this.#hasFailed)) return;
    const graceMs = this.#stopped ? Math.max(0, this.#deadlineMs - this.#clock.monotonic()) : this.#graceMs;
    for (const container of this.#init.toReversed()) if (isSidecar(container)) container.stop(graceMs);
  }

  /** Waits until a sidecar has passed its startup probe, or is stopped. */
  async #untilStarted(sidecar: ProcessContainer): Promise<void> {
    const { name } = sidecar.plan.spec;
    while (!this.#stopped && this.#standingOf(name)?.isStarted === false) await this.#clock.sleep(100, new AbortController().signal);
  }

  /** Whether an init container has failed for good. */
  get #hasFailed(): boolean {
    return this.#init.some((container) => !isSidecar(container) && (container.exitCode ?? 0) !== 0);
  }

  /** Whether all of its processes have ended and no more will start. */
  get hasEnded(): boolean {
    const { phase } = this.status();
    const isOver = this.#stopped || phase === "Succeeded" || phase === "Failed";
    return isOver && this.containers.every((container) => !container.running);
  }

  /** @throws NotFoundError */
  container(name: string): ProcessContainer {
    const container = this.containers.find(({ plan }) => plan.spec.name === name);
    if (!container) throw new NotFoundError(`pod ${this.ref.namespace}/${this.ref.name} has no container ${name} here`);
    return container;
  }

  status(): ProviderPodStatus {
    const reason = this.#init.length > 0 ? "PodInitializing" : "ContainerCreating";
    return {
      phase: this.#phase(),
      podIP: "127.0.0.1",
      podIPs: [{ ip: "127.0.0.1" }],
      containerStatuses: this.#main.map((container) => container.status(reason, this.#standingOf(container.plan.spec.name))),
      ...(this.#init.length > 0 && {
        initContainerStatuses: this.#init.map((container) =>
          isSidecar(container)
            ? container.status(reason, this.#standingOf(container.plan.spec.name))
            : initStatus(container.status(reason)),
        ),
      }),
    };
  }

  removeFiles(): void {
    this.#mounts[Symbol.dispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #phase(): "Pending" | "Running" | "Succeeded" | "Failed" {
    if (this.#hasFailed) return "Failed";
    const codes = this.#main.map(({ exitCode }) => exitCode);
    if (this.#stopped && this.containers.every(({ running }) => !running))
      return codes.every((code) => code === 0) ? "Succeeded" : "Failed";
    if (!this.#main.some(({ hasStarted }) => hasStarted)) return "Pending";
    if (codes.includes(undefined)) return "Running";
    return codes.every((code) => code === 0) ? "Succeeded" : "Failed";
  }
}

/** Folder of a pod's files. */
export function podDirectory(directory: string, { uid }: PodRef): string {
  return join(directory, uid);
}

function isSidecar({ plan }: ProcessContainer): boolean {
  return plan.spec.restartPolicy === "Always";
}

/** As with a kubelet, an init container is ready when it has ended well. */
function initStatus(status: ReturnType<ProcessContainer["status"]>): typeof status {
  return { ...status, ready: status.state?.terminated?.exitCode === 0 };
}
