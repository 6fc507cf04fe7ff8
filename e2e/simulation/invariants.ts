import type { VirtualClock } from "@virtual-kubelet/clock";
import type { PodRef } from "@virtual-kubelet/core";
import { kindFor, type ApiObject, type ApiServer, type Kind } from "@virtual-kubelet/embedded-apiserver";
import type { LogFields, Pod, TransportRequest } from "@virtual-kubelet/kube-client";
import type { BackEnd } from "./back-end.ts";
import { isLive, type Instance } from "./instance.ts";
import type { Trace } from "./trace.ts";

/** Invariants of every world; the numbers are those of the reliability anchors. */
export const invariants = {
  I0: "no failure goes unheard",
  I1: "what the back end holds has a pod, or is swept",
  I2: "a pod has one live instance at most, and none after it was deleted",
  I3: "no pod that is wanted is deleted",
  I4: "an end is final, and comes after the provider's",
  I5: "every pod comes to rest in time",
  I6: "a status names its pod's UID, and is that pod's",
  I7: "the lease is renewed",
  I8: "no secret leaves but to the provider",
  I9: "a program that has stopped holds nothing",
  I10: "of pods that are gone nothing is kept",
  I11: "what fails is tried again ever less often, and not before the time the other side asked for",
  I12: "a deletion reaches the provider in time, with the grace that is left",
  I13: "an instance that has lost its node leaves it alone",
  I14: "no status is written that is older than the one before it",
  I15: "a pod is given the services of its own namespace",
  I16: "a pod whose end was reported does not run again",
} as const;

/** Name of an invariant. */
export type Invariant = keyof typeof invariants;

/** An invariant that did not hold. */
export interface Violation {
  readonly invariant: Invariant;
  readonly problem: string;
  readonly atMs: number;
}

/** A value that only the provider may see. */
export const canary = "canary-7f3a9c";

/** How long a Lease is good for, in milliseconds. */
const leaseMs = 40_000;

/** Options of {@link Invariants}. */
export interface InvariantsOptions {
  readonly server: ApiServer;
  readonly clock: VirtualClock;
  readonly trace: Trace;
  readonly backEnd: () => BackEnd;
  /** Called when a pod was deleted, or began to be. */
  readonly onDeleted: (uid: string, name: string) => void;
  /** Whether a deleted pod ends only when the back end has released all of it. */
  readonly endsWhenGone: boolean;
  /** Whether two instances ran the node at one time: what they say of a pod may be of different age. */
  readonly hadTwoInstances: () => boolean;
  /** Since when the program has held the node, in monotonic milliseconds. */
  readonly heldSinceMs: () => number;
  /** Whether two instances run the node now: neither can know what the other one has just done. */
  readonly isContested: () => boolean;
  /** Since when nothing has gone wrong between the program and the API server, in monotonic milliseconds. */
  readonly calmSinceMs: () => number;
}

interface Grace {
  readonly seconds: number;
  readonly longest: number;
  readonly sinceMs: number;
}

/** Watches over a world. What is seen first is kept; the world goes on as if nobody watched. */
export class Invariants implements Disposable {
  readonly #options: InvariantsOptions;
  readonly #resources = new DisposableStack();
  readonly #pods = new Map<string, Pod>();
  /** Pods that the back end was told to end, and when it first was. */
  readonly #deletedMs = new Map<string, number>();
  /** Since when each pod is to end, whoever wants that. */
  readonly #endWantedMs = new Map<string, number>();
  /** When each pod's deletion began. */
  readonly #deletionMs = new Map<string, number>();
  /** UIDs of the pods that the program has removed from the API server. */
  readonly #removed = new Set<string>();
  readonly #graces = new Map<string, Grace>();
  /** UIDs of the pods whose final phase another writer wrote, and when. */
  readonly #overwrittenMs = new Map<string, number>();
  readonly #addresses = new Map<string, string>();
  /** Calls for each pod since {@link countCalls}. */
  readonly #counts = new Map<string, number>();
  #leaseRenewedMs = 0;
  #violation: Violation | undefined;

  constructor(options: InvariantsOptions) {
    this.#options = options;
    const { cluster } = options.server;
    this.#resources.use(cluster.watch(podKind, ({ type, object }) => this.#onPod(type, toPod(object))));
    this.#resources.use(cluster.watch(leaseKind, () => void (this.#leaseRenewedMs = options.clock.monotonic())));
  }

