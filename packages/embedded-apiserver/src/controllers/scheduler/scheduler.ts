import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import { withPodCondition } from "../../kinds/pod/pod-conditions.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { persistentVolumeKind } from "../../kinds/volume/persistent-volume.ts";
import { storageClassKind } from "../../kinds/volume/storage-class.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { type PodUsage, podUsageOf, NodeUsage, type Usage } from "./node-usage.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { isTerminal, podCondition } from "../shared/pod-state.ts";
import { allocatable, unschedulableReasons, unschedulableMessage } from "./scheduler-filters.ts";
import { bindDelayed, podVolumeClaims, type PodVolumeClaims, volumeProblem } from "./volume-binding.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

const schedulerName = "default-scheduler";

/** Assumed requests of containers without requests, so that they are spread over the nodes. Source: pkg/scheduler/util/pod_resources.go. */
const defaultNanos: Readonly<Record<string, bigint>> = { cpu: 100_000_000n, memory: 200n * 2n ** 20n * 1_000_000_000n };

/**
 * Binds each pending pod to the eligible node with the most free CPU and memory. A pod without an eligible node waits until a node changes,
 * a pod ends, or a volume or claim changes.
 */
export function startScheduler(context: ControllerContext): Disposable {
  const { cluster, clock, events } = context;
  const resources = new Disposables();
  const usage = resources.use(new NodeUsage(cluster));
  const waiting = new Set<string>();
  const queue = resources.use(createWorkQueue({ ...context, process: schedule }));
  resources.use(
    cluster.watch(podKind, ({ type, object }) => {
      if (type !== "DELETED" && isPending(object)) queue.add(keyOf(object));
      else waiting.delete(keyOf(object));
      if (object["spec"].nodeName !== undefined && (type === "DELETED" || isTerminal(object))) retry();
    }),
  );
  const seen = new Map<string, Readonly<ApiObject>>();
  resources.use(
    cluster.watch(nodeKind, ({ type, object }) => {
      const before = seen.get(object.metadata.name);
      if (type === "DELETED") seen.delete(object.metadata.name);
      else seen.set(object.metadata.name, object);
      if (type !== "MODIFIED" || before === undefined || matters(before, object)) retry();
    }),
  );
  for (const kind of [persistentVolumeClaimKind, persistentVolumeKind, storageClassKind]) resources.use(cluster.watch(kind, retry));
  for (const node of cluster.list(nodeKind)) seen.set(node.metadata.name, node);
  for (const pod of cluster.list(podKind)) if (isPending(pod)) queue.add(keyOf(pod));
  return resources;

  function retry(): void {
    for (const key of waiting) queue.add(key);
  }

  function schedule(key: string): void {
    const { namespace, name } = parseKey(key);
    const pod = cluster.get(podKind, namespace, name);
    waiting.delete(key);
    if (pod === undefined || !isPending(pod)) return;
    const spec: PodSpec = pod["spec"];
    const podUsage = podUsageOf(spec);
    const nodes = [...seen.values()];
    const volumes = podVolumeClaims(cluster, pod);
    if (typeof volumes === "string") {
      waiting.add(key);
      refuse(pod, nodes.length === 0 ? unschedulableMessage([]) : `0/${nodes.length} nodes are available: ${volumes}.`);
      return;
    }
    const problems = nodes.map((node) => problemsOf(spec, podUsage, volumes, node));
    const fitting = nodes.filter((_, index) => problems[index]?.length === 0);
    const best = roomiest(fitting, podUsage);
    if (best === undefined) {
      waiting.add(key);
      refuse(pod, unschedulableMessage(problems));
      return;
    }
    if (volumes.delayed.length > 0) {
      waiting.add(key);
      bindDelayed(cluster, volumes, best);
      return;
    }
    cluster.bind(namespace, name, best.metadata.name);
    events.record(schedulerName, pod, {
      type: "Normal",
      reason: "Scheduled",
      message: `Successfully assigned ${namespace}/${name} to ${best.metadata.name}`,
    });
  }

  function problemsOf(spec: PodSpec, podUsage: PodUsage, volumes: PodVolumeClaims, node: Readonly<ApiObject>): readonly string[] {
    const problems = unschedulableReasons(spec, podUsage, node, usage.of(node.metadata.name));
    const problem = problems.length > 0 ? undefined : volumeProblem(cluster, volumes, node);
    return problem === undefined ? problems : [problem];
  }

  function roomiest(nodes: readonly Readonly<ApiObject>[], podUsage: PodUsage): Readonly<ApiObject> | undefined {
    let best: { readonly node: Readonly<ApiObject>; readonly room: number; readonly pods: number } | undefined;
    for (const node of nodes) {
      const taken = usage.of(node.metadata.name);
      const room = roomOf(node, taken, podUsage);
      if (best === undefined || room > best.room || (room === best.room && taken.pods < best.pods)) best = { node, room, pods: taken.pods };
    }
    return best?.node;
  }

  function refuse(pod: Readonly<ApiObject>, message: string): void {
    const known = podCondition(pod, "PodScheduled");
    if (known?.status === "False" && known.message === message) return;
    events.record(schedulerName, pod, { type: "Warning", reason: "FailedScheduling", message });
    const { namespace, name, uid } = pod.metadata;
    const observedGeneration = pod.metadata.generation ?? 0;
    const condition = { type: "PodScheduled", status: "False", observedGeneration, reason: "Unschedulable", message };
    const change = (object: ApiObject): ApiObject | undefined =>
      object.metadata.uid === uid ? withPodCondition(object, condition, rfc3339(clock.now())) : undefined;
    cluster.update(podKind, namespace, name, change, "status");
  }
}

function isPending(pod: Readonly<ApiObject>): boolean {
  const spec: PodSpec = pod["spec"];
  return (
    spec.nodeName === undefined &&
    spec.schedulerName === schedulerName &&
    spec.schedulingGates === undefined &&
    pod.metadata.deletionTimestamp === undefined &&
    !isTerminal(pod)
  );
}

/** Whether a node's change can make room for a pod. Heartbeats cannot. */
function matters(before: Readonly<ApiObject>, after: Readonly<ApiObject>): boolean {
  return !(
    equalJson(before["spec"], after["spec"]) &&
    equalJson(before.metadata.labels, after.metadata.labels) &&
    equalJson(before["status"].allocatable, after["status"].allocatable)
  );
}

/** Fraction of CPU and memory that would remain free, between 0 and 1. */
function roomOf(node: Readonly<ApiObject>, usage: Usage, podUsage: PodUsage): number {
  const parts = Object.entries(defaultNanos).map(([name, byDefault]) => {
    const total = allocatable(node, name);
    const taken = (usage.nanos.get(name) ?? 0n) + (podUsage.nanos.get(name) ?? byDefault);
    return total === 0n ? 0 : Math.max(0, Number(total - taken) / Number(total));
  });
  return parts.reduce((sum, part) => sum + part, 0) / parts.length;
}
