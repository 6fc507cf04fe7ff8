import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { KubeClient } from "@virtual-kubelet/kube-client";
import type { FarConnection } from "../far/far-cluster.ts";

/** Returns a connection to the far cluster of a test, which has no kubelets: logs, exec and the like of its pods cannot be opened. */
export function apiConnection(client: KubeClient, namespace?: string): FarConnection {
  return {
    client,
    namespace,
    stream: () => Promise.reject(new NotFoundError("the cluster of the test has no streams")),
    upgradeTarget: () => Promise.reject(new NotFoundError("the cluster of the test has no sockets")),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
