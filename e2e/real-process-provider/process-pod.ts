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
  for (const container of spec?.initContainers ?? []) init.push(await plan(container, policy === "Never" ? "Never" : "OnFailure"));
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
  readonly #init: readonly ProcessContainer[];
  readonly #main: readonly ProcessContainer[];
  readonly #standingOf: (container: string) => ProbeStanding | undefined;
  #stopped = false;

  constructor(
    ref: PodRef,
    plans: { readonly init: readonly ContainerPlan[]; readonly main: readonly ContainerPlan[] },
    options: PodOptions,
  ) {
    this.ref = ref;
    this.createdAt = new Date(options.clock.now()).toISOString();
    this.#standingOf = (container) => options.standingOf(this, container);
    this.#directory = join(options.directory, ref.uid);
    mkdirSync(this.#directory, { recursive: true });
    const own = { clock: options.clock, reaper: options.reaper, directory: this.#directory, onChange: () => options.onChange(this) };
    this.#init = plans.init.map((plan) => new ProcessContainer(plan, own));
    this.#main = plans.main.map((plan) => new ProcessContainer(plan, own));
  }

  get directory(): string {
    return this.#directory;
  }

  get containers(): readonly ProcessContainer[] {
    return [...this.#init, ...this.#main];
  }

  /** Runs the init containers one after another, then all others. */
  async start(): Promise<void> {
    for (const container of this.#init) {
      if (this.#stopped) return;
      container.start();
      await container.done;
      if (container.exitCode !== 0) return;
    }
    if (!this.#stopped) for (const container of this.#main) container.start();
  }

  stop(graceMs: number): void {
    this.#stopped = true;
    for (const container of this.containers) container.stop(graceMs);
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
      ...(this.#init.length > 0 && { initContainerStatuses: this.#init.map((container) => initStatus(container.status(reason))) }),
    };
  }

  removeFiles(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #phase(): "Pending" | "Running" | "Succeeded" | "Failed" {
    if (this.#init.some(({ exitCode = 0 }) => exitCode !== 0)) return "Failed";
    const codes = this.#main.map(({ exitCode }) => exitCode);
    if (this.#stopped && this.containers.every(({ running }) => !running))
      return codes.every((code) => code === 0) ? "Succeeded" : "Failed";
    if (!this.#main.some(({ hasStarted }) => hasStarted)) return "Pending";
    if (codes.includes(undefined)) return "Running";
    return codes.every((code) => code === 0) ? "Succeeded" : "Failed";
  }
}

/** As with a kubelet, an init container is ready when it has ended well. */
function initStatus(status: ReturnType<ProcessContainer["status"]>): typeof status {
  return { ...status, ready: status.state?.terminated?.exitCode === 0 };
}
