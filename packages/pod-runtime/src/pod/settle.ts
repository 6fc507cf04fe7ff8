import { begunAnew, isLive, isUp, newContainer, type ContainerRecord } from "./container-life.ts";
import { beginStop, stopEffect, warning, type ContainerContext } from "./container-step.ts";
import type { Instant } from "./instant.ts";
import { activeDeadlineMs, pullErrorShownMs } from "./next-due.ts";
import type { PodEffect, Step } from "./pod-effect.ts";
import { beginResize, resizeWish } from "./resize.ts";
import { terminationGraceMs, type DesiredContainer } from "./desired-pod.ts";
import type { PodEnding, PodState } from "./pod-state.ts";
import { hasItsResources, settledWhole, wholeStep } from "./whole-pod.ts";

/** Starts everything that the state calls for now. Idempotent: a second call at the same moment starts nothing. */
export function settle(state: PodState, now: Instant): Step<PodState> {
  const draft = new Draft(state, now);
  draft.endIfDue();
  draft.endWaits();
  draft.resizePod();
  draft.resizeContainers();
  draft.stopContainers();
  draft.moveStage();
  draft.startContainers();
  return draft.result();
}

/** One pass over a pod, for the duration of one call of {@link settle}. */
class Draft {
  #state: PodState;
  readonly #now: Instant;
  readonly #effects: PodEffect[] = [];

  constructor(state: PodState, now: Instant) {
    this.#state = state;
    this.#now = now;
  }

