import type { DeepReadonly, EventCounts, Node, QueueInspection, ReflectorInspection } from "@virtual-kubelet/kube-client";
import { defaultLeaseDurationSeconds, type LeaseState } from "../node/lease-controller.ts";
import { isNodeReady } from "../node/node-object.ts";
import type { PingState } from "../node/provider-health.ts";
import type { InventoryState } from "../pod/inventory/inventory.ts";
import { providerMessage } from "../provider-calls/provider-message.ts";
import type { CoreReason } from "../reasons/core-reasons.ts";
import type { PodInspection } from "./pod-inspection.ts";
import type { NodeOptions } from "../virtual-node/options.ts";
import type { PodCounts } from "./pod-list.ts";

/** How far a node is. `waitingForLease` while another instance holds the node, or the API server does not answer. */
export type NodeStage = "notStarted" | "starting" | "waitingForLease" | "registering" | "listing" | "running" | "stopping" | "ended";

/** A request that failed and is repeated. */
export interface RetryInspection {
  /** Without credentials, and of limited length. */
  readonly message: string;
  /** Number of consecutive failures. */
  readonly attempt: number;
  /** Milliseconds until the next attempt. */
  readonly inMs: number;
}

/** Permits for calls of one kind. */
export interface PermitInspection {
  readonly kind: "start" | "end" | "ask" | "confirm";
  readonly held: number;
  /** Number of pods that wait for one. */
  readonly waiting: number;
}

/**
 * State of one node at one moment, for people and for programs that show it. It is plain JSON; durations are in milliseconds, and end or begin
 * at that moment. It contains no secrets; see {@link PodInspection}.
 */
export interface NodeInspection {
  readonly name: string;
  /** Name of the provider. */
  readonly provider: string;
  readonly stage: NodeStage;
  /** Whether the API server's node has the condition `Ready` with the status True, and the first inventory is complete. */
  readonly isReady: boolean;
  readonly lease: {
    /** Whether this instance holds the node. */
    readonly isOurs: boolean;
    /** Identity of the instance that holds the node; `undefined` if that is not known. */
    readonly holder: string | undefined;
    /** Identity of this instance. */
    readonly identity: string;
    /** Milliseconds since the last renewal; `undefined` before the first. */
    readonly renewedAgeMs: number | undefined;
    readonly durationSeconds: number;
    readonly failure: RetryInspection | undefined;
  };
  readonly ping: PingState;
  readonly inventory: InventoryState;
  /** The watch of pods. */
  readonly watch: {
    readonly phase: ReflectorInspection["phase"];
    /** Milliseconds since the last news; `undefined` before the first. */
    readonly heardAgeMs: number | undefined;
    readonly objects: number;
    readonly lists: number;
    readonly endedWatches: number;
    readonly failure: RetryInspection | undefined;
  };
  /** The queues of the pods' actions and of the writing of their status; empty before the node runs. */
  readonly queues: readonly QueueInspection[];
  readonly permits: readonly PermitInspection[];
  readonly orphans: {
    /** Number of pods at the provider without a known pod of this node. */
    readonly suspected: number;
    /** Why nothing is deleted, although much is missing; `undefined` if that is not so. */
    readonly heldBack: string | undefined;
  };
  readonly events: EventCounts;
  /** What is wrong with the node, one line each. */
  readonly problems: readonly string[];
  readonly counts: PodCounts;
  readonly pods: readonly PodInspection[];
  /** Number of pods that match the query, shown or not. */
  readonly matching: number;
  /** For the next page; `undefined` if all matching pods are shown. */
  readonly continue: string | undefined;
}

/** What a node's parts know of it; `undefined` for parts that do not exist yet. */
export interface NodeParts {
  readonly provider: string;
  readonly options: NodeOptions;
  readonly stage: NodeStage;
  readonly node:
    | {
        /** As last seen at the API server; `undefined` if it is not registered. */
        readonly node: DeepReadonly<Node> | undefined;
        readonly leaseState: LeaseState;
        readonly leaseAgeMs: number | undefined;
        readonly pingState: PingState;
      }
    | undefined;
  readonly inventory: InventoryState | undefined;
  readonly watch: ReflectorInspection | undefined;
  readonly heardAgeMs: number | undefined;
  readonly suspected: number | undefined;
  readonly heldBack: string | undefined;
  readonly events: EventCounts | undefined;
  readonly pods: PodsInspection | undefined;
}

