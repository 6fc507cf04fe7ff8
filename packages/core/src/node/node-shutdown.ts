import type { Clock } from "@virtual-kubelet/clock";
import { isConflict, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import { listAll, resources, type DeepReadonly, type KubeClient, type Logger, type Pod } from "@virtual-kubelet/kube-client";
import { cordonedAnnotation } from "./node-patch.ts";
import type { NodeOptions, RegisteredNode } from "../virtual-node/options.ts";

/** Interval of a drain's rounds, which repeat refused evictions and look for pods that have ended. */
const drainIntervalMs = 1_000;

/** Number of concurrent evictions. */
const maxEvictions = 16;

export interface NodeShutdownOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Action of a graceful stop on the node; `keep` and absent: none. */
export type ShutdownPolicy = NonNullable<NodeOptions["onShutdown"]>;

/**
 * Performs the policies during which the node continues to run: `cordon` and `drain`. Failures are logged and do not prevent the
 * stop.
 *
 * @param signal - ends the wait for pods that do not leave
 */
export async function quietNode(
  policy: ShutdownPolicy,
  options: NodeShutdownOptions,
  node: RegisteredNode,
  signal: AbortSignal,
): Promise<void> {
  if (policy !== "cordon" && policy !== "drain") return;
  try {
    await cordonNode(options, node, signal);
    if (policy === "drain") await drainNode(options, signal);
  } catch (error) {
    options.logger.warn({ err: messageOf(error), policy }, "the node's shutdown policy could not be carried out in full");
  }
}

/** Keeps new pods away from the node. The annotation marks the cordon as ours, so that the next start may undo it. */
async function cordonNode(options: NodeShutdownOptions, node: RegisteredNode, signal: AbortSignal): Promise<void> {
  if (node.spec?.unschedulable) return;
  const body = { metadata: { uid: node.metadata?.uid, annotations: { [cordonedAnnotation]: "true" } }, spec: { unschedulable: true } };
  await options.client.patch(resources.nodes, { name: options.nodeName }, { type: "merge", body }, { signal });
  options.logger.info({}, "node is cordoned");
}

/**
 * Evicts the node's pods and waits until they are gone, like `kubectl drain`: pods of DaemonSets, mirror pods and
 * pods that have ended stay, and disruption budgets are respected. The pod controller must still be running.
 *
 * @throws `signal.reason` when aborted
 */
async function drainNode(options: NodeShutdownOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, nodeName } = options;
  for (let round = 0; ; round++) {
    const pods = await listAll(client, resources.pods, { fieldSelector: `spec.nodeName=${nodeName}` }, { signal }).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        logger.warn({ err: messageOf(error) }, "cannot list the node's pods to drain it; trying again");
        return undefined;
      },
    );
    const leaving = pods?.filter(mustLeave);
    if (leaving?.length === 0) break;
    if (round === 0 && leaving) logger.info({ pods: leaving.length, node: nodeName }, "draining the node");
    await evictAll(options, leaving?.filter((pod) => pod.metadata?.deletionTimestamp === undefined) ?? [], signal);
    await clock.sleep(drainIntervalMs, signal);
  }
  logger.info({}, "node is drained");
}

/** Deletes the node object if it has not been replaced. */
export async function deleteNode(options: NodeShutdownOptions, node: RegisteredNode, signal: AbortSignal): Promise<void> {
  try {
    const uid = node.metadata?.uid;
    await options.client.delete(resources.nodes, { name: options.nodeName }, { preconditions: { uid } }, { signal });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  options.logger.info({}, "node is deleted");
}

/** Whether a pod has to leave a node that is drained: it has not ended, and neither a DaemonSet nor a file made it. */
export function mustLeave(pod: DeepReadonly<Pod>): boolean {
  const phase = pod.status?.phase;
  if (phase === "Succeeded" || phase === "Failed") return false;
  if (pod.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined) return false;
  return !pod.metadata?.ownerReferences?.some((owner) => owner.controller === true && owner.kind === "DaemonSet");
}

async function evictAll(options: NodeShutdownOptions, pods: readonly DeepReadonly<Pod>[], signal: AbortSignal): Promise<void> {
  const waiting = pods.values();
  const work = async (): Promise<void> => {
    for (const pod of waiting) await evict(options, pod, signal);
  };
  await Promise.all(Array.from({ length: Math.min(maxEvictions, pods.length) }, work));
}

async function evict({ client, logger }: NodeShutdownOptions, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void> {
  const { namespace = "", name = "", uid } = pod.metadata ?? {};
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name }, deleteOptions: { preconditions: { uid } } };
  try {
    await client.raw("POST", path, body, { signal });
  } catch (error) {
    signal.throwIfAborted();
    // Gone, replaced, or held by a disruption budget: the next round looks again.
    if (!isNotFound(error) && !isConflict(error))
      logger.debug({ pod: `${namespace}/${name}`, err: messageOf(error) }, "pod cannot be evicted yet; trying again");
  }
}
