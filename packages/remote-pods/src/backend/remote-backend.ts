import type {
  AttachIO,
  ContainerLogOptions,
  ContainerLogs,
  DeepReadonly,
  ExecResult,
  NodeDescription,
  Pod,
  PodChanges,
  PodRef,
  ResolvedPod,
  StatsSummary,
} from "@virtual-kubelet/core";
import type { Duplex } from "node:stream";
import type { BackendLimits } from "./backend-limits.ts";
import type { IdentityReading, Observation, PodIdentity } from "./observation.ts";
import type { RemoteProbing } from "./remote-probing.ts";
import type { RemoteTarget } from "./remote-target.ts";

/** An entry of {@link RemoteBackend.list}. */
export interface ListedObject<Remote> {
  readonly id: string;
  /** Owner of the object. `undefined` if lists omit tags: an unknown object is described once to read them. */
  readonly identity?: IdentityReading | undefined;
  /** The complete object, if lists contain all that {@link RemoteBackend.observe} needs. `undefined`: it is described when necessary. */
  readonly remote?: Remote | undefined;
  /** Text that changes with the object's state, as far as lists show it. `undefined`: lists show nothing of the state. */
  readonly version?: string | undefined;
  /**
   * Whether the object has another name than {@link RemoteBackend.create} gives to the pod's object. It may be renamed, or a copy of which only the
   * tags are the pod's; a copy is left alone. Default: `false`. A back end with {@link RemoteBackend.idOf} compares the ids instead.
   */
  readonly hasOtherName?: boolean | undefined;
  /** RFC 3339; of several objects of one attempt in the first list, the oldest is kept. */
  readonly createdAt?: string | undefined;
}

/** All objects of this node, or those that could be listed. */
export interface RemoteListing<Remote> {
  readonly objects: readonly ListedObject<Remote>[];
  /** Reasons why the list may be incomplete, such as a page that failed. Empty if it is complete. */
  readonly problems: readonly string[];
}

/** Result of {@link RemoteBackend.describe}. An id in no list is unknown and is described again. */
export interface RemoteDescriptions<Remote> {
  readonly found: readonly { readonly id: string; readonly remote: Remote }[];
  /** Ids of which the back end itself says that it has no such object. */
  readonly missing: readonly string[];
  /** Objects that exist and that cannot be read: the log names each once, and their pods keep their state. Default: none. */
  readonly unreadable?: readonly { readonly id: string; readonly why: string }[] | undefined;
}

/** Facts that {@link RemoteBackend.observe} may use besides the object. */
export interface ObserveContext<Memory> {
  readonly identity: PodIdentity;
  /** The pod at the API server; `undefined` if it is gone there. */
  readonly pod: DeepReadonly<Pod> | undefined;
  /** From the previous observation of this object. */
  readonly memory: Memory | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Whether the pod is being deleted, so that ended containers are not expected to run again. */
  readonly isEnding: boolean;
}

/** State of a pod's deletion, for {@link RemoteBackend.end}. */
export interface Ending {
  /** Milliseconds of grace left; 0 or less: none. */
  readonly graceLeftMs: number;
  /** Whether an earlier step has asked the containers to end. */
  readonly isAsked: boolean;
  /** Milliseconds since the last kill; `undefined` if there was none. */
  readonly killedAgoMs: number | undefined;
  /**
   * Whether the back end has accepted the object's deletion. `false` again if the object is still there five minutes after that and after the
   * grace, because the back end may have lost it.
   */
  readonly isDeleted: boolean;
}

/** Step taken by {@link RemoteBackend.end}. `wait`: none; the next look decides. */
export type EndStep = "asked" | "killed" | "deleted" | "wait";

/** Output of a container, or its last part, from a back end that returns it as a whole. */
export interface LogSnapshot {
  readonly text: string;
  /** Whether each line begins with its time and a space. */
  readonly hasTimestamps: boolean;
  /** Parts of the query that the text keeps to exactly. Default: none. */
  readonly applied?: ContainerLogs["applied"] | undefined;
}

/** Selection of a {@link LogSnapshot}. The back end may return more. */
export interface SnapshotQuery {
  readonly tailLines?: number | undefined;
  /** RFC 3339. */
  readonly sinceTime?: string | undefined;
}

/**
 * A back end that takes whole pods: its calls, and two functions without side effects, `translate` and `observe`. `RemotePodProvider` makes
 * a provider of it: identity, adoption, pace, budgets, endings and remembered ends are written there, once.
 *
 * All calls reject with errdefs errors. `UnavailableError` and `DeadlineExceededError` mean that the outcome is unknown; `NotFoundError`
 * means that the back end itself says so. Every call is aborted by its signal.
 *
 * @typeParam Request - body of a create; it may hold secrets and is never logged
 * @typeParam Remote - the back end's description of an object
 * @typeParam Memory - see {@link Observation}
 */
export interface RemoteBackend<Request, Remote, Memory = undefined> {
  /** Name in messages, such as `Azure Container Instances`. */
  readonly name: string;
  /** Name in metrics, the same as that of its `CallBudget`, such as `aci`. */
  readonly shortName: string;
  readonly limits: BackendLimits;

