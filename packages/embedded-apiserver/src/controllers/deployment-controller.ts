import { ApiStatusError } from "../api-status-error.ts";
import { equalJson } from "../json-value.ts";
import type { ApiObject } from "../kind.ts";
import { podKind } from "../kinds/pod/pod.ts";
import { deploymentKind } from "../kinds/workload/deployment.ts";
import { replicaSetKind } from "../kinds/workload/replica-set.ts";
import type {
  DeploymentSpec,
  DeploymentStatus,
  ReplicaSetSpec,
  ReplicaSetStatus,
  WorkloadCondition,
} from "../kinds/workload/workload-fields.ts";
import type { ControllerDeps } from "./controller-deps.ts";
import {
  desiredReplicasOf,
  maxReplicasOf,
  newSetAnnotations,
  replicasAnnotations,
  revisionAnnotation,
  revisionOf,
} from "./deployment-annotations.ts";
import {
  fenceposts,
  initialSize,
  isScalingEvent,
  planRecreate,
  planRollingUpdate,
  planScale,
  type Sets,
  type SetSize,
  type Sizes,
} from "./deployment-plan.ts";
import { deploymentStatus, hasHistoryLimit, hasProgressDeadline, isComplete, progressCheckMs, withCondition } from "./deployment-status.ts";
import { ObjectIndex } from "./object-index.ts";
import { keyOf, parseKey } from "./object-key.ts";
import { controllerOf, controllerReference, withOwner, withoutOwners } from "./ownership.ts";
import { isTerminal } from "./pod-facts.ts";
import { matchesSelector, selectsEverything } from "../kinds/selector-match.ts";
import { hashLabel, isSameTemplate, templateHash } from "./template-hash.ts";
import { createWorkLoop } from "./work-loop.ts";

const component = "deployment-controller";

const orphansOf = (namespace: string | undefined): string => `orphans/${namespace ?? ""}`;

/** A Deployment with its ReplicaSets. */
interface Rollout {
  readonly deployment: Readonly<ApiObject>;
  readonly spec: DeploymentSpec;
  readonly current: Readonly<ApiObject> | undefined;
  readonly old: readonly Readonly<ApiObject>[];
}

/**
 * Rolls Deployments out over ReplicaSets. Every change of either brings the Deployment back here, so each pass makes one
 * step and leaves the rest to the next.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/deployment.
 */
