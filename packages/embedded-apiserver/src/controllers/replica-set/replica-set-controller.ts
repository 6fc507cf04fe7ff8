import { WriteWaits } from "../../rest/steps.ts";
import { type LabelSelector, selectsLabels } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import { replicationControllerKind } from "../../kinds/workload/replication-controller.ts";
import type { ReplicaSetSpec, ReplicaSetStatus } from "../../kinds/workload/workload-fields.ts";
import { claimObjects } from "../shared/claim-objects.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerOf } from "../shared/ownership.ts";
import { createPods, deletePod } from "../shared/pod-control.ts";
import { podsToDelete } from "../shared/pod-deletion-order.ts";
import { isActive, isTerminating } from "../shared/pod-state.ts";
import { replicaSetPod } from "./replica-set-pod.ts";
import { replicaSetStatus } from "./replica-set-status.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

/** A kind that keeps a number of equal pods. */
interface ReplicaKind {
  readonly kind: Kind;
  /** Source of events. */
  readonly component: string;
  readonly selectorOf: (owner: Readonly<ApiObject>) => LabelSelector | null;
  /** Whether the status counts terminating pods. */
  readonly countsTerminating: boolean;
}

/** Maximum pods created or deleted in one sync. Based on `BurstReplicas`. */
const burst = 100;

const orphansOf = (namespace: string | undefined): string => `orphans/${namespace ?? ""}`;

/**
 * Keeps the number of each ReplicaSet's pods at `spec.replicas`.
 * Source: Kubernetes v1.36.3 pkg/controller/replicaset.
 */
export function startReplicaSetController(context: ControllerContext): Disposable {
  return startReplicaController(context, {
    kind: replicaSetKind,
    component: "replicaset-controller",
    selectorOf: ({ spec }) => spec.selector,
    countsTerminating: true,
  });
}

/**
 * The same for ReplicationControllers, whose selectors are plain maps.
 * Source: Kubernetes v1.36.3 pkg/controller/replication, which converts them to ReplicaSets.
 */
export function startReplicationController(context: ControllerContext): Disposable {
  return startReplicaController(context, {
    kind: replicationControllerKind,
    component: "replication-controller",
    selectorOf: ({ spec }) => ({ matchLabels: spec.selector ?? {} }),
    countsTerminating: false,
  });
}

function startReplicaController(context: ControllerContext, { kind, component, selectorOf, countsTerminating }: ReplicaKind): Disposable {
  const { cluster, clock } = context;
  const resources = new Disposables();
  const pods = resources.use(new ObjectIndex(cluster, podKind, (pod) => [controllerOf(pod)?.uid ?? orphansOf(pod.metadata.namespace)]));
  const byUid = resources.use(
    new ObjectIndex(cluster, kind, (replicaSet) => [replicaSet.metadata.uid, `in/${replicaSet.metadata.namespace}`]),
  );
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(kind, ({ type, object }) => type !== "DELETED" && queue.add(keyOf(object))));
  resources.use(cluster.watch(podKind, ({ object }) => wake(object)));
  for (const replicaSet of cluster.list(kind)) queue.add(keyOf(replicaSet));
  return resources;

  /** Queues the pod's ReplicaSet, or, for a pod without a controller, every ReplicaSet that selects it. */
  function wake(pod: Readonly<ApiObject>): void {
    const owner = controllerOf(pod);
    const candidates = owner === undefined ? byUid.get(`in/${pod.metadata.namespace}`) : byUid.get(owner.uid);
    for (const replicaSet of candidates)
      if (owner !== undefined || selectsLabels(selectorOf(replicaSet), pod.metadata.labels)) queue.add(keyOf(replicaSet));
  }

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const replicaSet = cluster.get(kind, namespace, name);
    if (replicaSet === undefined) return undefined;
    const { active, terminating } = claim(replicaSet);
    let failure: unknown;
    let isDone = true;
    if (replicaSet.metadata.deletionTimestamp === undefined) {
      try {
        isDone = scale(replicaSet, active);
      } catch (error) {
        if (error instanceof WriteWaits) throw error;
        failure = error;
      }
    }
    const { status, nextAvailableMs } = replicaSetStatus(replicaSet, { active, terminating, failure, nowMs: clock.now() });
    const { terminatingReplicas: _terminating, ...others } = status;
    writeStatus(replicaSet, countsTerminating ? status : others);
    if (failure !== undefined) throw failure;
    return isDone ? nextAvailableMs : 0;
  }

  function claim(replicaSet: Readonly<ApiObject>): { active: Readonly<ApiObject>[]; terminating: Readonly<ApiObject>[] } {
    const mine = claimObjects(cluster, {
      owner: replicaSet,
      ownerKind: kind,
      selector: selectorOf(replicaSet),
      kind: podKind,
      owned: pods.get(replicaSet.metadata.uid),
      orphans: pods.get(orphansOf(replicaSet.metadata.namespace)),
      canChange: isActive,
    });
    return { active: mine.filter(isActive), terminating: mine.filter(isTerminating) };
  }

  /** @returns whether the number of pods is reached */
  function scale(replicaSet: Readonly<ApiObject>, active: readonly Readonly<ApiObject>[]): boolean {
    const { replicas = 1 }: ReplicaSetSpec = replicaSet["spec"];
    const missing = replicas - active.length;
    const actor = { component, owner: replicaSet };
    const { failure } = createPods(
      context,
      actor,
      Array.from({ length: Math.min(Math.max(missing, 0), burst) }, () => replicaSetPod(replicaSet, kind)),
    );
    if (failure !== undefined) throw failure;
    for (const pod of podsToDelete(active, relatedPods(replicaSet), { count: Math.min(-missing, burst), nowMs: clock.now() }))
      deletePod(context, actor, pod);
    return Math.abs(missing) <= burst;
  }

  /** Pods of all ReplicaSets with the same owner. */
  function relatedPods(replicaSet: Readonly<ApiObject>): Readonly<ApiObject>[] {
    const owner = controllerOf(replicaSet)?.uid;
    const siblings =
      owner === undefined
        ? [replicaSet]
        : byUid.get(`in/${replicaSet.metadata.namespace}`).filter((other) => controllerOf(other)?.uid === owner);
    return siblings.flatMap((sibling) => pods.get(sibling.metadata.uid));
  }

  function writeStatus(replicaSet: Readonly<ApiObject>, status: Partial<ReplicaSetStatus>): void {
    const { namespace, name, uid } = replicaSet.metadata;
    if (equalJson(replicaSet["status"], status)) return;
    cluster.update(kind, namespace, name, (object) => (object.metadata.uid === uid ? { ...object, status } : undefined), "status");
  }
}
