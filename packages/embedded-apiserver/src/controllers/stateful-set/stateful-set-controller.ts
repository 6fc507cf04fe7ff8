import { WriteWaits } from "../../rest/steps.ts";
import { selectsLabels } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { controllerRevisionKind } from "../../kinds/workload/controller-revision.ts";
import { statefulSetKind } from "../../kinds/workload/stateful-set.ts";
import type { PodTemplate, StatefulSetSpec, StatefulSetStatus } from "../../kinds/workload/workload-fields.ts";
import { claimObjects } from "../shared/claim-objects.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerOf } from "../shared/ownership.ts";
import { isNamespaceTerminating } from "../shared/pod-control.ts";
import { holdsTemplate, RevisionHistory, revisionOf, templatePatch } from "../shared/revision-history.ts";
import { replaceStatus } from "../shared/status-write.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { revisionHash } from "./revision-hash.ts";
import { StatefulClaims } from "./stateful-claims.ts";
import { planStatefulSet, type StatefulStep, type StatefulView } from "./stateful-plan.ts";
import { ordinalOf, podRevisionOf, statefulPod } from "./stateful-pod.ts";
import { reportTo } from "./stateful-report.ts";
import { statefulSetStatus } from "./stateful-status.ts";

const hashLabel = "controller.kubernetes.io/hash";

const orphansOf = (namespace: string | undefined): string => `orphans/${namespace ?? ""}`;

/** Current and update revision of a set. */
interface Revisions {
  readonly all: readonly Readonly<ApiObject>[];
  readonly current: Readonly<ApiObject>;
  readonly update: Readonly<ApiObject>;
  readonly collisionCount: number;
}

/**
 * Maintains the ordinal pods of StatefulSets and their claims.
 * Source: Kubernetes v1.36.3 pkg/controller/statefulset.
 */
export function startStatefulSetController(context: ControllerContext): Disposable {
  const { cluster, clock, events } = context;
  const tell = reportTo(events);
  const claims = new StatefulClaims(cluster, tell);
  const resources = new Disposables();
  const pods = resources.use(new ObjectIndex(cluster, podKind, (pod) => [controllerOf(pod)?.uid ?? orphansOf(pod.metadata.namespace)]));
  const sets = resources.use(new ObjectIndex(cluster, statefulSetKind, ({ metadata }) => [metadata.uid, `in/${metadata.namespace}`]));
  const history = resources.use(new RevisionHistory(cluster, statefulSetKind));
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(statefulSetKind, ({ type, object }) => type !== "DELETED" && queue.add(keyOf(object))));
  resources.use(cluster.watch(podKind, ({ object }) => wake(object)));
  resources.use(cluster.watch(controllerRevisionKind, ({ object }) => wake(object)));
  for (const set of cluster.list(statefulSetKind)) queue.add(keyOf(set));
  return resources;

  function wake(owned: Readonly<ApiObject>): void {
    const owner = controllerOf(owned);
    const candidates = owner === undefined ? sets.get(`in/${owned.metadata.namespace}`) : sets.get(owner.uid);
    for (const set of candidates)
      if (owner !== undefined || selectsLabels(set["spec"].selector, owned.metadata.labels)) queue.add(keyOf(set));
  }

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const set = cluster.get(statefulSetKind, namespace, name);
    if (set === undefined) return undefined;
    const revisions = noteRevision(set);
    let failure: unknown;
    try {
      for (const step of planStatefulSet(viewOf(set, revisions))) carryOut(set, step, revisions);
    } catch (error) {
      if (error instanceof WriteWaits) throw error;
      failure = error;
    }
    const view = viewOf(set, revisions);
    const { status, nextAvailableMs } = statefulSetStatus(view, revisions.collisionCount);
    replaceStatus(cluster, statefulSetKind, set, status);
    trim(view, revisions);
    if (failure !== undefined && !isNamespaceTerminating(failure)) throw failure;
    return nextAvailableMs;
  }

  function viewOf(set: Readonly<ApiObject>, { current, update }: Revisions): StatefulView {
    return {
      set,
      spec: set["spec"],
      pods: claim(set),
      currentRevision: current.metadata.name,
      updateRevision: update.metadata.name,
      nowMs: clock.now(),
    };
  }

  /** Adopts only pods whose name fits the set. */
  function claim(set: Readonly<ApiObject>): Readonly<ApiObject>[] {
    const isMember = (pod: Readonly<ApiObject>): boolean => ordinalOf(set, pod) !== undefined;
    return claimObjects(cluster, {
      owner: set,
      ownerKind: statefulSetKind,
      kind: podKind,
      owned: pods.get(set.metadata.uid),
      orphans: pods.get(orphansOf(set.metadata.namespace)).filter(isMember),
      canChange: ({ metadata }) => metadata.deletionTimestamp === undefined,
    }).filter(isMember);
  }

  function noteRevision(set: Readonly<ApiObject>): Revisions {
    const { template }: StatefulSetSpec = set["spec"];
    const status: StatefulSetStatus = set["status"];
    const known = history.of(set);
    const newest = known.at(-1);
    const equal = known.findLast((revision) => holdsTemplate(revision, template));
    const next = newest === undefined ? 1 : revisionOf(newest) + 1;
    let { collisionCount = 0 } = status;
    let update = equal === undefined || equal === newest ? equal : history.renumber(equal, next);
    while (update === undefined) {
      const hash = revisionHash(templatePatch(template), collisionCount);
      update = history.create(set, { hash, hashLabel, revision: next, annotations: set.metadata.annotations });
      if (update === undefined) collisionCount++;
    }
    const current = known.find(({ metadata }) => metadata.name === status.currentRevision) ?? update;
    return { all: known, current, update, collisionCount };
  }

  function carryOut(set: Readonly<ApiObject>, step: StatefulStep, revisions: Revisions): void {
    switch (step.do) {
      case "create":
        return createPod(set, step.ordinal, revisions[step.revision]);
      case "claims":
        return keepClaims(set, step.pod);
      case "delete": {
        const { namespace, name, uid } = step.pod.metadata;
        return tell(set, "Delete", `Pod ${name}`, () => cluster.delete(podKind, namespace, name, { uid }));
      }
      default:
        return step satisfies never;
    }
  }

  function createPod(set: Readonly<ApiObject>, ordinal: number, revision: Readonly<ApiObject>): void {
    const template: PodTemplate = revision["data"].spec.template;
    const { $patch: _patch, ...plain } = template as PodTemplate & { $patch?: string };
    const name = `${set.metadata.name}-${ordinal}`;
    if (claims.hasStale(set, name, ordinal)) return;
    claims.create(set, name, ordinal);
    const pod = tell(set, "Create", `Pod ${name}`, () => cluster.create(podKind, statefulPod(set, plain, revision.metadata.name, ordinal)));
    claims.keepOwners(set, pod, ordinal);
  }

  function keepClaims(set: Readonly<ApiObject>, pod: Readonly<ApiObject>): void {
    const ordinal = ordinalOf(set, pod);
    if (ordinal === undefined) return;
    if (pod["status"].phase === "Pending" && pod.metadata.deletionTimestamp === undefined) claims.create(set, pod.metadata.name, ordinal);
    claims.keepOwners(set, pod, ordinal);
  }

  function trim({ set, spec, pods: members }: StatefulView, { all, current, update }: Revisions): void {
    const live = new Set([current.metadata.name, update.metadata.name, ...members.map(podRevisionOf)]);
    const old = all.filter(({ metadata }) => !live.has(metadata.name));
    if (set.metadata.deletionTimestamp === undefined) history.trim(old, spec.revisionHistoryLimit ?? 10, () => false);
  }
}