  /** The first thing that was wrong. */
  get violation(): Violation | undefined {
    return this.#violation;
  }

  /** When the Lease was last written, on the monotonic clock. */
  get leaseRenewedMs(): number {
    return this.#leaseRenewedMs;
  }

  /** Notes that an invariant does not hold. */
  report(invariant: Invariant, problem: string): void {
    const atMs = this.#options.clock.monotonic();
    this.#options.trace.add("VIOLATION:", invariant, problem);
    this.#violation ??= { invariant, problem, atMs };
  }

  /** @param healthySinceMs - since when nothing but the program can keep the Lease from being renewed */
  checkLease(healthySinceMs: number): void {
    const sinceMs = Math.max(healthySinceMs, this.#leaseRenewedMs);
    const ageMs = this.#options.clock.monotonic() - sinceMs;
    if (ageMs > leaseMs) this.report("I7", `the lease was not renewed for ${Math.round(ageMs / 1000)} s`);
  }

  /** Begins to count the calls for each pod. */
  countCalls(): void {
    this.#counts.clear();
  }

  /** @param limit - how many calls there may have been for a pod since {@link countCalls} */
  checkCalls(limit: number): void {
    for (const [uid, count] of this.#counts)
      if (count > limit) this.report("I11", `${count} calls were made for pod ${uid}, which all failed`);
  }

  onLog(fields: LogFields, message: string): void {
    const text = JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.message : value));
    if (text.includes(canary) || message.includes(canary)) this.report("I8", `a secret is in the log: ${message}`);
  }

  onRequest({ method, path, body }: TransportRequest): void {
    const text = typeof body === "string" ? body : "";
    if (text.includes(canary)) this.report("I8", `a secret is in the body of ${method} ${path}`);
    const [, namespace, name, subresource] = podPath.exec(path) ?? [];
    if (name === undefined || namespace === undefined) return;
    if (method === "PATCH" || method === "PUT") this.#onWrite({ method, path, subresource, text });
    if (method === "DELETE") this.#onDelete(namespace, name, text);
  }

