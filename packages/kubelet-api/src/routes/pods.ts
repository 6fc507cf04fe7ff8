import type { ProviderPod } from "@virtual-kubelet/core";
import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { ContentAnswer } from "../server/answer.ts";
import type { AnswerHeaders } from "../server/refusal.ts";
import { requireNode } from "./require-node.ts";
import type { Handler } from "./route.ts";

/** `/pods`: the pods bound to the node, as the API server has them, with their last known status. */
export const listPods: Handler = (request) => podList(requireNode(request).access.listPods());

/**
 * `/runningpods/`: the pods that the back end runs, with the fields that a runtime knows: names, and running containers. If the list may be
 * incomplete, a `Warning` header says so, which kubectl prints.
 */
export const listRunningPods: Handler = async (request) => {
  const { pods, complete } = await requireNode(request).access.getPods(request.signal);
  const running = pods.map(runningPod).filter(({ spec }) => (spec?.containers.length ?? 0) > 0);
  return podList(running, complete ? {} : { warning: '299 - "the back end could not list all its pods"' });
};

/** A `PodList`, written pod by pod because there may be thousands. */
function podList(pods: readonly DeepReadonly<Pod>[], headers: AnswerHeaders = {}): ContentAnswer {
  return { status: 200, headers: { "content-type": "application/json", ...headers }, body: writePodList(pods), isCompressible: true };
}

function* writePodList(pods: readonly DeepReadonly<Pod>[]): Generator<string, void, undefined> {
  yield '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[';
  for (const [index, pod] of pods.entries()) yield (index > 0 ? "," : "") + JSON.stringify(pod);
  yield "]}\n";
}

function runningPod({ ref, status }: ProviderPod): DeepReadonly<Pod> {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  const containers = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses]
    .filter(({ state }) => state?.running !== undefined)
    .map(({ name, image }: DeepReadonly<ContainerStatus>) => ({ name, image, resources: {} }));
  return { metadata: { name: ref.name, namespace: ref.namespace, uid: ref.uid }, spec: { containers }, status: {} };
}
