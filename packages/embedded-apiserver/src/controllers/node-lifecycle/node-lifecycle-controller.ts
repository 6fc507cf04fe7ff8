import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { leaseKind } from "../../kinds/lease.ts";
import type { NodeCondition, NodeSpec, NodeStatus } from "../../kinds/node/node-fields.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { nodeTaints } from "./node-taints.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { withPodCondition } from "../../kinds/pod/pod-conditions.ts";
import { podCondition } from "../shared/pod-state.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

const component = "node-controller";
const leaseNamespace = "kube-node-lease";

/**
 * Time without a heartbeat before a node becomes Unknown. Source: Kubernetes v1.36.3
 * pkg/controller/nodelifecycle/config/v1alpha1/defaults.go.
 */
const silenceMs = 50_000;
/** Time a new node has until its first heartbeat; from the same file. */
const firstWordMs = 60_000;

/** Conditions that become Unknown with the node. */
const reportedConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

interface Pulse {
  /** Status of the last heartbeat, to recognize the next one among other writes. */
  readonly word: string;
  /** Time of the last heartbeat on the monotonic clock. */
  readonly heardMs: number;
}

/**
 * Marks nodes Unknown, and their pods not ready, when they renew neither lease nor status, and derives taints from conditions. The real
 * controller slows down and finally stops when most nodes fail at once; this one does not.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/nodelifecycle.
 */
export function startNodeLifecycleController(context: ControllerContext): Disposable {
  const { cluster, clock, events } = context;
  const resources = new Disposables();
  const pods = resources.use(
    new ObjectIndex(cluster, podKind, (pod) => (pod["spec"].nodeName === undefined ? [] : [pod["spec"].nodeName])),
  );
  const pulses = new Map<string, Pulse>();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(
    cluster.watch(nodeKind, ({ type, object }) => {
      const { name } = object.metadata;
      if (type === "ADDED") {
        const message = `Node ${name} event: Registered Node ${name} in Controller`;
        events.record(component, object, { type: "Normal", reason: "RegisteredNode", message });
      }
      if (type === "DELETED") pulses.delete(name);
      else queue.add(name);
    }),
  );
  resources.use(
    cluster.watch(leaseKind, ({ type, object }) => {
      // A lease renewal of a known node only updates the heartbeat time; its timer reads that later.
      if (object.metadata.namespace === leaseNamespace && type !== "DELETED") takePulse(object.metadata.name);
    }),
  );
  // A pod must not stay ready if its status is written while its node is not ready.
  resources.use(
    cluster.watch(
      podKind,
      ({ type, object }) => type === "ADDED" && object["spec"].nodeName !== undefined && queue.add(object["spec"].nodeName),
    ),
  );
  for (const node of cluster.list(nodeKind)) queue.add(node.metadata.name);
  return resources;

  function takePulse(name: string): Pulse | undefined {
    const node = cluster.get(nodeKind, undefined, name);
    if (node === undefined) return undefined;
    const lease = cluster.get(leaseKind, leaseNamespace, name);
    const ready = conditionOf(node, "Ready");
    const word = JSON.stringify([
      node.metadata.uid,
      lease?.["spec"].renewTime,
      ready?.status === "Unknown" ? "silent" : ready?.lastHeartbeatTime,
    ]);
    const known = pulses.get(name);
    if (known?.word === word || (known !== undefined && ready?.status === "Unknown" && lease?.["spec"].renewTime === undefined))
      return known;
    const pulse = { word, heardMs: clock.monotonic() };
    pulses.set(name, pulse);
    return pulse;
  }

  function sync(name: string): number | undefined {
    const pulse = takePulse(name);
    const node = cluster.get(nodeKind, undefined, name);
    if (pulse === undefined || node === undefined) return undefined;
    const patienceMs = conditionOf(node, "Ready") === undefined ? firstWordMs : silenceMs;
    const leftMs = pulse.heardMs + patienceMs - clock.monotonic();
    if (leftMs <= 0) noteSilence(node);
    updateTaints(name);
    const current = cluster.get(nodeKind, undefined, name);
    if (current !== undefined && conditionOf(current, "Ready") !== undefined && !isReady(current)) markPods(name);
    return leftMs > 0 ? leftMs : undefined;
  }

  function noteSilence(node: Readonly<ApiObject>): void {
    const status: NodeStatus = node["status"];
    const conditions = silentConditions(status.conditions ?? [], rfc3339(clock.now()), node.metadata.creationTimestamp);
    if (equalJson(conditions, status.conditions)) return;
    cluster.update(
      nodeKind,
      undefined,
      node.metadata.name,
      (object) => ({ ...object, status: { ...object["status"], conditions } }),
      "status",
    );
    events.record(component, node, {
      type: "Normal",
      reason: "NodeNotReady",
      message: `Node ${node.metadata.name} status is now: NodeNotReady`,
    });
  }

  function updateTaints(name: string): void {
    const node = cluster.get(nodeKind, undefined, name);
    if (node === undefined) return;
    const { taints = [] }: NodeSpec = node["spec"];
    const wanted = nodeTaints(node, rfc3339(clock.now()));
    if (equalJson(wanted, taints)) return;
    cluster.update(nodeKind, undefined, name, (object) => ({ ...object, spec: { ...object["spec"], taints: wanted } }));
  }

  function markPods(name: string): void {
    for (const pod of pods.get(name)) {
      const ready = podCondition(pod, "Ready");
      if (ready?.status !== "True") continue;
      const { namespace, name: podName } = pod.metadata;
      const { reason, message } = ready;
      const condition = {
        type: "Ready",
        status: "False",
        ...(reason === undefined ? {} : { reason }),
        ...(message === undefined ? {} : { message }),
      };
      cluster.update(podKind, namespace, podName, (object) => withPodCondition(object, condition, rfc3339(clock.now())), "status");
      events.record(component, pod, { type: "Warning", reason: "NodeNotReady", message: "Node is not ready" });
    }
  }
}

function conditionOf(node: Readonly<ApiObject>, type: string): NodeCondition | undefined {
  const { conditions }: NodeStatus = node["status"];
  return conditions?.find((condition) => condition.type === type);
}

function isReady(node: Readonly<ApiObject>): boolean {
  return conditionOf(node, "Ready")?.status === "True";
}

function silentConditions(conditions: readonly NodeCondition[], now: string, created: string): NodeCondition[] {
  const silenced = conditions.map((condition) => {
    if (!reportedConditions.includes(condition.type) || condition.status === "Unknown") return condition;
    return {
      ...condition,
      status: "Unknown",
      lastTransitionTime: now,
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
    };
  });
  const missing = reportedConditions.filter((type) => !conditions.some((condition) => condition.type === type));
  const never = (type: string): NodeCondition => ({
    type,
    status: "Unknown",
    lastHeartbeatTime: created,
    lastTransitionTime: now,
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
  });
  return [...silenced, ...missing.map(never)];
}
