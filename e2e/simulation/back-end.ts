import type { Clock, DeepReadonly, Owner, Pod, PodRef, ProviderPodStatus } from "@virtual-kubelet/core";
import type { Chance } from "./chance.ts";
import type { Trace } from "./trace.ts";

/** Where an instance is in its life. */
export type InstanceState =
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly startedMs: number }
  /** Told to end; it does by itself or is killed, then. */
  | { readonly kind: "stopping"; readonly startedMs: number | undefined; readonly endsMs: number }
  | { readonly kind: "ended"; readonly startedMs: number | undefined; readonly endedMs: number; readonly exitCode: number };

/** What the back end runs for a pod. */
export interface Instance {
  readonly id: string;
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly podIP: string;
  readonly createdMs: number;
  readonly restartPolicy: string;
  /** Made by a call that its caller had given up: nobody could know of it. */
  readonly isLate: boolean;
  /** The pod as it was last given. */
  readonly applied: DeepReadonly<Pod>;
  /** Number of the call that gave it; see {@link BackEnd.nextCall}. */
  readonly appliedBy: number;
  readonly restarts: number;
  readonly state: InstanceState;
}

/** How long the back end takes, in milliseconds. */
export interface BackEndTimings {
  readonly startMs: number;
  readonly stopMs: number;
  /** How long what has ended stays to be seen. */
  readonly keepEndedMs: number;
}

/** What a {@link BackEnd} stands on. */
export interface BackEndDeps {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly trace: Trace;
  readonly timings: BackEndTimings;
  /**
   * Whether a second create for a UID finds the first one's instance, as with an idempotency token, and an update that
   * comes late undoes no later one.
   */
  readonly isIdempotent: boolean;
  /** Called after each change. */
  readonly onChange: (instance: Instance, change: "created" | "changed" | "removed") => void;
}

/**
 * A cloud in which the pods run. It is no part of the program: it goes on when the program is killed, and carries out
 * calls whose callers are long gone.
 */
export class BackEnd {
  readonly #deps: BackEndDeps;
  readonly #instances = new Map<string, Instance>();
  readonly #idsByUid = new Map<string, Set<string>>();
  readonly #timers = new Map<string, Disposable>();
  #made = 0;
  #calls = 0;

  constructor(deps: BackEndDeps) {
    this.#deps = deps;
  }

  /** See {@link BackEndDeps.isIdempotent}. */
  get isIdempotent(): boolean {
    return this.#deps.isIdempotent;
  }

