import type { Clock, DeepReadonly, Owner, Pod } from "@virtual-kubelet/core";
import type { Chance } from "./chance.ts";
import { containersOf, type ContainerRun, type ContainerState, type Instance } from "./instance.ts";
import type { Trace } from "./trace.ts";

/** How long the back end takes, in milliseconds. */
export interface BackEndTimings {
  readonly startMs: number;
  readonly stopMs: number;
  /** From one run of a container to its next. */
  readonly restartMs: number;
  /** How long what has ended stays to be seen. */
  readonly keepEndedMs: number;
  /** Longest time in which what a deleted pod used is released; a second deletion does not shorten it. Default: `keepEndedMs`. */
  readonly releaseMs?: number | undefined;
  /** Longest time for which an instance that has ended by itself stays. Default: until it is deleted. */
  readonly forgetsEndedMs?: number | undefined;
}

/** Options of a {@link BackEnd}. */
export interface BackEndOptions {
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
  /** Called when an instance that has ended by itself is about to be removed. */
  readonly onForgotten: (instance: Instance) => void;
}

/**
 * A cloud in which the pods run. It is no part of the program: it goes on when the program is killed, and carries out
 * calls whose callers are long gone.
 */
export class BackEnd {
  readonly #options: BackEndOptions;
  readonly #instances = new Map<string, Instance>();
  readonly #idsByUid = new Map<string, Set<string>>();
  /** By instance and what is ahead of it. */
  readonly #timers = new Map<string, Map<string, Disposable>>();
  #made = 0;
  #calls = 0;

  constructor(options: BackEndOptions) {
    this.#options = options;
  }

  /** See {@link BackEndOptions.isIdempotent}. */
  get isIdempotent(): boolean {
    return this.#options.isIdempotent;
  }

