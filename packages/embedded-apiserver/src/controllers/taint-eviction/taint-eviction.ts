import { rfc3339, tolerates } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import type { NodeSpec, Taint } from "../../kinds/node/node-fields.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { withPodCondition } from "../../kinds/pod/pod-conditions.ts";
import { isActive } from "../shared/pod-state.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

const component = "taint-eviction-controller";

/**
 * Deletes pods from nodes with a NoExecute taint that they do not tolerate, or whose `tolerationSeconds` have passed.
 * Source: Kubernetes v1.36.3 pkg/controller/tainteviction.
 */
export function startTaintEviction(context: ControllerContext): Disposable {
  const { cluster, clock, events } = context;
  const resources = new Disposables();
  const pods = resources.use(
    new ObjectIndex(cluster, podKind, (pod) => (pod["spec"].nodeName === undefined ? [] : [pod["spec"].nodeName])),
  );
  const taintsByNode = new Map<string, readonly Taint[]>();
  /** Time at which each pod was first seen on a node with such taints; `tolerationSeconds` count from then. */
  const seen = new Map<string, { readonly uid: string; readonly sinceMs: number }>();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(
    cluster.watch(nodeKind, ({ type, object }) => {
      const { name } = object.metadata;
      const before = taintsByNode.get(name) ?? [];
      const after = type === "DELETED" ? [] : evictingTaints(object);
      if (after.length > 0) taintsByNode.set(name, after);
      else taintsByNode.delete(name);
      if (!equalJson(before, after)) for (const pod of pods.get(name)) queue.add(keyOf(pod));
    }),
  );
  resources.use(
    cluster.watch(podKind, ({ type, object }) => {
      if (type === "DELETED") seen.delete(keyOf(object));
      else if (taintsByNode.has(object["spec"].nodeName ?? "")) queue.add(keyOf(object));
    }),
  );
  for (const node of cluster.list(nodeKind)) {
    const taints = evictingTaints(node);
    if (taints.length === 0) continue;
    taintsByNode.set(node.metadata.name, taints);
    for (const pod of pods.get(node.metadata.name)) queue.add(keyOf(pod));
  }
  return resources;

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const pod = cluster.get(podKind, namespace, name);
    if (pod === undefined || !isActive(pod)) return undefined;
    const spec: PodSpec = pod["spec"];
    const before = seen.get(key);
    const since = before?.uid === pod.metadata.uid ? before : { uid: pod.metadata.uid, sinceMs: clock.now() };
    const dueMs = evictionDueMs(spec, taintsByNode.get(spec.nodeName ?? "") ?? [], since.sinceMs);
    if (dueMs === undefined) {
      seen.delete(key);
      return undefined;
    }
    seen.set(key, since);
    if (dueMs > clock.now()) return dueMs - clock.now();
    evict(pod);
    return undefined;
  }

  function evict(pod: Readonly<ApiObject>): void {
    const { namespace, name, uid } = pod.metadata;
    events.record(component, pod, {
      type: "Normal",
      reason: "TaintManagerEviction",
      message: `Marking for deletion Pod ${namespace}/${name}`,
    });
    const condition = {
      type: "DisruptionTarget",
      status: "True",
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
    };
    cluster.update(podKind, namespace, name, (object) => withPodCondition(object, condition, rfc3339(clock.now())), "status");
    cluster.delete(podKind, namespace, name, { uid });
  }
}

function evictingTaints(node: Readonly<ApiObject>): readonly Taint[] {
  const { taints = [] }: NodeSpec = node["spec"];
  return taints.filter(({ effect }) => effect === "NoExecute");
}

/**
 * Time at which a pod must leave a node with these taints, in milliseconds since the epoch; `undefined` if it may stay.
 *
 * @param sinceMs - when the pod was first seen on the tainted node. `tolerationSeconds` count from then and not from the taint's time, so
 *   that a pod created on a long unreachable node is not evicted at once.
 */
export function evictionDueMs({ tolerations = [] }: PodSpec, taints: readonly Taint[], sinceMs: number): number | undefined {
  let dueMs: number | undefined;
  for (const taint of taints) {
    const matching = tolerations.filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return sinceMs;
    const patience = matching.map(({ tolerationSeconds }) => tolerationSeconds).filter((seconds) => seconds !== undefined);
    if (patience.length === 0) continue;
    const taintDueMs = sinceMs + Math.max(0, Math.min(...patience)) * 1000;
    dueMs = dueMs === undefined ? taintDueMs : Math.min(dueMs, taintDueMs);
  }
  return dueMs;
}
