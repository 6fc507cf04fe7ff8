import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import type { PodCondition } from "../../kinds/pod/pod-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { withPodCondition } from "../../kinds/pod/pod-conditions.ts";
import { isTerminal } from "../shared/pod-state.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

/** Time after a node's deletion until its pods are deleted. Source: Kubernetes v1.36.3 pkg/controller/podgc, `quarantineTime`. */
const quarantineMs = 40_000;

/** Source: the same package, `gcCheckPeriod`: the real controller looks at all pods from time to time. */
const checkPeriodMs = 20_000;

const outOfServiceTaint = "node.kubernetes.io/out-of-service";

/**
 * Force-deletes pods that no kubelet is left to terminate: those of deleted nodes, terminating ones of nodes that are out of service, and
 * terminating ones without a node.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/podgc/gc_controller.go.
 */
export function startPodGarbageCollector(context: ControllerContext): Disposable {
  const { cluster, clock } = context;
  const resources = new Disposables();
  const pods = resources.use(
    new ObjectIndex(cluster, podKind, (pod) => (pod["spec"].nodeName === undefined ? [] : [pod["spec"].nodeName])),
  );
  const missingSince = new Map<string, number>();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(
    cluster.watch(nodeKind, ({ type, object }) => {
      if (type !== "MODIFIED" || isOutOfService(object)) queue.add(object.metadata.name);
    }),
  );
  resources.use(cluster.watch(podKind, ({ type, object }) => type !== "DELETED" && look(object)));
  for (const pod of cluster.list(podKind)) look(pod);
  return resources;

  function look(pod: Readonly<ApiObject>): void {
    const node: string | undefined = pod["spec"].nodeName;
    const isEnding = pod.metadata.deletionTimestamp !== undefined;
    if (node === undefined) {
      if (isEnding && !isTerminal(pod)) queue.addAfter(`${unassigned}${keyOf(pod)}`, checkPeriodMs);
      return;
    }
    const existing = cluster.get(nodeKind, undefined, node);
    if (existing === undefined ? !missingSince.has(node) : isEnding && isOutOfService(existing)) queue.add(node);
  }

  function sync(key: string): number | undefined {
    if (!key.startsWith(unassigned)) return syncNode(key);
    const { namespace, name } = parseKey(key.slice(unassigned.length));
    const pod = cluster.get(podKind, namespace, name);
    if (pod?.metadata.deletionTimestamp !== undefined && pod["spec"].nodeName === undefined) remove(pod, undefined);
    return undefined;
  }

  function syncNode(node: string): number | undefined {
    const orphans = pods.get(node);
    const existing = cluster.get(nodeKind, undefined, node);
    if (orphans.length === 0 || existing !== undefined) {
      missingSince.delete(node);
      if (existing !== undefined && isOutOfService(existing))
        for (const pod of orphans) if (pod.metadata.deletionTimestamp !== undefined) remove(pod, undefined);
      return undefined;
    }
    const now = clock.monotonic();
    const since = missingSince.get(node) ?? now;
    missingSince.set(node, since);
    if (now - since < quarantineMs) return since + quarantineMs - now;
    const condition = { type: "DisruptionTarget", status: "True", reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };
    for (const pod of orphans) remove(pod, condition);
    missingSince.delete(node);
    return undefined;
  }

  function remove(pod: Readonly<ApiObject>, condition: PodCondition | undefined): void {
    const { namespace, name, uid } = pod.metadata;
    if (!isTerminal(pod)) {
      const fail = (object: ApiObject): ApiObject => {
        const failed = { ...object, status: { ...object["status"], phase: "Failed" } };
        return condition === undefined ? failed : withPodCondition(failed, condition, rfc3339(clock.now()));
      };
      cluster.update(podKind, namespace, name, fail, "status");
    }
    cluster.delete(podKind, namespace, name, { gracePeriodSeconds: 0, uid });
  }
}

/** Prefix of the keys of pods without a node; names of nodes have no slash. */
const unassigned = "pod/";

/** Whether an administrator has said that the node does not run any more. */
function isOutOfService({ spec, status }: Readonly<ApiObject>): boolean {
  const taints: readonly { readonly key: string }[] = spec?.taints ?? [];
  if (!taints.some(({ key }) => key === outOfServiceTaint)) return false;
  const conditions: readonly { readonly type: string; readonly status: string }[] = status?.conditions ?? [];
  return !conditions.some((condition) => condition.type === "Ready" && condition.status === "True");
}