  /** All instances, in the order in which they were made. */
  list(): Instance[] {
    return [...this.#instances.values()];
  }

  /** The pod's instances. */
  of(uid: string): Instance[] {
    return [...(this.#idsByUid.get(uid) ?? [])].flatMap((id) => this.#instances.get(id) ?? []);
  }

  /** Returns the number of a new call; later calls have greater numbers. */
  nextCall(): number {
    return ++this.#calls;
  }

  /** Makes an instance, unless the pod has one and the back end tells. */
  create(pod: DeepReadonly<Pod>, owner: Owner, isLate: boolean): void {
    const { chance, clock, isIdempotent, timings, trace } = this.#options;
    const { metadata = {}, spec } = pod;
    const ref = { namespace: metadata.namespace ?? "", name: metadata.name ?? "", uid: metadata.uid ?? "" };
    if (isIdempotent && this.of(ref.uid).length > 0) return;
    const number = ++this.#made;
    const instance: Instance = {
      id: `instance-${number}`,
      ref,
      owner,
      podIP: `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
      createdMs: clock.monotonic(),
      restartPolicy: spec?.restartPolicy ?? "Always",
      isLate,
      applied: pod,
      appliedBy: 0,
      containers: containersOf(pod),
      state: { kind: "starting" },
    };
    trace.add("back end: made", instance.id, "for", ref.name, ref.uid, isLate ? "(late)" : "");
    this.#set(instance, "created");
    const hasInit = instance.containers.some(({ role }) => role !== "main");
    this.#after(instance.id, "start", timings.startMs === 0 ? 0 : chance.between(timings.startMs / 2, timings.startMs), () =>
      this.#startInit(instance.id, hasInit ? chance.between(0, timings.startMs / 2) : 0),
    );
  }

  /** Gives the pod's instances a changed pod. @param call - see {@link nextCall} */
  update(pod: DeepReadonly<Pod>, call: number): void {
    for (const instance of this.of(pod.metadata?.uid ?? "")) {
      if (this.#options.isIdempotent && call < instance.appliedBy) continue;
      this.#set({ ...instance, applied: pod, appliedBy: call }, "changed");
    }
  }

  /** Tells the pod's instances to end: nothing is restarted any more, sidecars end last. */
  stop(uid: string, gracePeriodSeconds: number): void {
    const { chance, clock, timings } = this.#options;
    const nowMs = clock.monotonic();
    for (const instance of this.of(uid)) {
      const { state } = instance;
      if (state.kind === "ended") {
        if (!this.#isReleasing(instance.id)) this.#remove(instance);
        continue;
      }
      const ownEndMs = state.kind === "stopping" ? state.endsMs : nowMs + chance.between(0, timings.stopMs);
      const endsMs = Math.min(ownEndMs, nowMs + gracePeriodSeconds * 1000);
      const containers = instance.containers.map((run) => settled(run));
      this.#clear(instance.id);
      this.#set({ ...instance, containers, state: { kind: "stopping", endsMs, isTold: true } }, "changed");
      if (endsMs <= nowMs || containers.every((run) => run.state.kind === "ended")) this.#end(instance.id);
      else {
        this.#schedule(instance.id, "end", endsMs - nowMs, () => this.#end(instance.id));
        const mainsMs = chance.between(0, endsMs - nowMs);
        if (hasSidecar(instance)) this.#schedule(instance.id, "mains", mainsMs, () => this.#endMains(instance.id));
      }
    }
  }

  /**
   * A container of the pod ends by itself; what is to be restarted is, after a while. With its last main container the pod
   * ends, and its sidecars are told to.
   *
   * @param name - default: the pod's first main container
   */
  exit(uid: string, exitCode: number, name?: string): void {
    const { chance, clock, timings, trace } = this.#options;
    for (const instance of this.of(uid)) {
      const run = instance.containers.find((each) => (name === undefined ? each.role === "main" : each.name === name));
      if (instance.state.kind !== "running" || run?.state.kind !== "running") continue;
      const { restartPolicy } = instance;
      const isRestarted = run.role === "sidecar" || restartPolicy === "Always" || (restartPolicy === "OnFailure" && exitCode !== 0);
      const endedMs = clock.monotonic();
      trace.add("back end:", instance.id, run.name, "exits with", exitCode);
      this.#setContainer(instance, run, { kind: "ended", startedMs: run.state.startedMs, endedMs, exitCode, isRestarting: isRestarted });
      if (isRestarted) {
        const restartMs = chance.between(timings.restartMs / 2, timings.restartMs);
        this.#after(instance.id, run.name, restartMs, () => this.#restart(instance.id, run.name));
      } else this.#endIfThrough(instance.id);
    }
  }

  /** The pod's instances vanish, as when their host does. */
  lose(uid: string): void {
    for (const instance of this.of(uid)) {
      this.#options.trace.add("back end: loses", instance.id, "of", instance.ref.name, uid);
      this.#remove(instance);
    }
  }

  /** Init containers are through, sidecars run; the main containers follow. */
  #startInit(id: string, mainsAfterMs: number): void {
    const instance = this.#instances.get(id);
    if (instance?.state.kind !== "starting") return;
    const nowMs = this.#options.clock.monotonic();
    const began = (run: ContainerRun): ContainerState =>
      run.role === "init"
        ? { kind: "ended", startedMs: nowMs, endedMs: nowMs, exitCode: 0, isRestarting: false }
        : run.role === "sidecar"
          ? { kind: "running", startedMs: nowMs }
          : run.state;
    if (mainsAfterMs > 0)
      this.#set({ ...instance, containers: instance.containers.map((run) => ({ ...run, state: began(run) })) }, "changed");
    this.#after(id, "start", mainsAfterMs, () => {
      const current = this.#instances.get(id);
      if (current?.state.kind !== "starting") return;
      const startedMs = this.#options.clock.monotonic();
      const containers = current.containers.map((run): ContainerRun => {
        const state = began(run);
        return { ...run, state: state.kind === "waiting" ? { kind: "running", startedMs } : mainsAfterMs > 0 ? run.state : state };
      });
      this.#set({ ...current, containers, state: { kind: "running" } }, "changed");
    });
  }

  #restart(id: string, name: string): void {
    const instance = this.#instances.get(id);
    const run = instance?.containers.find((each) => each.name === name);
    if (!instance || !run || instance.state.kind !== "running" || run.state.kind !== "ended" || !run.state.isRestarting) return;
    const restarted: ContainerRun = { ...run, restarts: run.restarts + 1 };
    this.#setContainer(instance, restarted, { kind: "running", startedMs: this.#options.clock.monotonic() });
  }

  /** Ends an instance by itself whose main containers are through; its running sidecars take their time. */
  #endIfThrough(id: string): void {
    const { chance, clock, timings } = this.#options;
    const instance = this.#instances.get(id);
    if (!instance || instance.state.kind !== "running") return;
    const isThrough = (run: ContainerRun): boolean => run.role !== "main" || (run.state.kind === "ended" && !run.state.isRestarting);
    if (!instance.containers.every(isThrough)) return;
    const hasRunningSidecar = instance.containers.some(({ role, state }) => role === "sidecar" && state.kind === "running");
    const stopMs = hasRunningSidecar ? chance.between(0, timings.stopMs) : 0;
    const endsMs = clock.monotonic() + stopMs;
    this.#set({ ...instance, state: { kind: "stopping", endsMs, isTold: false } }, "changed");
    this.#after(id, "end", stopMs, () => this.#end(id));
  }

  #endMains(id: string): void {
    const instance = this.#instances.get(id);
    if (instance?.state.kind !== "stopping") return;
    const endedMs = this.#options.clock.monotonic();
    const containers = instance.containers.map((run) => (run.role === "main" ? ended(run, endedMs) : run));
    // Sidecars that were never started are not waited for.
    if (containers.some(({ state }) => state.kind === "running")) this.#set({ ...instance, containers }, "changed");
    else this.#end(id);
  }

  #end(id: string): void {
    const { chance, clock, timings, trace } = this.#options;
    const instance = this.#instances.get(id);
    if (!instance || instance.state.kind === "ended") return;
    trace.add("back end: ended", id, "of", instance.ref.name, instance.ref.uid);
    const isTold = instance.state.kind === "stopping" && instance.state.isTold;
    const endedMs = clock.monotonic();
    const containers = instance.containers.map((run) => ended(run, endedMs));
    const failed = containers.some(({ role, state }) => role === "main" && state.kind === "ended" && state.exitCode !== 0);
    const { releaseMs } = timings;
    const hasAddress = isTold && releaseMs !== undefined;
    const over: Instance = { ...instance, containers, state: { kind: "ended", endedMs, exitCode: failed ? 1 : 0, hasAddress } };
    this.#clear(id);
    this.#set(over, "changed");
    // What ended by itself stays until it is deleted, or forgotten.
    if (hasAddress) this.#release(over, releaseMs);
    else if (isTold) this.#after(id, "remove", timings.keepEndedMs, () => this.#remove(over));
    else if (timings.forgetsEndedMs !== undefined)
      this.#schedule(id, "remove", chance.between(0, timings.forgetsEndedMs), () => this.#forget(over));
  }

  /** First the addresses are free, then the rest. */
  #release(instance: Instance, longestMs: number): void {
    const { chance } = this.#options;
    const { id, state } = instance;
    if (state.kind !== "ended") return;
    const releaseMs = chance.between(0, longestMs);
    const free: Instance = { ...instance, state: { ...state, hasAddress: false } };
    this.#schedule(id, "address", chance.between(0, releaseMs), () => this.#set(free, "changed"));
    this.#schedule(id, "remove", releaseMs, () => this.#remove(instance));
  }

  #forget(instance: Instance): void {
    const { onForgotten, trace } = this.#options;
    trace.add("back end: forgets", instance.id, "of", instance.ref.name, instance.ref.uid);
    onForgotten(instance);
    this.#remove(instance);
  }

  #isReleasing(id: string): boolean {
    return this.#options.timings.releaseMs !== undefined && this.#timers.get(id)?.has("remove") === true;
  }

  #setContainer(instance: Instance, run: ContainerRun, state: ContainerState): void {
    this.#set(
      { ...instance, containers: instance.containers.map((each) => (each.name === run.name ? { ...run, state } : each)) },
      "changed",
    );
  }

  #set(instance: Instance, change: "created" | "changed"): void {
    this.#instances.set(instance.id, instance);
    const ids = this.#idsByUid.get(instance.ref.uid) ?? new Set();
    this.#idsByUid.set(instance.ref.uid, ids.add(instance.id));
    this.#options.onChange(instance, change);
  }

  #remove(instance: Instance): void {
    this.#clear(instance.id);
    this.#timers.delete(instance.id);
    this.#idsByUid.get(instance.ref.uid)?.delete(instance.id);
    if (this.#instances.delete(instance.id)) this.#options.onChange(instance, "removed");
  }

  #after(id: string, what: string, ms: number, callback: () => void): void {
    if (ms === 0) callback();
    else this.#schedule(id, what, ms, callback);
  }

  #schedule(id: string, what: string, ms: number, callback: () => void): void {
    const timers = this.#timers.get(id) ?? new Map<string, Disposable>();
    this.#timers.set(id, timers);
    timers.get(what)?.[Symbol.dispose]();
    timers.set(
      what,
      this.#options.clock.setTimer(ms, () => {
        timers.delete(what);
        callback();
      }),
    );
  }

  /** Nothing of what was ahead of the instance comes any more. */
  #clear(id: string): void {
    const timers = this.#timers.get(id);
    for (const timer of timers?.values() ?? []) timer[Symbol.dispose]();
    timers?.clear();
  }
}

function hasSidecar({ containers }: Instance): boolean {
  return containers.some(({ role }) => role === "sidecar");
}

/** A container that is not restarted any more. */
function settled(run: ContainerRun): ContainerRun {
  return run.state.kind === "ended" ? { ...run, state: { ...run.state, isRestarting: false } } : run;
}

function ended(run: ContainerRun, endedMs: number): ContainerRun {
  const { state } = run;
  if (state.kind === "ended") return settled(run);
  const startedMs = state.kind === "running" ? state.startedMs : undefined;
  return { ...run, state: { kind: "ended", startedMs, endedMs, exitCode: 0, isRestarting: false } };
}