  /** Counts a call for a pod. Orphans have no back-off: a sweep tries each once. */
  count(uid: string): void {
    if (this.#pods.has(uid)) this.#counts.set(uid, (this.#counts.get(uid) ?? 0) + 1);
  }

  /** The pod as the API server has it. */
  pod(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  /** See {@link InvariantsOptions.calmSinceMs}. */
  calmSinceMs(): number {
    return this.#options.calmSinceMs();
  }

  /** When the back end was first told to end the pod, in monotonic milliseconds. */
  deletedMs(uid: string): number | undefined {
    return this.#deletedMs.get(uid);
  }

  /** Since when the pod is to end, in monotonic milliseconds. */
  endWantedMs(uid: string): number | undefined {
    return this.#endWantedMs.get(uid);
  }

  /** When the pod's deletion began, in monotonic milliseconds. */
  deletionMs(uid: string): number | undefined {
    return this.#deletionMs.get(uid);
  }

  /** The pod's grace in seconds: as it is, since when it is so, and the longest that it had. */
  graceOf(uid: string): Grace | undefined {
    return this.#graces.get(uid);
  }

  /** UIDs of the pods whose final phase another writer wrote. */
  get overwritten(): ReadonlyMap<string, number> {
    return this.#overwrittenMs;
  }

  /** A user writes the pod's final phase. */
  onOverwritten(uid: string): void {
    this.#overwrittenMs.set(uid, this.#options.clock.monotonic());
  }

  onDeleteEffect(uid: string): void {
    const nowMs = this.#options.clock.monotonic();
    this.#deletedMs.set(uid, Math.min(this.#deletedMs.get(uid) ?? nowMs, nowMs));
  }

  /** @param what - the provider call for the pod */
  checkWanted({ name, uid }: PodRef, what: string): void {
    const pod = this.#pods.get(uid);
    if (pod && this.isWanted(pod)) this.report("I3", `pod ${name} is ${what} at the provider, but wanted`);
  }

  /** Whether nobody has asked for the pod's end, and its time is not up. */
  isWanted({ metadata, spec }: Pod): boolean {
    const uid = metadata?.uid ?? "";
    if (this.#endWantedMs.has(uid)) return false;
    const seconds = spec?.activeDeadlineSeconds;
    // The API's times have whole seconds.
    const aliveMs = this.#options.clock.now() - Date.parse(metadata?.creationTimestamp ?? "") + 1_000;
    return seconds === undefined || aliveMs < seconds * 1000;
  }

  /** Looks at a new instance. */
  onInstance(instance: Instance): void {
    this.#addresses.set(instance.podIP, instance.ref.uid);
    const live = this.#options.backEnd().of(instance.ref.uid).filter(isLive);
    if (live.length > 1) this.report("I2", `pod ${instance.ref.name} has ${live.length} live instances`);
    if (this.#removed.has(instance.ref.uid) && !instance.isLate && !this.#options.isContested())
      this.report("I2", `an instance is made for pod ${instance.ref.name}, which the program has removed while its creation was under way`);
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }

  #onPod(type: "ADDED" | "MODIFIED" | "DELETED", pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    const old = this.#pods.get(uid);
    if (type === "DELETED") this.#pods.delete(uid);
    else this.#pods.set(uid, pod);
    const isDeleted = type === "DELETED" || pod.metadata?.deletionTimestamp !== undefined;
    this.#noteEnd(uid, pod, isDeleted);
    this.#noteGrace(uid, isDeleted ? pod.metadata?.deletionGracePeriodSeconds : pod.spec?.terminationGracePeriodSeconds);
    if (!old) return;
    this.#checkOrder(old, pod);
    this.#checkPhase(uid, old, pod);
  }

  /** Notes since when the pod is to end, and when its deletion began. */
  #noteEnd(uid: string, { metadata, spec, status }: Pod, isDeleted: boolean): void {
    const nowMs = this.#options.clock.monotonic();
    if ((isDeleted || isTerminal(status?.phase)) && !this.#endWantedMs.has(uid)) this.#endWantedMs.set(uid, nowMs);
    if (!isDeleted || this.#deletionMs.has(uid)) return;
    this.#deletionMs.set(uid, nowMs);
    if (spec?.nodeName) this.#options.onDeleted(uid, metadata?.name ?? "");
  }

  /** Notes a change of the pod's grace. */
  #noteGrace(uid: string, seconds: number | undefined): void {
    const known = this.#graces.get(uid);
    if (seconds === undefined || seconds === known?.seconds) return;
    this.#graces.set(uid, { seconds, longest: Math.max(seconds, known?.longest ?? 0), sinceMs: this.#options.clock.monotonic() });
  }

  /** A final phase does not change. */
  #checkPhase(uid: string, old: Pod, { metadata, status }: Pod): void {
    const before = old.status?.phase;
    if (before === status?.phase || !isTerminal(before) || this.#options.isContested()) return;
    // A status that was on its way when another writer ended the pod takes that back: the program could not know.
    const overwrittenMs = this.#overwrittenMs.get(uid);
    const couldKnowMs = Math.max(this.#options.calmSinceMs(), this.#options.heldSinceMs() + 30_000);
    const nowMs = this.#options.clock.monotonic();
    if (overwrittenMs === undefined || (couldKnowMs <= overwrittenMs && overwrittenMs < nowMs - 1_000))
      this.report("I4", `pod ${metadata?.name} goes from ${before} to ${status?.phase}`);
  }

  /** Of one instance's container the runs are counted up. */
  #checkOrder(old: Pod, pod: Pod): void {
    for (const { name, containerID = "" } of pod.status?.containerStatuses ?? []) {
      const before = old.status?.containerStatuses?.find((status) => status.name === name)?.containerID ?? "";
      const [was, is] = [runOf(before), runOf(containerID)];
      if (!this.#options.hadTwoInstances() && was && is && was.of === is.of && is.run < was.run)
        this.report("I14", `container ${name} of pod ${pod.metadata?.name} goes from run ${was.run} back to run ${is.run}`);
    }
  }

  #onWrite({
    method,
    path,
    subresource,
    text,
  }: {
    readonly method: string;
    readonly path: string;
    readonly subresource: string | undefined;
    readonly text: string;
  }): void {
    const body = JSON.parse(text) as { metadata?: { uid?: string }; status?: { phase?: string; podIP?: string } };
    if (subresource !== "status") return this.report("I6", `${method} ${path} writes more than the status`);
    const uid = body.metadata?.uid;
    if (!uid) return this.report("I6", `${method} ${path} names no UID`);
    const podIP = body.status?.podIP;
    if (isTerminal(body.status?.phase) && !isTerminal(this.#pods.get(uid)?.status?.phase) && this.#runs(uid) && !this.#hadEnded(uid))
      this.report("I4", `${path} is to be ${body.status?.phase} while its instance runs`);
    if (podIP && this.#addresses.get(podIP) !== uid) this.report("I6", `${method} ${path} gives a pod the address of another`);
  }

  #onDelete(namespace: string, name: string, text: string): void {
    const { preconditions } = JSON.parse(text || "{}") as { preconditions?: { uid?: string } };
    if (!preconditions?.uid) return this.report("I6", `DELETE of pod ${name} names no UID`);
    const pod = this.#pods.get(preconditions.uid);
    if (!pod || pod.metadata?.name !== name || pod.metadata.namespace !== namespace) return;
    this.#removed.add(preconditions.uid);
    if (!pod.metadata.deletionTimestamp) this.report("I3", `the program deletes pod ${name}, which nobody else deleted`);
    if (this.#runs(preconditions.uid)) this.report("I4", `pod ${name} is removed from the API server while its instance runs`);
    else if (this.#options.endsWhenGone && this.#isHeld(preconditions.uid))
      this.report("I4", `pod ${name} is removed from the API server before the back end has released it`);
    else if (!isTerminal(pod.status?.phase)) this.report("I4", `pod ${name} is removed from the API server before its end is written`);
  }

  /**
   * Whether all that runs had ended for good before: an instance that was lost and made again runs anew what had succeeded, of which
   * nobody may be told.
   */
  #hadEnded(uid: string): boolean {
    const { spec, status } = this.#pods.get(uid) ?? {};
    if (!spec || spec.restartPolicy === "Always") return false;
    const isFinal = (code: number): boolean => code === 0 || spec.restartPolicy === "Never";
    const ended = new Set(
      status?.containerStatuses?.flatMap(({ name, state }) => (state?.terminated && isFinal(state.terminated.exitCode) ? [name] : [])),
    );
    const instances = this.#options.backEnd().of(uid).filter(isLive);
    return instances.every(({ containers }) =>
      containers.every(({ name, role, state }) => role !== "main" || (state.kind === "ended" && !state.isRestarting) || ended.has(name)),
    );
  }

  /** Whether an instance runs that the program could know of. */
  #runs(uid: string): boolean {
    return this.#isHeld(uid, isLive);
  }

  /** Whether the back end holds an instance that the program could know of. */
  #isHeld(uid: string, where: (instance: Instance) => boolean = () => true): boolean {
    if (this.#options.isContested()) return false;
    return this.#options
      .backEnd()
      .of(uid)
      .some((instance) => !instance.isLate && where(instance));
  }
}

/** The embedded API server's kind of pods. */
export const podKind: Kind = kind("", "v1", "pods");
/** Its kind of nodes. */
export const nodeKind: Kind = kind("", "v1", "nodes");
/** Its kind of Leases. */
export const leaseKind: Kind = kind("coordination.k8s.io", "v1", "leases");

/** Path of a pod: its namespace, its name, its subresource. */
const podPath = /^\/api\/v1\/namespaces\/([^/?]+)\/pods\/([^/?]+)(?:\/([^/?]+))?/;

/** The server's objects are of the API's JSON. */
export function toPod(object: Readonly<ApiObject>): Pod {
  return object;
}

/** Whether the phase is an end. */
export function isTerminal(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** Which run of which instance's container an id of the back end's names. */
function runOf(containerID: string): { readonly of: string; readonly run: number } | undefined {
  const [, of, run] = /^(sim:.*)\/(\d+)$/.exec(containerID) ?? [];
  return of === undefined ? undefined : { of, run: Number(run) };
}

function kind(group: string, version: string, plural: string): Kind {
  const found = kindFor(group, version, plural);
  if (!found) throw new Error(`the embedded API server has no ${plural}`);
  return found;
}
