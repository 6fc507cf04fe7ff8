import { InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, EventRecorder, Pod, Store } from "@virtual-kubelet/kube-client";
import { about } from "../provider-calls/not-found.ts";
import { podRef } from "../provider/pod-ref.ts";
import type { ProviderHost } from "../provider/provider-host.ts";
import type { PodSources } from "../pod-sources/pod-sources.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";

/** Source: the API server's default, and its lower bound, for projected tokens. */
const defaultTokenSeconds = 3_600;
const minTokenSeconds = 600;

export interface PodAccessOptions {
  readonly nodeName: string;
  /** The node's pods. */
  readonly store: Store<Pod>;
  readonly sources: PodSources;
  readonly resolve: (pod: DeepReadonly<Pod>) => ResolvedPod;
  /** Returns the pod as it is passed to the provider. */
  readonly given: (pod: DeepReadonly<Pod>) => DeepReadonly<Pod>;
  readonly recorder: Pick<EventRecorder, "event">;
}

/** Returns the part of a {@link ProviderHost} that concerns the cluster's objects; of pods only those of the node. */
export function podAccess({
  nodeName,
  store,
  sources,
  resolve,
  given,
  recorder,
}: PodAccessOptions): Required<
  Pick<
    ProviderHost,
    | "getSecret"
    | "getConfigMap"
    | "getServiceAccountToken"
    | "resolvePod"
    | "onConfigChanged"
    | "findPod"
    | "listPods"
    | "recordEvent"
    | "recordNodeEvent"
  >
> {
  return {
    getSecret: (namespace, name, signal) => about({ kind: "Secret", namespace, name }, sources.getSecret(namespace, name, signal)),
    getConfigMap: (namespace, name, signal) => about({ kind: "ConfigMap", namespace, name }, sources.getConfigMap(namespace, name, signal)),
    async getServiceAccountToken({ namespace, name, uid }, { audience, expirationSeconds = defaultTokenSeconds }, signal) {
      if (!(expirationSeconds >= minTokenSeconds)) {
        throw new InvalidInputError(
          `request a service account token for pod ${namespace}/${name}: expirationSeconds is ${expirationSeconds}, expected ${minTokenSeconds} or more`,
        );
      }
      const object = { kind: "ServiceAccount", namespace, name: store.get(uid)?.spec?.serviceAccountName ?? "default" };
      const { token, expirationTimestamp } = await about(object, sources.getToken(uid, { audience, expirationSeconds }, signal));
      return { token, expirationTimestamp };
    },
    resolvePod({ namespace, name, uid }) {
      const pod = store.get(uid);
      if (pod) return resolve(pod);
      throw new NotFoundError(`resolve pod ${namespace}/${name}: no pod with UID ${uid} is bound to node ${nodeName}`);
    },
    onConfigChanged: (listener) =>
      sources.onConfigChanged((uid) => {
        const pod = store.get(uid);
        if (pod) listener(podRef(pod));
      }),
    findPod({ uid }) {
      const pod = store.get(uid);
      return pod && given(pod);
    },
    listPods: () => Array.from(store.list(), given),
    recordEvent({ namespace, name, uid }, { type, reason, message, container }) {
      const fieldPath = container === undefined ? undefined : containerFieldPath(store.get(uid), container);
      recorder.event({ apiVersion: "v1", kind: "Pod", namespace, name, uid, fieldPath }, type, reason, message);
    },
    // A kubelet, too, gives the node's name as its UID.
    recordNodeEvent: ({ type, reason, message }) =>
      recorder.event({ apiVersion: "v1", kind: "Node", name: nodeName, uid: nodeName }, type, reason, message),
  };
}

/** Returns a container's field path as in a kubelet's events. Source: kubernetes v1.36.3 pkg/kubelet/container/ref.go. */
function containerFieldPath(pod: DeepReadonly<Pod> | undefined, name: string): string {
  const isIn = (list: "initContainers" | "ephemeralContainers"): boolean =>
    pod?.spec?.[list]?.some((container) => container.name === name) ?? false;
  const list = isIn("initContainers") ? "initContainers" : isIn("ephemeralContainers") ? "ephemeralContainers" : "containers";
  return `spec.${list}{${name}}`;
}
