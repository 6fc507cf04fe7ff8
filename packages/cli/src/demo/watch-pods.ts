import { resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { demoDeployment, podState } from "./demo-workload.ts";

/** A pod that was created, deleted, or changed its state. */
export interface PodSighting {
  readonly name: string;
  /** As kubectl shows it; `gone` for a deleted pod. */
  readonly state: string;
  readonly node: string | undefined;
  readonly podIP: string | undefined;
}

/**
 * Yields the Deployment's pods whenever one of them looks different, until aborted. A watch within this process is never cut; if it ends
 * nevertheless, it is opened again.
 *
 * @throws `signal.reason` when aborted
 */
export async function* watchPods(client: KubeClient, signal: AbortSignal): AsyncGenerator<PodSighting> {
  const query = { namespace: demoDeployment.namespace, labelSelector: `app=${demoDeployment.name}` };
  const shown = new Map<string, string>();
  for (;;) {
    const { items, resourceVersion } = await client.list(resources.pods, query, { signal });
    for (const pod of items) yield* look(pod, shown);
    for await (const event of await client.watch(resources.pods, { ...query, resourceVersion }, { signal })) {
      if (event.type === "ERROR") break;
      if (event.type === "DELETED") yield sighting(event.object, "gone");
      else if (event.type !== "BOOKMARK") yield* look(event.object, shown);
    }
    signal.throwIfAborted();
  }
}

function* look(pod: Pod, shown: Map<string, string>): Generator<PodSighting> {
  const state = podState(pod);
  const uid = pod.metadata?.uid ?? "";
  if (shown.get(uid) === state) return;
  shown.set(uid, state);
  yield sighting(pod, state);
}

function sighting({ metadata, spec, status }: Pod, state: string): PodSighting {
  return { name: metadata?.name ?? "", state, node: spec?.nodeName, podIP: status?.podIP };
}
