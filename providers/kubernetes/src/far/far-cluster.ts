import type { UpgradeTarget } from "@virtual-kubelet/streaming";
import type {
  DeepReadonly,
  KubeClient,
  Node,
  OwnerReference,
  Pod,
  ServerHistory,
  Store,
  StoreChange,
  TransportResponse,
} from "@virtual-kubelet/kube-client";
import type { FarOwner } from "../identity/tags.ts";

/**
 * The API server of the far cluster. `connect.ts` opens it from a kubeconfig; callers of `kubernetesProvider` may bring their
 * own, for example with signed requests.
 */
export interface FarConnection extends AsyncDisposable {
  readonly client: KubeClient;
  /** Namespace of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /**
   * Sends a GET whose answer is read as a stream, such as a followed log. A status of 400 and above throws as KubeClient's calls do. There is
   * no time limit, neither for the answer's head nor for the next chunk: kubelets send the head of a log with its first line.
   */
  stream(path: string, signal: AbortSignal): Promise<TransportResponse>;
  /**
   * Returns the target of an upgrade request (exec, attach, port-forward), with the current credentials. It opens a connection for each
   * attempt: a client that is refused in one protocol tries another.
   *
   * @param signal - ends the opening of connections
   * @param refused - target of an earlier request that was answered with 401: its credentials are renewed first
   * @throws UnauthorizedError if there are no credentials; `signal.reason`
   */
  upgradeTarget(path: string, signal: AbortSignal, refused?: UpgradeTarget): Promise<UpgradeTarget>;
}

/**
 * What all virtual nodes of one process that use a far cluster share. Its pods are those of the home cluster, found by label; a node
 * sees only its own, by `isOwnedBy`.
 */
export interface FarCluster {
  readonly connection: FarConnection;
  /** Notices by the pings that the far cluster was restored from a backup, or that another answers in its place. */
  readonly history: ServerHistory;
  /** Resolves when the pods are listed. Rejects if the cluster is closed before. */
  readonly synced: Promise<void>;
  /** Whether the pods follow the far cluster now. */
  readonly isCurrent: boolean;
  /** Why the pods do not follow the far cluster; `undefined` if nothing is known to be wrong. */
  readonly failure: unknown;
  /** Far pods of this home cluster, by far UID; of spec, labels and annotations only what `compactPod` keeps. */
  readonly pods: Store<Pod>;
  /** Far nodes; `undefined` if the rights do not allow to list them. Resolves when they are listed. */
  nodes(): Promise<Store<Node> | undefined>;
  /** Calls the listener for each change of a far pod of this node. */
  onPodChange(owner: FarOwner, listener: (change: StoreChange<Pod>) => void): Disposable;
  /** The far pod of a home pod, by its UID tag. */
  podOf(owner: FarOwner, homeUid: string): DeepReadonly<Pod> | undefined;
  /** The far pods with the label of this node, which others may have as well. */
  podsOf(owner: FarOwner): Iterable<DeepReadonly<Pod>>;
  /** UID of the node's owner object in a far namespace; `undefined` if the far cluster says that there is none. */
  ownerUid(owner: FarOwner, farNamespace: string, signal: AbortSignal): Promise<string | undefined>;
  /** Whether an owner object was created through this connection, so that everything older has had another, or none. */
  isNewOwner(uid: string): boolean;
  /**
   * Creates the node's owner object in a far namespace if it is missing, and the namespace if that is configured.
   *
   * @returns reference for `ownerReferences`, with `controller: true`
   */
  ownerReference(owner: FarOwner, farNamespace: string, signal: AbortSignal): Promise<OwnerReference>;
  /**
   * Checks that the far API server answers. A check that has just succeeded counts for all nodes.
   *
   * @param check - returns the resourceVersion of a consistent list
   * @throws what `check` throws
   */
  ping(check: (signal: AbortSignal) => Promise<string>, signal: AbortSignal): Promise<void>;
  /** Ends waits for the next attempt to list or watch, because the far cluster is known to answer again. */
  wake(): void;
}
