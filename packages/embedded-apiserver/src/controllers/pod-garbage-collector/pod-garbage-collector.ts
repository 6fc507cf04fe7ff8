import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { withPodCondition } from "../../kinds/pod/pod-conditions.ts";
import { isTerminal } from "../shared/pod-state.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

/** Time after a node's deletion until its pods are deleted. Source: Kubernetes v1.36.3 pkg/controller/podgc, `quarantineTime`. */
const quarantineMs = 40_000;

/** Force-deletes the pods of deleted nodes, because no kubelet is left to terminate them. */
export function startPodGarbageCollector(context: ControllerContext): Disposable {
  const { cluster, clock } = context;
  const resources = new Disposables();
  const pods = resources.use(
    new ObjectIndex(cluster, podKind, (pod) => (pod["spec"].nodeName === undefined ? [] : [pod["spec"].nodeName])),
  );
  const missingSince = new Map<string, number>();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(nodeKind, ({ object }) => queue.add(object.metadata.name)));
  resources.use(cluster.watch(podKind, ({ type, object }) => type !== "DELETED" && look(object)));
  for (const pod of cluster.list(podKind)) look(pod);
  return resources;

  function look(pod: Readonly<ApiObject>): void {
    const node: string | undefined = pod["spec"].nodeName;
    if (node !== undefined && !missingSince.has(node) && cluster.get(nodeKind, undefined, node) === undefined) queue.add(node);
  }

  function sync(node: string): number | undefined {
    const orphans = pods.get(node);
    if (orphans.length === 0 || cluster.get(nodeKind, undefined, node) !== undefined) {
      missingSince.delete(node);
      return undefined;
    }
    const now = clock.monotonic();
    const since = missingSince.get(node) ?? now;
    missingSince.set(node, since);
    if (now - since < quarantineMs) return since + quarantineMs - now;
    orphans.forEach(remove);
    missingSince.delete(node);
    return undefined;
  }

  function remove(pod: Readonly<ApiObject>): void {
    const { namespace, name, uid } = pod.metadata;
    if (!isTerminal(pod)) {
      const condition = { type: "DisruptionTarget", status: "True", reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };
      cluster.update(
        podKind,
        namespace,
        name,
        (object) => withPodCondition({ ...object, status: { ...object["status"], phase: "Failed" } }, condition, rfc3339(clock.now())),
        "status",
      );
    }
    cluster.delete(podKind, namespace, name, { gracePeriodSeconds: 0, uid });
  }
}