export function startDeploymentController(deps: ControllerDeps): Disposable {
  const { cluster, clock, events } = deps;
  const resources = new DisposableStack();
  const sets = resources.use(
    new ObjectIndex(cluster, replicaSetKind, (set) => [controllerOf(set)?.uid ?? orphansOf(set.metadata.namespace)]),
  );
  const pods = resources.use(new ObjectIndex(cluster, podKind, (pod) => [controllerOf(pod)?.uid ?? "orphans"]));
  const deployments = resources.use(new ObjectIndex(cluster, deploymentKind, ({ metadata }) => [metadata.uid, `in/${metadata.namespace}`]));
  const loop = resources.use(createWorkLoop({ ...deps, process: sync }));
  resources.use(cluster.watch(deploymentKind, ({ type, object }) => type !== "DELETED" && loop.add(keyOf(object))));
  resources.use(cluster.watch(replicaSetKind, ({ object }) => wake(object)));
  resources.use(cluster.watch(podKind, ({ type, object }) => wakeForPod(type, object)));
  for (const deployment of cluster.list(deploymentKind)) loop.add(keyOf(deployment));
  return resources;

  function wake(set: Readonly<ApiObject>): void {
    const owner = controllerOf(set);
    const candidates = owner === undefined ? deployments.get(`in/${set.metadata.namespace}`) : deployments.get(owner.uid);
    for (const deployment of candidates)
      if (owner !== undefined || matchesSelector(deployment["spec"].selector, set.metadata.labels)) loop.add(keyOf(deployment));
  }

  /** A Recreate waits for the last old pod. */
  function wakeForPod(type: string, pod: Readonly<ApiObject>): void {
    if (type !== "DELETED" && !isTerminal(pod)) return;
    const owner = controllerOf(pod);
    const set = owner === undefined ? undefined : cluster.get(replicaSetKind, pod.metadata.namespace, owner.name);
    if (set !== undefined) wake(set);
  }

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const deployment = cluster.get(deploymentKind, namespace, name);
    if (deployment === undefined) return undefined;
    const spec: DeploymentSpec = deployment["spec"];
    if (selectsEverything(spec.selector)) {
      const message = "This deployment is selecting all pods. A non-empty selector is required.";
      events.record(component, deployment, { type: "Warning", reason: "SelectingAll", message });
      return undefined;
    }
    const owned = claim(deployment).toSorted((a, b) => createdMs(a) - createdMs(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
    const current = owned.find((set) => isSameTemplate(set["spec"].template, spec.template));
    const rollout: Rollout = { deployment, spec, current, old: owned.filter((set) => set !== current) };
    return step(rollout);
  }

  function step(rollout: Rollout): number | undefined {
    const { deployment, spec } = rollout;
    if (deployment.metadata.deletionTimestamp !== undefined) return writeStatus(rollout, false);
    if (notePause(deployment, spec) || noteRevision(rollout)) return 0;
    const sizes = sizesOf(rollout);
    if (spec.paused === true || isScalingEvent(spec, sizes)) {
      resize(rollout, planScale(spec, sizes, deployment["status"].replicas ?? 0), true);
      if (spec.paused === true) cleanUp(rollout);
      return writeStatus(fresh(rollout), false);
    }
    if (spec.strategy.type === "Recreate") return stepRecreate(rollout, sizes);
    if (sizes.current === undefined) return create(rollout);
    const isResized = resize(rollout, planRollingUpdate(spec, sizes.current, sizes.old), false);
    if (!isResized && isComplete(deployment, deployment["status"])) cleanUp(rollout);
    return writeStatus(fresh(rollout), true);
  }

  function stepRecreate(rollout: Rollout, sizes: Sets): number | undefined {
    const { deployment, spec } = rollout;
    if (resize(rollout, planRecreate(sizes.old), false) || hasOldPods(rollout)) return writeStatus(fresh(rollout), true);
    if (sizes.current === undefined) return create(rollout);
    resize(rollout, new Map([[sizes.current.name, spec.replicas ?? 1]]), false);
    if (isComplete(deployment, deployment["status"])) cleanUp(rollout);
    return writeStatus(fresh(rollout), true);
  }

  /** The sets of the Deployment; takes in those that match and have no controller, lets go those that no longer match. */
  function claim(deployment: Readonly<ApiObject>): Readonly<ApiObject>[] {
    const { selector }: DeploymentSpec = deployment["spec"];
    const { namespace, uid, deletionTimestamp } = deployment.metadata;
    const owned = sets.get(uid);
    const mine = owned.filter((set) => matchesSelector(selector, set.metadata.labels));
    if (deletionTimestamp !== undefined) return mine;
    for (const set of owned)
      if (!mine.includes(set))
        cluster.update(replicaSetKind, namespace, set.metadata.name, (object) => withoutOwners(object, (owner) => owner.uid === uid));
    for (const orphan of sets.get(orphansOf(namespace))) {
      if (orphan.metadata.deletionTimestamp !== undefined || !matchesSelector(selector, orphan.metadata.labels)) continue;
      const adopted = cluster.update(replicaSetKind, namespace, orphan.metadata.name, (object) =>
        withOwner(object, controllerReference(deploymentKind, deployment)),
      );
      if (adopted !== undefined) mine.push(adopted);
    }
    return mine;
  }

  /** Notes in the conditions that a rollout was paused or resumed. @returns whether that was new */
  function notePause(deployment: Readonly<ApiObject>, spec: DeploymentSpec): boolean {
    const { conditions = [] }: DeploymentStatus = deployment["status"];
    const reason = conditions.find(({ type }) => type === "Progressing")?.reason;
    const isNoted = reason === "DeploymentPaused";
    if (!hasProgressDeadline(spec) || reason === "ProgressDeadlineExceeded" || isNoted === (spec.paused ?? false)) return false;
    setCondition(
      deployment,
      spec.paused
        ? { type: "Progressing", status: "Unknown", reason: "DeploymentPaused", message: "Deployment is paused" }
        : { type: "Progressing", status: "Unknown", reason: "DeploymentResumed", message: "Deployment is resumed" },
    );
    return true;
  }

  /** Brings the current set's annotations and the Deployment's revision up to date. @returns whether they were not */
  function noteRevision({ deployment, spec, current, old }: Rollout): boolean {
    if (current === undefined) return false;
    const { namespace } = deployment.metadata;
    const annotations = newSetAnnotations(deployment.metadata.annotations, current.metadata.annotations, maxRevision(old) + 1);
    const minReadySeconds = spec.minReadySeconds ?? 0;
    if (!equalJson(annotations, current.metadata.annotations ?? {}) || (current["spec"].minReadySeconds ?? 0) !== minReadySeconds) {
      cluster.update(replicaSetKind, namespace, current.metadata.name, (set) => ({
        ...set,
        metadata: { ...set.metadata, annotations: { ...annotations } },
        spec: { ...set["spec"], minReadySeconds },
      }));
      return true;
    }
    if (setRevision(deployment, annotations[revisionAnnotation] ?? "")) return true;
    const { conditions = [] }: DeploymentStatus = deployment["status"];
    if (!hasProgressDeadline(spec) || conditions.some(({ type }) => type === "Progressing")) return false;
    setCondition(deployment, {
      type: "Progressing",
      status: "True",
      reason: "FoundNewReplicaSet",
      message: `Found new replica set ${JSON.stringify(current.metadata.name)}`,
    });
    return true;
  }

  function setRevision(deployment: Readonly<ApiObject>, revision: string): boolean {
    if (deployment.metadata.annotations?.[revisionAnnotation] === revision) return false;
    const { namespace, name } = deployment.metadata;
    cluster.update(deploymentKind, namespace, name, (object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [revisionAnnotation]: revision } },
    }));
    return true;
  }

  function setCondition(
    deployment: Readonly<ApiObject>,
    condition: Omit<WorkloadCondition, "lastUpdateTime" | "lastTransitionTime">,
  ): void {
    const { namespace, name } = deployment.metadata;
    const change = (object: ApiObject): ApiObject => ({
      ...object,
      status: { ...object["status"], conditions: withCondition(object["status"].conditions ?? [], condition, clock.now()) },
    });
    cluster.update(deploymentKind, namespace, name, change, "status");
  }

  /** Creates the set of the Deployment's template. */
  function create({ deployment, spec, old }: Rollout): number | undefined {
    const { namespace, name, annotations } = deployment.metadata;
    const { collisionCount }: DeploymentStatus = deployment["status"];
    const hash = templateHash(spec.template, collisionCount);
    const setName = `${name.slice(0, 253 - 1 - hash.length)}-${hash}`;
    const labels = { ...spec.template.metadata.labels, [hashLabel]: hash };
    const replicas = initialSize(spec, old.map(sizeOf));
    const wanted = spec.replicas ?? 1;
    const revision = maxRevision(old) + 1;
    const set = {
      metadata: {
        name: setName,
        namespace,
        labels,
        annotations: { ...newSetAnnotations(annotations, {}, revision), ...replicasAnnotations(wanted, wanted + fenceposts(spec).surge) },
        ownerReferences: [controllerReference(deploymentKind, deployment)],
      },
      spec: {
        replicas,
        minReadySeconds: spec.minReadySeconds,
        selector: { ...spec.selector, matchLabels: { ...spec.selector?.matchLabels, [hashLabel]: hash } },
        template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
      },
    };
    try {
      cluster.create(replicaSetKind, set);
    } catch (error) {
      if (!(error instanceof ApiStatusError)) throw error;
      if (error.status.reason === "AlreadyExists") {
        // Another template has the same hash: the count makes the next one differ.
        cluster.update(
          deploymentKind,
          namespace,
          name,
          (object) => ({ ...object, status: { ...object["status"], collisionCount: (collisionCount ?? 0) + 1 } }),
          "status",
        );
        return 0;
      }
      const message = `Failed to create new replica set ${JSON.stringify(setName)}: ${error.message}`;
      if (hasProgressDeadline(spec))
        setCondition(deployment, { type: "Progressing", status: "False", reason: "ReplicaSetCreateError", message });
      events.record(component, deployment, { type: "Warning", reason: "ReplicaSetCreateError", message });
      throw error;
    }
    if (replicas > 0)
      events.record(component, deployment, {
        type: "Normal",
        reason: "ScalingReplicaSet",
        message: `Scaled up replica set ${setName} from 0 to ${replicas}`,
      });
    setRevision(deployment, String(revision));
    if (hasProgressDeadline(spec))
      setCondition(deployment, {
        type: "Progressing",
        status: "True",
        reason: "NewReplicaSetCreated",
        message: `Created new replica set ${JSON.stringify(setName)}`,
      });
    return undefined;
  }

  /** @param annotate - whether to note what the Deployment wants now even where the size stays @returns whether a size changed */
  function resize({ deployment, spec, current, old }: Rollout, sizes: Sizes, annotate: boolean): boolean {
    const wanted = spec.replicas ?? 1;
    const notes = replicasAnnotations(wanted, wanted + fenceposts(spec).surge);
    let isResized = false;
    for (const set of [...old, ...(current === undefined ? [] : [current])]) {
      const { namespace, name, annotations } = set.metadata;
      const before: number = set["spec"].replicas ?? 0;
      const size = sizes.get(name) ?? before;
      const isNoted = Object.entries(notes).every(([key, value]) => annotations?.[key] === value);
      if (size === before && (isNoted || !annotate || !sizes.has(name))) continue;
      cluster.update(replicaSetKind, namespace, name, (object) => ({
        ...object,
        metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...notes } },
        spec: { ...object["spec"], replicas: size },
      }));
      if (size === before) continue;
      isResized = true;
      const message = `Scaled ${size > before ? "up" : "down"} replica set ${name} from ${before} to ${size}`;
      events.record(component, deployment, { type: "Normal", reason: "ScalingReplicaSet", message });
    }
    return isResized;
  }

  /** Keeps as many old, empty sets as the history is long. */
  function cleanUp({ spec, old }: Rollout): void {
    if (!hasHistoryLimit(spec)) return;
    const alive = old.filter((set) => set.metadata.deletionTimestamp === undefined);
    const surplus = alive.length - (spec.revisionHistoryLimit ?? 0);
    if (surplus <= 0) return;
    const byRevision = alive.toSorted(
      (a, b) => revisionOf(a.metadata.annotations) - revisionOf(b.metadata.annotations) || createdMs(a) - createdMs(b),
    );
    for (const set of byRevision.slice(0, surplus)) {
      const status: ReplicaSetStatus = set["status"];
      const isEmpty =
        status.replicas === 0 && (set["spec"].replicas ?? 0) === 0 && (status.observedGeneration ?? 0) >= (set.metadata.generation ?? 0);
      if (isEmpty) cluster.delete(replicaSetKind, set.metadata.namespace, set.metadata.name, { uid: set.metadata.uid });
    }
  }

  function hasOldPods({ old }: Rollout): boolean {
    return old.some((set) => set["status"].replicas > 0 || pods.get(set.metadata.uid).some((pod) => !isTerminal(pod)));
  }

  /** The objects as they are after this pass's writes. */
  function fresh(rollout: Rollout): Rollout {
    const again = (kind: typeof deploymentKind, object: Readonly<ApiObject>): Readonly<ApiObject> =>
      cluster.get(kind, object.metadata.namespace, object.metadata.name) ?? object;
    const { deployment, current, old } = rollout;
    return {
      ...rollout,
      deployment: again(deploymentKind, deployment),
      current: current === undefined ? undefined : again(replicaSetKind, current),
      old: old.map((set) => again(replicaSetKind, set)),
    };
  }

  function writeStatus({ deployment, current, old }: Rollout, isRollout: boolean): number | undefined {
    const { namespace, name } = deployment.metadata;
    const status = deploymentStatus(deployment, { current, old, isRollout, nowMs: clock.now() });
    if (!equalJson(status, deployment["status"]))
      cluster.update(deploymentKind, namespace, name, (object) => ({ ...object, status }), "status");
    return isRollout ? progressCheckMs(deployment, status, clock.now()) : undefined;
  }
}

function sizesOf({ current, old }: Rollout): Sets {
  return { current: current === undefined ? undefined : sizeOf(current), old: old.map(sizeOf) };
}

function sizeOf(set: Readonly<ApiObject>): SetSize {
  const { replicas = 0 }: ReplicaSetSpec = set["spec"];
  const status: ReplicaSetStatus = set["status"];
  const { name, annotations } = set.metadata;
  return {
    name,
    wanted: replicas,
    actual: status.replicas,
    available: status.availableReplicas ?? 0,
    createdMs: createdMs(set),
    desiredThen: desiredReplicasOf(annotations),
    mostThen: maxReplicasOf(annotations),
  };
}

function createdMs(object: Readonly<ApiObject>): number {
  return Date.parse(object.metadata.creationTimestamp);
}

function maxRevision(sets: readonly Readonly<ApiObject>[]): number {
  return Math.max(0, ...sets.map((set) => revisionOf(set.metadata.annotations)));
}
