import type { ContainerStatus, Pod, PodSpec, ProviderPodStatus } from "@virtual-kubelet/core";
import type { Instant } from "../pod/instant.ts";
import type { PodEffect, PodNotice } from "../pod/pod-effect.ts";
import type { PodEvent } from "../pod/pod-event.ts";
import { desiredPodOf } from "../pod/desired-pod.ts";
import { podReport } from "../pod/pod-report.ts";
import type { PodState } from "../pod/pod-state.ts";
import { newPod, podStep } from "../pod/pod-step.ts";
import { nextDueMs } from "../pod/next-due.ts";

const startMs = Date.UTC(2026, 0, 1);

/** A pod with these fields of the spec. Default: one container `app`. */
export function podWith(spec: Partial<PodSpec>): Pod {
  return {
    metadata: { namespace: "default", name: "web", uid: "u1" },
    spec: { restartPolicy: "Always", containers: [{ name: "app", image: "app:1" }], ...spec },
  };
}

/** Drives the state machine, and keeps its effects until they are answered. */
export class PodRig {
  state: PodState;
  elapsedMs = 0;
  /** Effects without an answer, in order. */
  asked: PodEffect[] = [];
  events: string[] = [];
  /** Events for users, in order. */
  notices: PodNotice[] = [];
  /** Ids of the containers to remove, in order. */
  removed: string[] = [];
  #ids = 0;

  constructor(pod: Pod) {
    this.state = newPod(desiredPodOf(pod), this.now);
    this.send({ kind: "tick" });
  }

  get now(): Instant {
    return { wallMs: startMs + this.elapsedMs, monotonicMs: this.elapsedMs };
  }

  get report(): ProviderPodStatus {
    return podReport(this.state, "fake");
  }

  send(event: PodEvent): void {
    const { state, effects } = podStep(this.state, event, this.now);
    this.state = state;
    for (const effect of effects) {
      if (effect.kind === "event") {
        this.events.push(`${effect.reason}: ${effect.message}`);
        this.notices.push(effect);
      } else if (effect.kind === "removeContainer") this.removed.push(effect.id);
      else this.asked.push(effect);
    }
  }

  /** Advances the clock, with a tick whenever one is due. */
  pass(ms: number): void {
    const untilMs = this.elapsedMs + ms;
    for (let due = nextDueMs(this.state); due !== undefined && due <= untilMs; due = nextDueMs(this.state)) {
      this.elapsedMs = Math.max(this.elapsedMs, due);
      this.send({ kind: "tick" });
    }
    this.elapsedMs = untilMs;
  }

  /** Effects without an answer, in short form: `ensureImage app`. */
  get open(): readonly string[] {
    return this.asked.map((effect) => ("container" in effect ? `${effect.kind} ${effect.container}` : effect.kind));
  }

  /** Takes the first open effect of a kind, and of a container if given. */
  take<Kind extends PodEffect["kind"]>(kind: Kind, container?: string): Extract<PodEffect, { kind: Kind }> {
    const isWanted = (effect: PodEffect): effect is Extract<PodEffect, { kind: Kind }> =>
      effect.kind === kind && (container === undefined || ("container" in effect && effect.container === container));
    const found = this.asked.find(isWanted);
    if (!found) throw new Error(`no ${kind} ${container ?? ""} is asked for, but ${this.open.join(", ")}`);
    this.asked.splice(this.asked.indexOf(found), 1);
    return found;
  }

  /** Answers an effect with success. */
  answer(effect: PodEffect): void {
    switch (effect.kind) {
      case "createSandbox":
        return this.send({ kind: "sandboxCreated", attempt: effect.attempt, sandboxId: `s${effect.attempt}`, ips: ["10.0.0.1"] });
      case "stopSandbox":
        return this.send({ kind: "sandboxStopped", sandboxId: effect.sandboxId });
      case "removeAll":
        return this.send({ kind: "removed" });
      case "growPod":
        return this.send({ ...effect, kind: "podGrown" });
      case "fitPod":
        return this.send({ ...effect, kind: "podFitted" });
      case "ensureImage":
        return this.send({ ...effect, kind: "imageReady", image: { name: "app:1", id: "app@sha256:1" } });
      case "startContainer":
        return this.send({ ...effect, kind: "started", id: `c${++this.#ids}`, startedAtMs: this.now.wallMs });
      case "resizeContainer":
        return this.send({ ...effect, kind: "resized" });
      case "stopContainer":
        return this.exit(effect.container, 143, effect.id);
      case "runHook":
        return this.send({ ...effect, kind: "hookEnded" });
      default:
        return undefined;
    }
  }

  /** Answers all effects, until none is left. */
  answerAll(): void {
    for (let effect = this.asked.shift(); effect; effect = this.asked.shift()) this.answer(effect);
  }

  /** Ends the container's process. */
  exit(container: string, exitCode: number, id: string = this.idOf(container)): void {
    const reason = exitCode === 0 ? "Completed" : "Error";
    this.send({
      kind: "exited",
      container,
      id,
      termination: { exitCode, reason, finishedAtMs: this.now.wallMs, startedAtMs: this.now.wallMs, id },
    });
  }

  idOf(container: string): string {
    const life = this.state.containers.get(container)?.life;
    return life && "instance" in life ? life.instance.id : "none";
  }

  status(container: string): ContainerStatus {
    const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = this.report;
    const all = [...(initContainerStatuses ?? []), ...(containerStatuses ?? []), ...(ephemeralContainerStatuses ?? [])];
    const found = all.find(({ name }) => name === container);
    if (!found) throw new Error(`no status of ${container}`);
    return structuredClone(found) as ContainerStatus;
  }
}