/** What the controller of a node's pods knows. */
export type PodsInspection = Pick<NodeInspection, "queues" | "permits" | "counts" | "pods" | "matching" | "continue">;

const noPing: PingState = { kind: "unknown", forMs: undefined, answeredAgeMs: undefined, failure: undefined };
const noWatch: ReflectorInspection = { phase: "starting", objects: 0, lists: 0, endedWatches: 0, failure: undefined };
const noPods: PodsInspection = {
  queues: [],
  permits: [],
  counts: { total: 0, problems: 0, byPhase: {}, byBackEnd: {} },
  pods: [],
  matching: 0,
  continue: undefined,
};

/** Returns the state of a node for people. */
export function inspectNode(parts: NodeParts, nowMs: number): NodeInspection {
  const { options, stage, events, watch = noWatch } = parts;
  const node: Omit<NodeInspection, "problems"> = {
    name: options.name,
    provider: parts.provider,
    stage,
    isReady: stage === "running" && isNodeReady(parts.node?.node),
    lease: inspectLease(parts, nowMs),
    ping: parts.node?.pingState ?? noPing,
    inventory: parts.inventory ?? { failure: undefined },
    watch: { ...watch, heardAgeMs: parts.heardAgeMs, failure: watchRetry(watch) },
    orphans: { suspected: parts.suspected ?? 0, heldBack: parts.heldBack },
    events: events ?? { waiting: 0, dropped: 0, failed: 0 },
    ...(parts.pods ?? noPods),
  };
  return { ...node, problems: nodeProblems(node, parts.node?.node) };
}

function inspectLease({ node, options }: NodeParts, nowMs: number): NodeInspection["lease"] {
  const { isOurs = false, holder, failure } = node?.leaseState ?? {};
  return {
    isOurs,
    holder,
    identity: options.instance.identity,
    renewedAgeMs: node?.leaseAgeMs,
    durationSeconds: options.leaseDurationSeconds ?? defaultLeaseDurationSeconds,
    failure: failure && { message: providerMessage(failure.error), attempt: failure.attempt, inMs: Math.max(0, failure.dueMs - nowMs) },
  };
}

function watchRetry({ failure }: ReflectorInspection): RetryInspection | undefined {
  return failure && { message: providerMessage(failure.error), attempt: failure.attempt, inMs: failure.retryInMs };
}

/** What is wrong with a node, one line each. @param seen - the node as last seen at the API server */
function nodeProblems(node: Omit<NodeInspection, "problems">, seen: DeepReadonly<Node> | undefined): string[] {
  const { lease, ping, inventory, watch, orphans } = node;
  const leaseMs = lease.durationSeconds * 1000;
  const isLate = lease.isOurs && (lease.renewedAgeMs ?? 0) > leaseMs;
  return [
    isLate && `the lease was last renewed ${seconds(lease.renewedAgeMs ?? 0)} ago, and is valid for ${lease.durationSeconds} s`,
    lease.failure && `the lease cannot be ${lease.isOurs ? "renewed" : "taken"}: ${lease.failure.message}`,
    ping.kind === "down" && `the provider does not answer: ${ping.failure ?? "no message"}`,
    node.stage === "running" && !node.isReady && ping.kind !== "down" && notReady(seen),
    ping.kind === "up" && ping.failure !== undefined && `the last ping of the provider failed: ${ping.failure}`,
    inventory.failure !== undefined && `the provider does not list its pods: ${inventory.failure}`,
    watch.failure && `the API server's pods cannot be followed: ${watch.failure.message}`,
    orphans.heldBack,
  ].filter((problem) => typeof problem === "string");
}

function notReady(seen: DeepReadonly<Node> | undefined): string | undefined {
  const { reason, message } = seen?.status?.conditions?.find(({ type }) => type === "Ready") ?? {};
  // Written at the start, until the API server has the next status.
  if (reason === ("ProviderNotReady" satisfies CoreReason)) return undefined;
  const why = [reason, message].filter((text) => text !== undefined && text !== "").join(", ");
  return `the node is not Ready${why && `: ${why}`}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
