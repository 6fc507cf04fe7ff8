import { begunAnew, isLive, isUp, newContainer, type ContainerRecord } from "./container-life.ts";
import { beginStop, stopEffect, warning, type ContainerContext } from "./container-step.ts";
import type { Instant } from "./instant.ts";
import { activeDeadlineMs, pullErrorShownMs } from "./next-due.ts";
import type { PodEffect, Step } from "./pod-effect.ts";
import { beginResize, resizeWish } from "./resize.ts";
import { terminationGraceMs, type PlannedContainer } from "./pod-plan.ts";
import type { PodEnding, PodState } from "./pod-state.ts";
import { hasItsResources, settledWhole, wholeStep } from "./whole-pod.ts";

/** Begins all that the state calls for now. Settled again at the same moment, it begins nothing. */
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

/** One pass over a pod. Lives no longer than a call of {@link settle}. */
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

  /** The pod ends by itself when its deadline is over, its containers are through, or an init container failed for good. */
  endIfDue(): void {
    if (this.#state.ending) return;
    const nowMs = this.#now.monotonicMs;
    const deadlineMs = nowMs + terminationGraceMs(this.#state.plan.pod);
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

  /** What has waited long enough may begin; in an ending pod nothing begins any more. */
  endWaits(): void {
    const nowMs = this.#now.monotonicMs;
    for (const { planned, record } of this.#all()) {
      const { life } = record;
      if (this.#state.ending) {
        if (life.kind === "idle" || life.kind === "pulling" || life.kind === "waiting")
          this.#set(planned, { ...record, life: { kind: "ended" } });
      } else if (life.kind === "waiting" && life.untilMs <= nowMs) this.#set(planned, begunAnew(record));
      else if (life.kind === "waiting" && life.reason === "ErrImagePull" && life.sinceMs + pullErrorShownMs <= nowMs) {
        const message = `Back-off pulling image "${life.volumeImage ?? planned.container.image}"`;
        this.#set(planned, {
          ...record,
          life: { ...life, reason: "ImagePullBackOff", message: `${message}: ErrImagePull: ${life.message}` },
        });
        // What concerns a volume's image is told of the pod, as with a kubelet.
        const about = life.volumeImage === undefined ? planned : undefined;
        this.#effects.push({ kind: "event", type: "Normal", reason: "BackOff", message, container: about?.name });
        if (about) this.#effects.push(warning("Failed", "Error: ImagePullBackOff", about));
      }
    }
  }

  /** The pod as a whole grows before its containers, and shrinks after them. */
  resizePod(): void {
    const { stage, ending, plan, whole } = this.#state;
    if (ending || stage.kind !== "up") return;
    const next = wholeStep(whole, {
      target: plan.whole,
      sandboxId: stage.sandboxId,
      areContainersDone: () => this.#all().every(({ planned, record }) => hasItsResources(record, planned)),
      now: this.#now,
    });
    this.#state = { ...this.#state, whole: next.whole };
    if (next.effect) this.#effects.push(next.effect);
  }

  /** Changes resources in place where the container lets it. */
  resizeContainers(): void {
    if (this.#state.ending || this.#state.whole.change?.step === "growing") return;
    for (const { planned, record } of this.#all()) {
      if (record.specHash !== planned.specHash || resizeWish(record, planned, this.#now) !== "resize") continue;
      const resize = beginResize(record, planned);
      this.#set(planned, resize.state);
      this.#effects.push(...resize.effects);
    }
  }

  stopContainers(): void {
    for (const { planned, record } of this.#all()) this.#goOnStopping(planned, record);
    for (const { planned, record } of this.#toStop()) {
      const { ending } = this.#state;
      const why = isChanged({ planned, record }) ? "definition changed, will be restarted" : "resize requires restart";
      const message = ending ? `Stopping container ${planned.name}` : `Container ${planned.name} ${why}`;
      const deadlineMs = ending?.deadlineMs ?? this.#now.monotonicMs + terminationGraceMs(this.#state.plan.pod);
      const hasToWait = ending !== undefined && !this.#isItsTurn(planned);
      const wish = { why: ending ? ("podEnding" as const) : ("changed" as const), deadlineMs, message, hasToWait };
      const stop = beginStop(record, wish, this.#context(planned));
      this.#set(planned, stop.state);
      this.#effects.push(...stop.effects);
    }
  }

  /** Less grace, a hook that is through or takes too long, others that have ended, a stop that failed. */
  #goOnStopping(planned: PlannedContainer, record: ContainerRecord): void {
    const { life } = record;
    if (life.kind !== "preStop" && life.kind !== "stopping") return;
    const nowMs = this.#now.monotonicMs;
    const deadlineMs = Math.min(life.deadlineMs, this.#state.ending?.deadlineMs ?? Infinity);
    const isShorter = deadlineMs < life.deadlineMs;
    const isRetry = life.retryAtMs !== undefined && life.retryAtMs <= nowMs;
    const mayStop = life.isHookOver && (life.why !== "podEnding" || this.#isItsTurn(planned));
    const isStop = life.kind === "preStop" && (mayStop || deadlineMs <= nowMs);
    if (!isShorter && !isRetry && !isStop) return;
    const next = { ...life, kind: isStop ? ("stopping" as const) : life.kind, deadlineMs, retryAtMs: undefined };
    this.#set(planned, { ...record, life: next });
    if (next.kind === "stopping") this.#effects.push(stopEffect(planned, next, this.#now));
  }

  /** In an ending pod all. Else what has changed. */
  #toStop(): readonly Entry[] {
    const all = this.#all();
    if (this.#state.ending) return all;
    return all.filter(
      ({ planned, record }) =>
        record.life.kind === "running" && (isChanged({ planned, record }) || resizeWish(record, planned, this.#now) === "restart"),
    );
  }

  /**
   * A sidecar ends when the main containers and the sidecars after it have, or when the grace is over; all others at once.
   * Source: kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_termination_order.go.
   */
  #isItsTurn({ name, role }: PlannedContainer): boolean {
    if (role !== "sidecar") return true;
    const sidecars = this.#of("sidecar");
    const later = sidecars.slice(sidecars.findIndex(({ planned }) => planned.name === name) + 1);
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

  /** What may run on in sandboxes that died is stopped first. */
  #finish(): void {
    const [sandboxId, ...deadSandboxes] = this.#state.deadSandboxes;
    this.#state = { ...this.#state, deadSandboxes, stage: { kind: "finished" } };
    if (sandboxId !== undefined) this.#stopSandbox(sandboxId);
  }

  #createSandbox(failures: number): void {
    const attempt = this.#state.sandboxAttempt + 1;
    const whole = settledWhole(this.#state.plan);
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
   * Init containers one after another, sidecars in their turn, then the main ones in order, each as soon as the one before was
   * started or has failed to be; ephemeral ones wait for nobody.
   * Source: SyncPod in kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_manager.go.
   */
  startContainers(): void {
    if (this.#state.stage.kind !== "up" || this.#state.ending) return;
    for (const entry of this.#of("ephemeral")) this.#begin(entry);
    for (const entry of this.#all()) {
      if (entry.planned.role === "ephemeral") continue;
      // A sidecar that was started once is started again at any time.
      if (entry.planned.role !== "init" || !entry.record.isInitialized) this.#begin(entry);
      if (entry.planned.role !== "main" && !entry.record.isInitialized) return;
      if (entry.planned.role === "main" && this.#isBeingStarted(entry.planned)) return;
    }
  }

  /**
   * With its postStart hook, by which some proxies let their pod wait for them, and the end of one whose hook has failed. A start
   * that has failed otherwise is not waited for.
   */
  #isBeingStarted({ name }: PlannedContainer): boolean {
    const { life } = this.#state.containers.get(name) ?? newContainer;
    return life.kind === "pulling" || (isLive(life) && !isUp(life));
  }

  #begin({ planned, record }: Entry): void {
    if (record.life.kind !== "idle") return;
    this.#set(planned, { ...record, life: { kind: "pulling" } });
    this.#effects.push({ kind: "ensureImage", container: planned.name, specHash: planned.specHash });
  }

  #context(planned: PlannedContainer): ContainerContext {
    return { plan: this.#state.plan, planned, now: this.#now, isEnding: this.#state.ending !== undefined };
  }

  #set(planned: PlannedContainer, record: ContainerRecord): void {
    this.#state = { ...this.#state, containers: new Map(this.#state.containers).set(planned.name, record) };
  }

  #all(): readonly Entry[] {
    return this.#state.plan.containers.map((planned) => ({ planned, record: this.#state.containers.get(planned.name) ?? newContainer }));
  }

  #of(role: PlannedContainer["role"]): readonly Entry[] {
    return this.#all().filter(({ planned }) => planned.role === role);
  }
}

interface Entry {
  readonly planned: PlannedContainer;
  readonly record: ContainerRecord;
}

/** Whether it runs with another spec than it should; an init container may end with the one it began with. */
function isChanged({ planned, record }: Entry): boolean {
  return planned.role !== "init" && record.specHash !== planned.specHash;
}

function isDue(untilMs: number | undefined, nowMs: number): boolean {
  return untilMs !== undefined && untilMs <= nowMs;
}
