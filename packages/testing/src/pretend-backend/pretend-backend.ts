import type { Clock, PodUpdate } from "@virtual-kubelet/core";
import type { Instance, InstanceRequest, InstanceState } from "./instance.ts";
import { toProviderPodStatus } from "./instance-status.ts";

/** Delays of a pretend back end. */
export interface BackendTimings {
  /** Milliseconds from create to running; default 0. */
  readonly startDelayMs?: number | undefined;
  /** Milliseconds until containers end after a stop; default 0. Containers are killed when the grace period is shorter. */
  readonly stopDelayMs?: number | undefined;
}

/** Kind of a change to an instance. */
export type InstanceChange = "created" | "running" | "stopping" | "ended" | "changed" | "removed";

/** Options of a {@link PretendBackend}. */
export interface PretendBackendOptions {
  readonly clock: Clock;
  /** Returns a unique id for the next instance. */
  readonly nextInstanceId: () => string;
  /** Returns the address of the next instance. */
  readonly nextPodIP: () => string;
  /** Called when an instance is created and when it is stopped. */
  readonly timings: () => BackendTimings;
  /** Called after every change, in order, with the changed instance. */
  readonly onChange: (instance: Instance, change: InstanceChange) => void;
}

/**
 * A back end that runs nothing: its instances only go through the states of containers. It creates a new instance for
 * every call, as a cloud does, which reveals a pod that is created twice.
 */
export class PretendBackend {
  readonly #options: PretendBackendOptions;
  readonly #instances = new Map<string, Instance>();
  readonly #timers = new Map<string, Disposable>();

  constructor(options: PretendBackendOptions) {
    this.#options = options;
  }

  /** All instances, in the order of their creation. */
  list(): Instance[] {
    return [...this.#instances.values()];
  }

  /** Instances of a pod; more than one indicates a fault of the provider. */
  of(uid: string): Instance[] {
    return this.list().filter((instance) => instance.ref.uid === uid);
  }

  /** Restores instances of an earlier process, and schedules their next changes. */
  restore(instances: readonly Instance[]): void {
    for (const instance of instances) {
      this.#instances.set(instance.instanceId, instance);
      this.#schedule(instance);
    }
  }

  /** Creates an instance, even if the pod already has one. */
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

  /** Stops all instances of the pod; a shorter grace period than before ends them sooner. @returns the number of instances */
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

  /** Ends the pod's containers as if they exited by themselves. */
  exit(uid: string, exitCode: number): void {
    for (const instance of this.of(uid)) {
      const { state } = instance;
      if (state.kind === "ended") continue;
      const startedAtMs = state.kind === "starting" ? undefined : state.startedAtMs;
      this.#put({ ...instance, state: { kind: "ended", startedAtMs, endedAtMs: this.#options.clock.now(), exitCode } }, "ended");
    }
  }

  /** Changes the pod's address. */
  setPodIP(uid: string, podIP: string): void {
    for (const instance of this.of(uid)) this.#put({ ...instance, podIP }, "changed");
  }

  /** Removes the pod's instances without an end, as a crash of their host does. */
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

  /** Sets the timer for the instance's next own change. */
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

/** Converts a change to the update that a notifying provider reports. */
export function toPodUpdate(instance: Instance, change: InstanceChange): PodUpdate {
  return change === "removed" ? { ref: instance.ref, gone: true } : { ref: instance.ref, status: toProviderPodStatus(instance) };
}

/** Time of the instance's next own change. */
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
      // Exit code that a shell reports for SIGKILL.
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