  /**
   * Translates a pod. Has no side effects except for reading the pod's references through `resolved`.
   *
   * @throws UnsupportedError or InvalidInputError that names the field; what `resolved` throws
   */
  translate(pod: DeepReadonly<Pod>, resolved: ResolvedPod, identity: PodIdentity, signal: AbortSignal): Promise<Request>;
  /** Reads an object's tags. Pure. */
  identityOf(remote: Remote): IdentityReading;
  /** Translates an object to a status. Pure. */
  observe(remote: Remote, context: ObserveContext<Memory>): Observation<Memory>;
  /** Id that the object of a pod will have; required with {@link BackendLimits.idempotency} `name`. Pure. */
  idOf?(identity: PodIdentity): string;

  /**
   * Creates the object and returns when the back end has accepted it.
   *
   * @throws ConflictError if an object of that name exists; InvalidInputError and UnsupportedError if the request is refused;
   * QuotaExceededError if quota or capacity is lacking; TerminalError if the pod can never run
   */
  create(
    request: Request,
    identity: PodIdentity,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly remote?: Remote | undefined }>;
  /**
   * Removes an object that an unclear create has left incomplete, so that it can never become the pod. Called with the object that is found after
   * such a create. @returns whether the object was removed. Absent: creates leave nothing incomplete
   */
  discardIncomplete?(target: RemoteTarget<Remote>, signal: AbortSignal): Promise<boolean>;
  /** Lists the objects of this cluster and node, from all pages. Objects of others may be included. */
  list(signal: AbortSignal): Promise<RemoteListing<Remote>>;
  /** Describes at most {@link BackendLimits.describeBatch} objects. */
  describe(ids: readonly string[], signal: AbortSignal): Promise<RemoteDescriptions<Remote>>;
  /**
   * Takes the next step to end an object. Called repeatedly, with descriptions in between, until the object is missing or, with
   * {@link BackendLimits.keepsEndedMs}, has ended. A back end with a single delete call returns `deleted` the first time and then `wait`.
   */
  end(target: RemoteTarget<Remote>, ending: Ending, signal: AbortSignal): Promise<EndStep>;
  /** Yields ids of objects that have changed, for a back end that tells. The list is then read less often. */
  watch?(signal: AbortSignal): AsyncIterable<string>;

  /** Applies a change. Absent: changed images are refused; labels, annotations, tolerations and the deadline concern Kubernetes alone. */
  update?(
    target: RemoteTarget<Remote>,
    change: { readonly pod: DeepReadonly<Pod>; readonly resolved: ResolvedPod; readonly changes: PodChanges },
    signal: AbortSignal,
  ): Promise<void>;

  /**
   * Returns a container's output so far, also of an object that has ended and been replaced: `kubectl logs --previous` reads that one.
   * remote-pods adds follow, since, tail and limit.
   */
  logSnapshot?(target: RemoteTarget<Remote>, container: string, query: SnapshotQuery, signal: AbortSignal): Promise<LogSnapshot>;
  /** Returns a container's output from a back end that follows by itself; takes precedence over {@link logSnapshot}. */
  logs?(target: RemoteTarget<Remote>, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs>;
  /** As `ContainerAccess.runInContainer`. */
  exec?(
    target: RemoteTarget<Remote>,
    container: string,
    command: readonly string[],
    io: AttachIO,
    signal: AbortSignal,
  ): Promise<ExecResult>;
  /** As `ContainerAccess.attachToContainer`. */
  attach?(target: RemoteTarget<Remote>, container: string, io: AttachIO, signal: AbortSignal): Promise<void>;
  /** As `ContainerAccess.portForward`. */
  portForward?(target: RemoteTarget<Remote>, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
  /** Measures the objects. A pod that cannot be measured is left out. */
  stats?(targets: readonly RemoteTarget<Remote>[], signal: AbortSignal): Promise<StatsSummary>;

  /**
   * Checks that the back end answers and accepts the credentials. Called every ten seconds: a single cheap request, of priority `urgent` and without
   * `waitsForPause`, because a node whose ping waits is not ready, and loses its pods. A ThrottledError counts as an answer.
   */
  ping(signal: AbortSignal): Promise<void>;
  /** Describes the node: capacity, labels, operating system. */
  configureNode(signal: AbortSignal): Promise<NodeDescription>;

  /** Probes that the back end cannot run itself. Absent: it runs all, or `translate` refuses them. */
  readonly probing?: RemoteProbing<Remote> | undefined;

  /** Called once for each object that no longer starts, until it succeeds; for work that follows a create, such as a floating IP. */
  settle?(target: RemoteTarget<Remote>, signal: AbortSignal): Promise<void>;
  /** Called after the object is gone, until it succeeds or throws a NotFoundError; frees what belonged to the pod. */
  release?(ref: PodRef, remote: Remote | undefined, signal: AbortSignal): Promise<void>;
  /** Called after a complete list, at most every ten minutes, with the UIDs of all pods that exist; removes other leftovers of this node. */
  sweep?(uids: ReadonlySet<string>, signal: AbortSignal): Promise<void>;
}