  /** All instances, in the order in which they were made. */
  list(): Instance[] {
    return [...this.#instances.values()];
  }

  /** The pod's instances. */
  of(uid: string): Instance[] {
    return [...(this.#idsByUid.get(uid) ?? [])].flatMap((id) => this.#instances.get(id) ?? []);
  }

  /** A number for a call that begins; later calls have greater ones. */
  nextCall(): number {
    return ++this.#calls;
  }

  /** Makes an instance, unless the pod has one and the back end tells. */
  create(pod: DeepReadonly<Pod>, owner: Owner, isLate: boolean): void {
    const { metadata = {}, spec } = pod;
    const ref = { namespace: metadata.namespace ?? "", name: metadata.name ?? "", uid: metadata.uid ?? "" };
    if (this.#deps.isIdempotent && this.of(ref.uid).length > 0) return;
    const number = ++this.#made;
    const instance: Instance = {
      id: `instance-${number}`,
      ref,
      owner,
      podIP: `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
      createdMs: this.#deps.clock.monotonic(),
      restartPolicy: spec?.restartPolicy ?? "Always",
      isLate,
      applied: pod,
      appliedBy: 0,
      restarts: 0,
      state: { kind: "starting" },
    };
    this.#deps.trace.add("back end: made", instance.id, "for", ref.name, ref.uid, isLate ? "(late)" : "");
    this.#set(instance, "created");
    const { startMs } = this.#deps.timings;
    if (startMs === 0) this.#run(instance.id);
    else this.#schedule(instance.id, this.#deps.chance.between(startMs / 2, startMs), () => this.#run(instance.id));
  }

  /** Gives the pod's instances a changed pod. @param call - see {@link nextCall} */
  update(pod: DeepReadonly<Pod>, call: number): void {
    for (const instance of this.of(pod.metadata?.uid ?? "")) {
      if (this.#deps.isIdempotent && call < instance.appliedBy) continue;
      this.#set({ ...instance, applied: pod, appliedBy: call }, "changed");
    }
  }

  /** Tells the pod's instances to end. */
  stop(uid: string, gracePeriodSeconds: number): void {
    const { chance, clock, timings } = this.#deps;
    const nowMs = clock.monotonic();
    for (const instance of this.of(uid)) {
      const { state } = instance;
      if (state.kind === "ended") {
        this.#remove(instance);
        continue;
      }
      const ownEndMs = state.kind === "stopping" ? state.endsMs : nowMs + chance.between(0, timings.stopMs);
      const endsMs = Math.min(ownEndMs, nowMs + gracePeriodSeconds * 1000);
      this.#set({ ...instance, state: { kind: "stopping", startedMs: startOf(state), endsMs } }, "changed");
      if (endsMs <= nowMs) this.#end(instance.id, 0);
      else this.#schedule(instance.id, endsMs - nowMs, () => this.#end(instance.id, 0));
    }
  }

  /** The pod's containers end by themselves; what is to be restarted is. */
  exit(uid: string, exitCode: number): void {
    for (const instance of this.of(uid)) {
      const { state, restartPolicy } = instance;
      if (state.kind !== "running") continue;
      const isRestarted = restartPolicy === "Always" || (restartPolicy === "OnFailure" && exitCode !== 0);
      const nowMs = this.#deps.clock.monotonic();
      this.#deps.trace.add("back end:", instance.id, "exits with", exitCode);
      if (isRestarted) this.#set({ ...instance, restarts: instance.restarts + 1, state: { kind: "running", startedMs: nowMs } }, "changed");
      else this.#set({ ...instance, state: { kind: "ended", startedMs: state.startedMs, endedMs: nowMs, exitCode } }, "changed");
    }
  }

  /** The pod's instances vanish, as when their host does. */
  lose(uid: string): void {
    for (const instance of this.of(uid)) {
      this.#deps.trace.add("back end: loses", instance.id, "of", instance.ref.name, uid);
      this.#remove(instance);
    }
  }

  #run(id: string): void {
    const instance = this.#instances.get(id);
    if (instance?.state.kind !== "starting") return;
    this.#set({ ...instance, state: { kind: "running", startedMs: this.#deps.clock.monotonic() } }, "changed");
  }

  #end(id: string, exitCode: number): void {
    const { clock, timings, trace } = this.#deps;
    const instance = this.#instances.get(id);
    if (!instance) return;
    trace.add("back end: ended", id, "of", instance.ref.name, instance.ref.uid);
    const ended: Instance = {
      ...instance,
      state: { kind: "ended", startedMs: startOf(instance.state), endedMs: clock.monotonic(), exitCode },
    };
    this.#set(ended, "changed");
    if (timings.keepEndedMs === 0) this.#remove(ended);
    else this.#schedule(id, timings.keepEndedMs, () => this.#remove(ended));
  }

  #set(instance: Instance, change: "created" | "changed"): void {
    this.#instances.set(instance.id, instance);
    const ids = this.#idsByUid.get(instance.ref.uid) ?? new Set();
    this.#idsByUid.set(instance.ref.uid, ids.add(instance.id));
    this.#deps.onChange(instance, change);
  }

  #remove(instance: Instance): void {
    this.#timers.get(instance.id)?.[Symbol.dispose]();
    this.#timers.delete(instance.id);
    this.#idsByUid.get(instance.ref.uid)?.delete(instance.id);
    if (this.#instances.delete(instance.id)) this.#deps.onChange(instance, "removed");
  }

  /** Each instance has one thing ahead of it at most. */
  #schedule(id: string, ms: number, callback: () => void): void {
    this.#timers.get(id)?.[Symbol.dispose]();
    this.#timers.set(
      id,
      this.#deps.clock.setTimer(ms, () => {
        this.#timers.delete(id);
        callback();
      }),
    );
  }
}

/** Whether anything of the pod may still run. */
export function isLive({ state }: Instance): boolean {
  return state.kind !== "ended";
}

/** What a provider says of an instance. */
export function statusOf(instance: Instance, clock: Clock): ProviderPodStatus {
  const { id, podIP, restarts, state, applied } = instance;
  const at = (monotonicMs: number): string => `${new Date(clock.now() - clock.monotonic() + monotonicMs).toISOString().slice(0, 19)}Z`;
  const startedAt = startOf(state);
  const containerState =
    state.kind === "starting"
      ? { waiting: { reason: "ContainerCreating" } }
      : state.kind === "ended"
        ? {
            terminated: {
              exitCode: state.exitCode,
              reason: state.exitCode === 0 ? "Completed" : "Error",
              finishedAt: at(state.endedMs),
              containerID: `sim://${id}`,
              ...(startedAt !== undefined && { startedAt: at(startedAt) }),
            },
          }
        : startedAt === undefined
          ? { waiting: { reason: "ContainerCreating" } }
          : { running: { startedAt: at(startedAt) } };
  const isRunning = "running" in containerState;
  return {
    phase: state.kind === "ended" ? (state.exitCode === 0 ? "Succeeded" : "Failed") : isRunning ? "Running" : "Pending",
    podIP,
    podIPs: [{ ip: podIP }],
    containerStatuses: (applied.spec?.containers ?? []).map(({ name, image = "" }) => ({
      name,
      image,
      imageID: image,
      containerID: `sim://${id}`,
      ready: isRunning,
      started: isRunning,
      restartCount: restarts,
      state: containerState,
    })),
  };
}

function startOf(state: InstanceState): number | undefined {
  return state.kind === "starting" ? undefined : state.startedMs;
}
