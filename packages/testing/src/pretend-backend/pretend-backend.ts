import type { Clock, PodUpdate } from "@virtual-kubelet/core";
import type { Instance, InstanceRequest, InstanceState } from "./instance.ts";
import { toProviderPodStatus } from "./instance-status.ts";

/** How long a pretend back end takes. */
export interface BackendTimings {
  /** Milliseconds from create to running; default 0. */
  readonly startDelayMs?: number | undefined;
  /** Milliseconds containers take to end when told to; default 0. More than the grace: they are killed. */
  readonly stopDelayMs?: number | undefined;
}

/** What happened to an instance. */
export type InstanceChange = "created" | "running" | "stopping" | "ended" | "changed" | "removed";

/** What a pretend back end stands on. */
export interface PretendBackendOptions {
  readonly clock: Clock;
  /** Names the next instance; never the same twice. */
  readonly nextInstanceId: () => string;
  /** The next instance's address. */
  readonly nextPodIP: () => string;
  /** Read when an instance is made and when it is stopped. */
  readonly timings: () => BackendTimings;
  /** Called after every change, in order, with the instance as it is then. */
  readonly onChange: (instance: Instance, change: InstanceChange) => void;
}

/**
 * A back end that runs nothing: its instances only go through the states that containers would. It makes a new
 * instance for every create, as a cloud does, so that a pod created twice is seen to be.
 */
export class PretendBackend {
  readonly #options: PretendBackendOptions;
  readonly #instances = new Map<string, Instance>();
  readonly #timers = new Map<string, Disposable>();

  constructor(options: PretendBackendOptions) {
    this.#options = options;
  }

  /** All instances, in the order they were made. */
  list(): Instance[] {
    return [...this.#instances.values()];
  }

  /** The instances of a pod; more than one is a provider's fault. */
  of(uid: string): Instance[] {
    return this.list().filter((instance) => instance.ref.uid === uid);
  }

  /** Takes over instances that an earlier process left, and what is due for them. */
  restore(instances: readonly Instance[]): void {
    for (const instance of instances) {
      this.#instances.set(instance.instanceId, instance);
      this.#schedule(instance);
    }
  }

  /** Makes an instance, whatever there is already. */
  create(request: InstanceRequest): Instance {
    const nowMs = this.#options.clock.now();
    const runsAtMs = nowMs + (this.#options.timings().startDelayMs ?? 0);
    const { nextInstanceId, nextPodIP } = this.#options;
    const instance: Instance = {
      ...request,
      instanceId: nextInstanceId(),
      createdAtMs: nowMs,
      podIP: nextPodIP(),
      state: runsAtMs > nowMs ? { kind: "starting", runsAtMs } : { kind: "running", startedAtMs: nowMs },
    };
    this.#put(instance, "created");
    return instance;
  }

  /** Tells all instances of the pod to end; with less grace than before, sooner. @returns how many there are */
  stop(uid: string, gracePeriodSeconds: number): number {
    const nowMs = this.#options.clock.now();
    const usualDelayMs = this.#options.timings().stopDelayMs ?? 0;
    const instances = this.of(uid);
    for (const instance of instances) {
      const { state } = instance;
      if (state.kind === "ended") {
        this.#remove(instance);
        continue;
      }
      const stopDelayMs = instance.script?.stopDelayMs ?? usualDelayMs;
      const killedAtMs = nowMs + gracePeriodSeconds * 1000;
      const ownEndMs = state.kind === "stopping" ? state.endsAtMs : nowMs + stopDelayMs;
      const killed = killedAtMs < ownEndMs || (state.kind === "stopping" && state.killed);
      const startedAtMs = state.kind === "starting" ? undefined : state.startedAtMs;
      this.#put({ ...instance, state: { kind: "stopping", startedAtMs, endsAtMs: Math.min(killedAtMs, ownEndMs), killed } }, "stopping");
    }
    return instances.length;
  }

  /** The pod's containers end by themselves. */
  exit(uid: string, exitCode: number): void {
    for (const instance of this.of(uid)) {
      const { state } = instance;
      if (state.kind === "ended") continue;
      const startedAtMs = state.kind === "starting" ? undefined : state.startedAtMs;
      this.#put({ ...instance, state: { kind: "ended", startedAtMs, endedAtMs: this.#options.clock.now(), exitCode } }, "ended");
    }
  }

  /** The pod's address changes. */
  setPodIP(uid: string, podIP: string): void {
    for (const instance of this.of(uid)) this.#put({ ...instance, podIP }, "changed");
  }

  /** The pod's instances vanish, as on a crash of their host: no end is reported. */
  lose(uid: string): void {
    for (const instance of this.of(uid)) this.#remove(instance);
  }

  /** Stops all timers; the instances stay as they are. */
  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) timer[Symbol.dispose]();
    this.#timers.clear();
  }

  #put(instance: Instance, change: InstanceChange): void {
    this.#instances.set(instance.instanceId, instance);
    this.#options.onChange(instance, change);
    this.#schedule(instance);
  }

  #remove(instance: Instance): void {
    this.#timers.get(instance.instanceId)?.[Symbol.dispose]();
    this.#timers.delete(instance.instanceId);
    this.#instances.delete(instance.instanceId);
    this.#options.onChange(instance, "removed");
  }

  /** Sets the timer for what the instance does next by itself. */
  #schedule(instance: Instance): void {
    const { instanceId } = instance;
    this.#timers.get(instanceId)?.[Symbol.dispose]();
    this.#timers.delete(instanceId);
    const dueAtMs = dueOf(instance);
    if (dueAtMs === undefined) return;
    const delayMs = Math.max(0, dueAtMs - this.#options.clock.now());
    this.#timers.set(
      instanceId,
      this.#options.clock.setTimer(delayMs, () => this.#advance(instance)),
    );
  }

  #advance(instance: Instance): void {
    const next = nextState(instance);
    this.#put({ ...instance, state: next }, next.kind === "running" ? "running" : "ended");
    if (next.kind === "ended" && instance.state.kind === "stopping") this.#remove({ ...instance, state: next });
  }
}

/** What a provider that notifies says of the change. */
export function toPodUpdate(instance: Instance, change: InstanceChange): PodUpdate {
  return change === "removed" ? { ref: instance.ref, gone: true } : { ref: instance.ref, status: toProviderPodStatus(instance) };
}

/** When the instance does something by itself. */
function dueOf({ state, script }: Instance): number | undefined {
  switch (state.kind) {
    case "starting":
      return state.runsAtMs;
    case "stopping":
      return state.endsAtMs;
    case "running":
      return script?.exitAfterMs === undefined ? undefined : state.startedAtMs + script.exitAfterMs;
    case "ended":
      return undefined;
  }
}

function nextState({ state, script }: Instance): InstanceState {
  switch (state.kind) {
    case "starting":
      return { kind: "running", startedAtMs: state.runsAtMs };
    case "stopping":
      // What a shell reports for SIGKILL.
      return { kind: "ended", startedAtMs: state.startedAtMs, endedAtMs: state.endsAtMs, exitCode: state.killed ? 137 : 0 };
    case "running":
      return {
        kind: "ended",
        startedAtMs: state.startedAtMs,
        endedAtMs: state.startedAtMs + (script?.exitAfterMs ?? 0),
        exitCode: script?.exitCode ?? 0,
      };
    case "ended":
      return state;
  }
}
