import { ConflictError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Lease } from "@virtual-kubelet/kube-client";

/** Annotation of a node's Lease: the identity of the instance that runs the node, stable across its restarts. */
export const instanceAnnotation = "virtual-kubelet.io/instance";

/** Annotation of a node's Lease: a random id of each start, which tells two copies of one instance apart. */
export const startIdAnnotation = "virtual-kubelet.io/start-id";

/** Namespace of the nodes' Leases. */
export const leaseNamespace = "kube-node-lease";

/** Who wants to run a node. */
export interface Instance {
  readonly nodeName: string;
  readonly identity: string;
  readonly startId: string;
}

/**
 * Another instance runs the node. The program ends with exit code 78, so that it is not simply started again.
 */
export class NodeHeldError extends ConflictError {
  /** The node both want. */
  readonly nodeName: string;
  /** Identity of the instance that holds it; absent if its Lease does not say. */
  readonly holder: string | undefined;

  /** @param reason - how we know, such as `it renewed its lease while we watched` */
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

/** What has been seen of another instance's Lease. */
export interface Observation {
  /** Changes with every renewal; `undefined` when the Lease was deleted. */
  readonly renewal: string | undefined;
  /** When it was first seen like this, on our own monotonic clock, in milliseconds. */
  readonly sinceMs: number;
}

/** What an instance that wants the node does next. */
export type Claim =
  /** There is no Lease, and nobody who would make it again. */
  | { readonly kind: "create" }
  /** It is ours, or nobody renews it. */
  | { readonly kind: "take" }
  /** Somebody else's: look again within `remainingMs`. */
  | { readonly kind: "watch"; readonly observation: Observation; readonly remainingMs: number }
  /** Somebody else renewed it while we watched. */
  | { readonly kind: "held"; readonly observation: Observation };

/** What a claim is decided on. */
export interface ClaimInput {
  readonly lease: DeepReadonly<Lease> | undefined;
  readonly instance: Instance;
  /** The latest observation; absent if none was made, or if it does not count. */
  readonly previous: Observation | undefined;
  /** On our own monotonic clock. */
  readonly nowMs: number;
  /** How long the Lease must stand still, in milliseconds, if it does not say itself. A deleted one must be absent for half of that. */
  readonly durationMs: number;
}

/**
 * Decides whether an instance may take the node. Only our own clock counts: the Lease's times are another machine's,
 * and are looked at for whether they move.
 */
export function decideClaim({ lease, instance, previous, nowMs, durationMs }: ClaimInput): Claim {
  if (!lease) return previous ? decideOnAbsent(previous, nowMs, durationMs) : { kind: "create" };
  if (holderOf(lease) === instance.identity) return { kind: "take" };
  const renewal = `${lease.metadata?.uid} ${lease.spec?.renewTime}`;
  if (previous && previous.renewal !== renewal) return { kind: "held", observation: { renewal, sinceMs: nowMs } };
  const observation = previous ?? { renewal, sinceMs: nowMs };
  const neededMs = lease.spec?.leaseDurationSeconds ? lease.spec.leaseDurationSeconds * 1000 : durationMs;
  const remainingMs = observation.sinceMs + neededMs - nowMs;
  return remainingMs <= 0 ? { kind: "take" } : { kind: "watch", observation, remainingMs };
}

/**
 * Decides about a Lease that was watched and has been deleted since: by its holder, which has ended, or by somebody else, alone or with
 * its node. In the second case the holder creates it again with its next renewal, which is due within a quarter of the duration and may
 * take another quarter.
 */
function decideOnAbsent(previous: Observation, nowMs: number, durationMs: number): Claim {
  const observation = previous.renewal === undefined ? previous : { renewal: undefined, sinceMs: nowMs };
  const remainingMs = observation.sinceMs + durationMs / 2 - nowMs;
  return remainingMs <= 0 ? { kind: "create" } : { kind: "watch", observation, remainingMs };
}

/**
 * Whether a Lease that is not as we left it is still ours. One without a start id was edited by somebody who is no
 * instance; another's start id means that another instance took the node.
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