  result(): Step<PodState> {
    return { state: this.#state, effects: this.#effects };
  }

  /** Ends the pod if its deadline is over, its main containers have ended, or an init container has failed for good. */
  endIfDue(): void {
    if (this.#state.ending) return;
    const nowMs = this.#now.monotonicMs;
    const deadlineMs = nowMs + terminationGraceMs(this.#state.desired.pod);
    const activeUntilMs = activeDeadlineMs(this.#state);
    if (activeUntilMs !== undefined && activeUntilMs <= nowMs) {
      const message = "Pod was active on the node longer than the specified deadline";
      this.#effects.push({ kind: "event", type: "Normal", reason: "DeadlineExceeded", message });
      this.#end({ why: "failed", deadlineMs, reason: "DeadlineExceeded", message });
    } else if (this.#isThrough()) this.#end({ why: "finished", deadlineMs });
  }

  #end(ending: PodEnding): void {
    this.#state = { ...this.#state, ending };
  }

  #isThrough(): boolean {
    const mains = this.#of("main");
    const hasFailed = this.#of("init").some(({ record }) => record.life.kind === "ended" && !record.isInitialized);
    return hasFailed || mains.every(({ record }) => record.life.kind === "ended");
  }

  /** Starts containers whose back-off has expired, unless the pod is ending. */
  endWaits(): void {
    const nowMs = this.#now.monotonicMs;
    for (const { desired, record } of this.#all()) {
      const { life } = record;
      if (this.#state.ending) {
        if (life.kind === "idle" || life.kind === "pulling" || life.kind === "waiting")
          this.#set(desired, { ...record, life: { kind: "ended" } });
      } else if (life.kind === "waiting" && life.untilMs <= nowMs) this.#set(desired, begunAnew(record));
      else if (life.kind === "waiting" && life.reason === "ErrImagePull" && life.sinceMs + pullErrorShownMs <= nowMs) {
        const message = `Back-off pulling image "${life.volumeImage ?? desired.container.image}"`;
        this.#set(desired, {
          ...record,
          life: { ...life, reason: "ImagePullBackOff", message: `${message}: ErrImagePull: ${life.message}` },
        });
        // Like a kubelet, reports problems with a volume's image on the pod.
        const about = life.volumeImage === undefined ? desired : undefined;
        this.#effects.push({ kind: "event", type: "Normal", reason: "BackOff", message, container: about?.name });
        if (about) this.#effects.push(warning("Failed", "Error: ImagePullBackOff", about));
      }
    }
  }

  /** The pod's cgroup grows before its containers, and shrinks after them. */
  resizePod(): void {
    const { stage, ending, desired, whole } = this.#state;
    if (ending || stage.kind !== "up") return;
    const next = wholeStep(whole, {
      target: desired.whole,
      sandboxId: stage.sandboxId,
      areContainersDone: () => this.#all().every(({ desired, record }) => hasItsResources(record, desired)),
      now: this.#now,
    });
    this.#state = { ...this.#state, whole: next.whole };
    if (next.effect) this.#effects.push(next.effect);
  }

  /** Changes resources in place where the container allows it. */
  resizeContainers(): void {
    if (this.#state.ending || this.#state.whole.change?.step === "growing") return;
    for (const { desired, record } of this.#all()) {
      if (record.specHash !== desired.specHash || resizeWish(record, desired, this.#now) !== "resize") continue;
      const resize = beginResize(record, desired);
      this.#set(desired, resize.state);
      this.#effects.push(...resize.effects);
    }
  }

  stopContainers(): void {
    for (const { desired, record } of this.#all()) this.#goOnStopping(desired, record);
    for (const { desired, record } of this.#toStop()) {
      const { ending } = this.#state;
      const why = isChanged({ desired, record }) ? "definition changed, will be restarted" : "resize requires restart";
      const message = ending ? `Stopping container ${desired.name}` : `Container ${desired.name} ${why}`;
      const deadlineMs = ending?.deadlineMs ?? this.#now.monotonicMs + terminationGraceMs(this.#state.desired.pod);
      const hasToWait = ending !== undefined && !this.#isItsTurn(desired);
      const wish = { why: ending ? ("podEnding" as const) : ("changed" as const), deadlineMs, message, hasToWait };
      const stop = beginStop(record, wish, this.#context(desired));
      this.#set(desired, stop.state);
      this.#effects.push(...stop.effects);
    }
  }

  /** Continues a stop: less grace, a hook that has ended or takes too long, other containers that have ended, a stop that failed. */
  #goOnStopping(desired: DesiredContainer, record: ContainerRecord): void {
    const { life } = record;
    if (life.kind !== "preStop" && life.kind !== "stopping") return;
    const nowMs = this.#now.monotonicMs;
    const deadlineMs = Math.min(life.deadlineMs, this.#state.ending?.deadlineMs ?? Infinity);
    const isShorter = deadlineMs < life.deadlineMs;
    const isRetry = life.retryAtMs !== undefined && life.retryAtMs <= nowMs;
    const mayStop = life.isHookOver && (life.why !== "podEnding" || this.#isItsTurn(desired));
    const isStop = life.kind === "preStop" && (mayStop || deadlineMs <= nowMs);
    if (!isShorter && !isRetry && !isStop) return;
    const next = { ...life, kind: isStop ? ("stopping" as const) : life.kind, deadlineMs, retryAtMs: undefined };
    this.#set(desired, { ...record, life: next });
    if (next.kind === "stopping") this.#effects.push(stopEffect(desired, next, this.#now));
  }

  /** All containers if the pod is ending, else those whose spec has changed. */
  #toStop(): readonly Entry[] {
    const all = this.#all();
    if (this.#state.ending) return all;
    return all.filter(
      ({ desired, record }) =>
        record.life.kind === "running" && (isChanged({ desired, record }) || resizeWish(record, desired, this.#now) === "restart"),
    );
  }

  /**
   * A sidecar is stopped after the main containers and the sidecars that follow it have ended, or when the grace period is over. All other
   * containers are stopped at once. Source: kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_termination_order.go.
   */
  #isItsTurn({ name, role }: DesiredContainer): boolean {
    if (role !== "sidecar") return true;
    const sidecars = this.#of("sidecar");
    const later = sidecars.slice(sidecars.findIndex(({ desired }) => desired.name === name) + 1);
    return [...this.#of("main"), ...later].every(({ record }) => !isLive(record.life));
  }

  moveStage(): void {
    const { stage, ending } = this.#state;
    const nowMs = this.#now.monotonicMs;
    const isIdle = this.#all().every(({ record }) => !isLive(record.life));
    if (stage.kind === "up" && ending && isIdle) this.#stopSandbox(stage.sandboxId);
    else if (stage.kind === "stoppingSandbox" && isDue(stage.untilMs, nowMs)) this.#stopSandbox(stage.sandboxId);
    else if (stage.kind === "removing" && isDue(stage.untilMs, nowMs)) this.#remove();
    else if ((stage.kind === "noSandbox" || stage.kind === "sandboxFailed") && ending) this.#finish();
    else if (stage.kind === "noSandbox") this.#createSandbox(stage.failures);
    else if (stage.kind === "sandboxFailed" && stage.untilMs <= nowMs) this.#createSandbox(stage.failures);
    if (this.#state.stage.kind === "finished" && this.#state.isDeleted) this.#remove();
  }

  /** Processes that may still run in dead sandboxes are stopped first. */
  #finish(): void {
    const [sandboxId, ...deadSandboxes] = this.#state.deadSandboxes;
    this.#state = { ...this.#state, deadSandboxes, stage: { kind: "finished" } };
    if (sandboxId !== undefined) this.#stopSandbox(sandboxId);
  }

  #createSandbox(failures: number): void {
    const attempt = this.#state.sandboxAttempt + 1;
    const whole = settledWhole(this.#state.desired);
    this.#state = { ...this.#state, whole, sandboxAttempt: attempt, stage: { kind: "creatingSandbox", attempt, failures } };
    this.#effects.push({ kind: "createSandbox", attempt });
  }

  #stopSandbox(sandboxId: string): void {
    this.#state = { ...this.#state, stage: { kind: "stoppingSandbox", sandboxId } };
    this.#effects.push({ kind: "stopSandbox", sandboxId });
  }

  #remove(): void {
    this.#state = { ...this.#state, stage: { kind: "removing" } };
    this.#effects.push({ kind: "removeAll" });
  }

  /**
   * Starts init containers one after another, sidecars in their turn, then main containers in order, each once the one before has started
   * or failed to start. Ephemeral containers wait for none. Source: SyncPod in kubernetes v1.36.3
   * pkg/kubelet/kuberuntime/kuberuntime_manager.go.
   */
  startContainers(): void {
    if (this.#state.stage.kind !== "up" || this.#state.ending) return;
    for (const entry of this.#of("ephemeral")) this.#begin(entry);
    for (const entry of this.#all()) {
      if (entry.desired.role === "ephemeral") continue;
      // A sidecar that has started once is restarted at any time.
      if (entry.desired.role !== "init" || !entry.record.isInitialized) this.#begin(entry);
      if (entry.desired.role !== "main" && !entry.record.isInitialized) return;
      if (entry.desired.role === "main" && this.#isBeingStarted(entry.desired)) return;
    }
  }

  /**
   * A start includes the postStart hook, which some proxies use to delay the containers after them, and the stop after a failed hook. Other
   * failures of a start delay nothing.
   */
  #isBeingStarted({ name }: DesiredContainer): boolean {
    const { life } = this.#state.containers.get(name) ?? newContainer;
    return life.kind === "pulling" || (isLive(life) && !isUp(life));
  }

  #begin({ desired, record }: Entry): void {
    if (record.life.kind !== "idle") return;
    this.#set(desired, { ...record, life: { kind: "pulling" } });
    this.#effects.push({ kind: "ensureImage", container: desired.name, specHash: desired.specHash });
  }

  #context(desired: DesiredContainer): ContainerContext {
    return { desiredPod: this.#state.desired, desired, now: this.#now, isEnding: this.#state.ending !== undefined };
  }

  #set(desired: DesiredContainer, record: ContainerRecord): void {
    this.#state = { ...this.#state, containers: new Map(this.#state.containers).set(desired.name, record) };
  }

  #all(): readonly Entry[] {
    return this.#state.desired.containers.map((desired) => ({ desired, record: this.#state.containers.get(desired.name) ?? newContainer }));
  }

  #of(role: DesiredContainer["role"]): readonly Entry[] {
    return this.#all().filter(({ desired }) => desired.role === role);
  }
}

interface Entry {
  readonly desired: DesiredContainer;
  readonly record: ContainerRecord;
}

/** Whether the spec has changed since the container started. Init containers are not restarted for that. */
function isChanged({ desired, record }: Entry): boolean {
  return desired.role !== "init" && record.specHash !== desired.specHash;
}

function isDue(untilMs: number | undefined, nowMs: number): boolean {
  return untilMs !== undefined && untilMs <= nowMs;
}
