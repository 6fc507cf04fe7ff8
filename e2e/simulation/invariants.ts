import type { PodRef } from "@virtual-kubelet/core";
import { kindFor, type ApiObject, type ApiServer, type Kind } from "@virtual-kubelet/embedded-apiserver";
import type { LogFields, Pod, TransportRequest } from "@virtual-kubelet/kube-client";
import { isLive, type BackEnd, type Instance } from "./back-end.ts";
import type { CallWatch, ChangeMethod } from "./model-provider.ts";
import type { SimulatedClock } from "./simulated-clock.ts";
import type { Trace } from "./trace.ts";

/** What must hold in every world; the numbers are those of the reliability anchors. */
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
  I11: "what fails is tried again ever less often",
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

/** What {@link Invariants} look at. */
export interface InvariantsDeps {
  readonly server: ApiServer;
  readonly clock: SimulatedClock;
  readonly trace: Trace;
  readonly backEnd: () => BackEnd;
}

interface Call {
  readonly method: ChangeMethod;
  readonly signal: AbortSignal;
}

/** Watches over a world. What is seen first is kept; the world goes on as if nobody watched. */
export class Invariants implements CallWatch, Disposable {
  readonly #deps: InvariantsDeps;
  readonly #resources = new DisposableStack();
  readonly #pods = new Map<string, Pod>();
  readonly #calls = new Map<string, Call>();
  readonly #deleted = new Set<string>();
  readonly #addresses = new Map<string, string>();
  /** Calls for each pod since {@link countCalls}. */
  readonly #counts = new Map<string, number>();
  #leaseRenewedMs = 0;
  #violation: Violation | undefined;

  constructor(deps: InvariantsDeps) {
    this.#deps = deps;
    const { cluster } = deps.server;
    this.#resources.use(cluster.watch(podKind, ({ type, object }) => this.#onPod(type, toPod(object))));
    this.#resources.use(cluster.watch(leaseKind, () => void (this.#leaseRenewedMs = deps.clock.monotonic())));
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
    const atMs = this.#deps.clock.monotonic();
    this.#deps.trace.add("VIOLATION:", invariant, problem);
    this.#violation ??= { invariant, problem, atMs };
  }

  /** @param healthySinceMs - since when nothing but the program can keep the Lease from being renewed */
  checkLease(healthySinceMs: number): void {
    const sinceMs = Math.max(healthySinceMs, this.#leaseRenewedMs);
    const ageMs = this.#deps.clock.monotonic() - sinceMs;
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

  /** The program was started anew: what its predecessor had under way is nobody's any more. */
  onStart(): void {
    this.#calls.clear();
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

  onCall(method: ChangeMethod, { name, uid }: PodRef, signal: AbortSignal): void {
    // Orphans have no back-off: a sweep tries each once.
    if (this.#pods.has(uid)) this.#counts.set(uid, (this.#counts.get(uid) ?? 0) + 1);
    const other = this.#calls.get(uid);
    if (other && !other.signal.aborted) this.report("I2", `${method} of ${name} is called during its ${other.method}`);
    this.#calls.set(uid, { method, signal });
    if (method === "createPod" && this.#deleted.has(uid)) this.report("I2", `pod ${name} is created after it was deleted`);
    if (method === "deletePod") this.#checkWanted(name, uid);
  }

  onCallEnd(_method: ChangeMethod, { uid }: PodRef, signal: AbortSignal): void {
    if (this.#calls.get(uid)?.signal === signal) this.#calls.delete(uid);
  }

  onEffect(method: ChangeMethod, { name, uid }: PodRef): void {
    if (method !== "deletePod") return;
    this.#deleted.add(uid);
    this.#checkWanted(name, uid);
  }

  /** Looks at a new instance. */
  onInstance(instance: Instance): void {
    this.#addresses.set(instance.podIP, instance.ref.uid);
    const live = this.#deps.backEnd().of(instance.ref.uid).filter(isLive);
    if (live.length > 1) this.report("I2", `pod ${instance.ref.name} has ${live.length} live instances`);
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }

  #onPod(type: "ADDED" | "MODIFIED" | "DELETED", pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    const name = pod.metadata?.name ?? "";
    const before = this.#pods.get(uid)?.status?.phase;
    const phase = pod.status?.phase;
    if (type === "DELETED") this.#pods.delete(uid);
    else this.#pods.set(uid, pod);
    if (before === phase) return;
    if (isTerminal(before)) this.report("I4", `pod ${name} goes from ${before} to ${phase}`);
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
    if (isTerminal(body.status?.phase) && this.#runs(uid))
      this.report("I4", `${path} is to be ${body.status?.phase} while its instance runs`);
    if (podIP && this.#addresses.get(podIP) !== uid) this.report("I6", `${method} ${path} gives a pod the address of another`);
  }

  #onDelete(namespace: string, name: string, text: string): void {
    const { preconditions } = JSON.parse(text || "{}") as { preconditions?: { uid?: string } };
    if (!preconditions?.uid) return this.report("I6", `DELETE of pod ${name} names no UID`);
    const pod = this.#pods.get(preconditions.uid);
    if (!pod || pod.metadata?.name !== name || pod.metadata.namespace !== namespace) return;
    if (!pod.metadata.deletionTimestamp) this.report("I3", `the program deletes pod ${name}, which nobody else deleted`);
    if (this.#runs(preconditions.uid)) this.report("I4", `pod ${name} is removed from the API server while its instance runs`);
    else if (!isTerminal(pod.status?.phase)) this.report("I4", `pod ${name} is removed from the API server before its end is written`);
  }

  #checkWanted(name: string, uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod && !pod.metadata?.deletionTimestamp) this.report("I3", `pod ${name} is deleted at the provider, but wanted`);
  }

  /** Whether an instance runs that the program could know of. */
  #runs(uid: string): boolean {
    return this.#deps
      .backEnd()
      .of(uid)
      .some((instance) => isLive(instance) && !instance.isLate);
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

function kind(group: string, version: string, plural: string): Kind {
  const found = kindFor(group, version, plural);
  if (!found) throw new Error(`the embedded API server has no ${plural}`);
  return found;
}
