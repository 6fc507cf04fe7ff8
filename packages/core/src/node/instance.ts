import { ConflictError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Lease } from "@virtual-kubelet/kube-client";

/** Annotation of a node's Lease: the identity of the instance that runs the node, stable across its restarts. */
export const instanceAnnotation = "virtual-kubelet.io/instance";

/** Annotation of a node's Lease: a random id of each start, which distinguishes two copies of one instance. */
export const startIdAnnotation = "virtual-kubelet.io/start-id";

/** Label of a Lease: the group of instances that share the node. A member Lease of the group has it, too. */
export const groupLabel = "virtual-kubelet.io/group";

/** Namespace of the nodes' Leases. */
export const leaseNamespace = "kube-node-lease";

/** A program that wants to run a node. */
export interface Instance {
  readonly nodeName: string;
  readonly identity: string;
  readonly startId: string;
  /** Group of instances that share the node. Default: none. */
  readonly group?: string | undefined;
}

/**
 * Another instance runs the node. The program exits with code 78, so that it is not simply restarted.
 */
export class NodeHeldError extends ConflictError {
  /** Name of the contested node. */
  readonly nodeName: string;
  /** Identity of the instance that holds the node; absent if its Lease does not have it. */
  readonly holder: string | undefined;

  /** @param reason - the evidence, such as `it renewed its lease while we watched` */
  constructor(instance: Instance, lease: DeepReadonly<Lease>, reason: string) {
    const holder = holderOf(lease);
    const { nodeName, identity } = instance;
    super(
      `run node ${nodeName} as instance "${identity}": it is held by ${describeHolder(holder, identity)} ` +
        `(${reason}; lease ${leaseNamespace}/${nodeName}, last renewed ${lease.spec?.renewTime ?? "never"}); ` +
        `stop that one, give this one another node name, or let it stand by`,
    );
    this.nodeName = nodeName;
    this.holder = holder;
  }
}

/** An observation of another instance's Lease. */
export interface LeaseObservation {
  /** Changes with every renewal; `undefined` when the Lease was deleted. */
  readonly renewal: string | undefined;
  /** Time at which this state was first seen, on our own monotonic clock, in milliseconds. */
  readonly sinceMs: number;
}

/** Next step of an instance that wants the node. */
export type Claim =
  /** There is no Lease, and nobody recreates it. */
  | { readonly kind: "create" }
  /** The Lease is an earlier start's of this instance, or nobody renews it. */
  | { readonly kind: "take" }
  /** The Lease is another instance's: look again within `remainingMs`. */
  | { readonly kind: "watch"; readonly observation: LeaseObservation; readonly remainingMs: number }
  /** Another instance renewed the Lease while we watched. */
  | { readonly kind: "held"; readonly observation: LeaseObservation };

export interface ClaimInput {
  readonly lease: DeepReadonly<Lease> | undefined;
  readonly instance: Instance;
  /** The latest observation; absent if there is none, or if it is not valid. */
  readonly previous: LeaseObservation | undefined;
  /** On our own monotonic clock. */
  readonly nowMs: number;
  /** Milliseconds without renewal after which a Lease without a duration is free. A deleted Lease must be absent for half of it. */
  readonly durationMs: number;
}

/**
 * Decides whether an instance may take the node. Only our own clock is used: the Lease's times are from another machine,
 * and only their changes matter.
 */
export function decideClaim({ lease, instance, previous, nowMs, durationMs }: ClaimInput): Claim {
  if (!lease) return previous ? decideOnAbsent(previous, nowMs, durationMs) : { kind: "create" };
  if (isEarlierStart(lease, instance)) return { kind: "take" };
  const renewal = renewalOf(lease);
  if (previous && previous.renewal !== renewal) return { kind: "held", observation: { renewal, sinceMs: nowMs } };
  const observation = previous ?? { renewal, sinceMs: nowMs };
  const neededMs = lease.spec?.leaseDurationSeconds ? lease.spec.leaseDurationSeconds * 1000 : durationMs;
  const remainingMs = observation.sinceMs + neededMs - nowMs;
  return remainingMs <= 0 ? { kind: "take" } : { kind: "watch", observation, remainingMs };
}

/**
 * Whether a Lease is an earlier start's of the instance, which has ended. Nothing shows that of an instance of a group: its identity is locked
 * within the group only, and another program with this identity may run the node in another group or in none.
 */
function isEarlierStart(lease: DeepReadonly<Lease>, { identity, group }: Instance): boolean {
  return holderOf(lease) === identity && group === undefined && lease.metadata?.labels?.[groupLabel] === undefined;
}

/**
 * Decides about a Lease that was watched and has been deleted since: by its holder, which has ended, or by somebody else, alone or with
 * its node. In the second case the holder creates it again with its next renewal, which is due within a quarter of the duration and may
 * take another quarter.
 */
function decideOnAbsent(previous: LeaseObservation, nowMs: number, durationMs: number): Claim {
  const observation = previous.renewal === undefined ? previous : { renewal: undefined, sinceMs: nowMs };
  const remainingMs = observation.sinceMs + durationMs / 2 - nowMs;
  return remainingMs <= 0 ? { kind: "create" } : { kind: "watch", observation, remainingMs };
}

/** Text that changes with every renewal of a Lease. */
export function renewalOf({ metadata, spec }: DeepReadonly<Lease>): string {
  return `${metadata?.uid} ${spec?.renewTime}`;
}

/**
 * Whether a Lease that differs from our last write is still ours. A Lease without a start id was edited by something other than an
 * instance; a different start id means that another instance took the node.
 */
export function isOurs(lease: DeepReadonly<Lease>, instance: Instance): boolean {
  const startId = lease.metadata?.annotations?.[startIdAnnotation];
  if (startId !== undefined) return startId === instance.startId;
  const holder = holderOf(lease);
  return holder === undefined || holder === instance.identity;
}

/** The identity on the Lease. */
export function holderOf(lease: DeepReadonly<Lease>): string | undefined {
  return lease.metadata?.annotations?.[instanceAnnotation];
}

function describeHolder(holder: string | undefined, identity: string): string {
  if (holder === undefined) return "a kubelet that gives no instance identity";
  return holder === identity ? `another copy of "${holder}"` : `instance "${holder}"`;
}
