import { selectsLabels } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { selectsEverything } from "../../selectors/label-selector-text.ts";
import { controllerRevisionKind } from "../../kinds/workload/controller-revision.ts";
import { daemonSetKind } from "../../kinds/workload/daemon-set.ts";
import type { DaemonSetSpec, DaemonSetStatus } from "../../kinds/workload/workload-fields.ts";
import { claimObjects } from "../shared/claim-objects.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import type { EventText } from "../shared/event-recorder.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerOf } from "../shared/ownership.ts";
import { createPods, deletePod } from "../shared/pod-control.ts";
import { isTerminal } from "../shared/pod-state.ts";
import { holdsTemplate, RevisionHistory, revisionOf } from "../shared/revision-history.ts";
import { replaceStatus } from "../shared/status-write.ts";
import { templateHash } from "../shared/template-hash.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { judgeNode } from "./daemon-nodes.ts";
import { type DaemonPlan, type DaemonView, planDaemonPods, planUpdate } from "./daemon-plan.ts";
import { daemonPod, revisionHashLabel, targetNodeOf } from "./daemon-pod.ts";
import { daemonSetStatus } from "./daemon-status.ts";
import { FailedPodBackoff } from "./failed-pod-backoff.ts";

const component = "daemonset-controller";
/** Source: Kubernetes v1.36.3 pkg/controller/daemon/daemon_controller.go, `BurstReplicas`. */
const burst = 250;

const orphansOf = (namespace: string | undefined): string => `orphans/${namespace ?? ""}`;

/**
 * Keeps one pod of each DaemonSet on every eligible node.
 * Source: Kubernetes v1.36.3 pkg/controller/daemon.
 */
export function startDaemonSetController(context: ControllerContext): Disposable {
  const { cluster, clock, events } = context;
  const resources = new Disposables();
  const backoff = new FailedPodBackoff();
  const pods = resources.use(new ObjectIndex(cluster, podKind, (pod) => [controllerOf(pod)?.uid ?? orphansOf(pod.metadata.namespace)]));
  const daemonSets = resources.use(new ObjectIndex(cluster, daemonSetKind, ({ metadata }) => [metadata.uid, `in/${metadata.namespace}`]));
  const history = resources.use(new RevisionHistory(cluster, daemonSetKind));
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(
    cluster.watch(daemonSetKind, ({ type, object }) => {
      if (type === "DELETED") backoff.forget(object.metadata.uid);
      else queue.add(keyOf(object));
    }),
  );
  resources.use(cluster.watch(podKind, ({ object }) => wake(object)));
  resources.use(cluster.watch(controllerRevisionKind, ({ object }) => wake(object)));
  const nodes = new Map(cluster.list(nodeKind).map((node) => [node.metadata.name, node]));
  resources.use(
    cluster.watch(nodeKind, ({ type, object }) => {
      const before = nodes.get(object.metadata.name);
      if (type === "DELETED") nodes.delete(object.metadata.name);
      else nodes.set(object.metadata.name, object);
      if (type !== "MODIFIED" || before === undefined || matters(before, object))
        for (const daemonSet of cluster.list(daemonSetKind)) queue.add(keyOf(daemonSet));
    }),
  );
  for (const daemonSet of cluster.list(daemonSetKind)) queue.add(keyOf(daemonSet));
  return resources;

  function wake(owned: Readonly<ApiObject>): void {
    const owner = controllerOf(owned);
    const candidates = owner === undefined ? daemonSets.get(`in/${owned.metadata.namespace}`) : daemonSets.get(owner.uid);
    for (const daemonSet of candidates)
      if (owner !== undefined || selectsLabels(daemonSet["spec"].selector, owned.metadata.labels)) queue.add(keyOf(daemonSet));
  }

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const daemonSet = cluster.get(daemonSetKind, namespace, name);
    if (daemonSet === undefined || daemonSet.metadata.deletionTimestamp !== undefined) return undefined;
    const spec: DaemonSetSpec = daemonSet["spec"];
    if (selectsEverything(spec.selector)) {
      const message = "This daemon set is selecting all pods. A non-empty selector is required.";
      events.record(component, daemonSet, { type: "Warning", reason: "SelectingAll", message });
      return undefined;
    }
    const { hash, old } = noteRevision(daemonSet);
    if (hash === undefined) return 0;
    const { waitMs, failure } = step(viewOf(daemonSet, hash));
    history.trim(old, spec.revisionHistoryLimit ?? 10, (revision) => isInUse(daemonSet, revision));
    const { status, nextAvailableMs } = daemonSetStatus(viewOf(daemonSet, hash));
    replaceStatus(cluster, daemonSetKind, daemonSet, status);
    if (failure !== undefined) throw failure;
    return [waitMs, nextAvailableMs].filter((delay) => delay !== undefined).toSorted((a, b) => a - b)[0];
  }

  /** Creates missing pods and deletes surplus ones; if there are none of either, takes the next step of an update. */
  function step(view: DaemonView): { readonly waitMs: number | undefined; readonly failure: unknown } {
    let waitMs: number | undefined;
    const mayReplace = (node: string): boolean => {
      const key = backoffKey(view, node);
      const nodeWaitMs = backoff.waitMs(key, view.nowMs);
      if (nodeWaitMs === 0) backoff.note(key, view.nowMs);
      else waitMs = Math.min(waitMs ?? nodeWaitMs, nodeWaitMs);
      return nodeWaitMs === 0;
    };
    let plan = planDaemonPods(view, mayReplace);
    for (const pod of plan.remove.filter(isTerminal)) events.record(component, view.daemonSet, endedEvent(pod));
    if (plan.create.length + plan.remove.length === 0 && view.spec.updateStrategy.type === "RollingUpdate") plan = planUpdate(view);
    const isCut = plan.create.length > burst || plan.remove.length > burst;
    return { waitMs: isCut ? 0 : waitMs, failure: carryOut(view, plan) };
  }

  function carryOut({ daemonSet, hash }: DaemonView, { create, remove }: DaemonPlan): unknown {
    const actor = { component, owner: daemonSet };
    const fresh = create.slice(0, burst).map((node) => daemonPod(daemonSet, node, hash));
    const { failure } = createPods(context, actor, fresh);
    for (const pod of remove.slice(0, burst)) deletePod(context, actor, pod);
    return failure;
  }

  function viewOf(daemonSet: Readonly<ApiObject>, hash: string): DaemonView {
    const spec: DaemonSetSpec = daemonSet["spec"];
    const podsByNode = new Map<string, Readonly<ApiObject>[]>();
    for (const pod of claim(daemonSet)) {
      const node = targetNodeOf(pod);
      if (node === undefined || (isTerminal(pod) && pod.metadata.deletionTimestamp !== undefined)) continue;
      podsByNode.set(node, [...(podsByNode.get(node) ?? []), pod]);
    }
    return { daemonSet, spec, hash, nodes: [...nodes.values()].map((node) => judgeNode(spec, node)), podsByNode, nowMs: clock.now() };
  }

  function claim(daemonSet: Readonly<ApiObject>): Readonly<ApiObject>[] {
    return claimObjects(cluster, {
      owner: daemonSet,
      ownerKind: daemonSetKind,
      kind: podKind,
      owned: pods.get(daemonSet.metadata.uid),
      orphans: pods.get(orphansOf(daemonSet.metadata.namespace)),
      canChange: ({ metadata }) => metadata.deletionTimestamp === undefined,
    });
  }

  /** Stores the current template as the newest revision. @returns `undefined` as the hash on a hash collision */
  function noteRevision(daemonSet: Readonly<ApiObject>): { readonly hash: string | undefined; readonly old: Readonly<ApiObject>[] } {
    const { template }: DaemonSetSpec = daemonSet["spec"];
    const { collisionCount }: DaemonSetStatus = daemonSet["status"];
    const revisions = history.of(daemonSet);
    const current = revisions.findLast((revision) => holdsTemplate(revision, template));
    const old = revisions.filter((revision) => revision !== current);
    const next = Math.max(0, ...old.map(revisionOf)) + 1;
    if (current !== undefined) {
      if (revisionOf(current) < next) history.renumber(current, next);
      return { hash: current.metadata.labels?.[revisionHashLabel] ?? current.metadata.name, old };
    }
    const hash = templateHash(template, collisionCount);
    const { annotations } = daemonSet.metadata;
    const created = history.create(daemonSet, { hash, hashLabel: revisionHashLabel, revision: next, annotations });
    if (created !== undefined) return { hash, old };
    replaceStatus(cluster, daemonSetKind, daemonSet, { ...daemonSet["status"], collisionCount: (collisionCount ?? 0) + 1 });
    return { hash: undefined, old };
  }

  function isInUse(daemonSet: Readonly<ApiObject>, revision: Readonly<ApiObject>): boolean {
    const hash = revision.metadata.labels?.[revisionHashLabel];
    return pods.get(daemonSet.metadata.uid).some(({ metadata }) => metadata.labels?.[revisionHashLabel] === hash);
  }
}

function backoffKey({ daemonSet }: DaemonView, node: string): string {
  return `${daemonSet.metadata.uid}/${daemonSet["status"].observedGeneration ?? 0}/${node}`;
}

/** Whether a node's change can affect where pods run. Heartbeats cannot. */
function matters(before: Readonly<ApiObject>, after: Readonly<ApiObject>): boolean {
  return !(equalJson(before["spec"], after["spec"]) && equalJson(before.metadata.labels, after.metadata.labels));
}

function endedEvent({ metadata, status, spec }: Readonly<ApiObject>): EventText {
  const place = `${metadata.namespace}/${metadata.name} on node ${spec.nodeName ?? ""}`;
  return status.phase === "Failed"
    ? { type: "Warning", reason: "FailedDaemonPod", message: `Found failed daemon pod ${place}, will try to kill it` }
    : { type: "Normal", reason: "SucceededDaemonPod", message: `Found succeeded daemon pod ${place}, will try to delete it` };
}
