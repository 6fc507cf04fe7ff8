import { NodeAccess, type Provider, type RunningNode } from "@virtual-kubelet/core";
import { noMetrics, type Pod } from "@virtual-kubelet/kube-client";
import type { KubeletRequest } from "../routes/route.ts";
import type { ServedNode } from "../routes/served-node.ts";

const unused = (): never => {
  throw new Error("not expected to be called");
};

/** A node with these pods, whose provider has these methods and no others. */
export function fakeNode(
  options: {
    readonly name?: string;
    readonly pods?: readonly Pod[];
    readonly provider?: Partial<Provider>;
    readonly getPods?: RunningNode["getPods"];
    readonly problem?: ServedNode["problem"];
  } = {},
): ServedNode {
  const access = new NodeAccess({ nodeName: options.name ?? "n1", providerName: "acme", metrics: noMetrics });
  const lifecycle = { createPod: unused, updatePod: unused, deletePod: unused, getPod: unused, getPodStatus: unused, getPods: unused };
  access.open({
    provider: { ...lifecycle, ...options.provider },
    listPods: () => options.pods ?? [],
    getPods: options.getPods ?? unused,
    redact: (_uid, error) => error,
  });
  return { access, problem: options.problem };
}

/** A pod `default/web` with one running container `main`. */
export function fakePod(change: Partial<Pod> = {}): Pod {
  const status = { name: "main", image: "busybox", imageID: "", ready: true, restartCount: 0, state: { running: {} } };
  return {
    metadata: { namespace: "default", name: "web", uid: "u1" },
    spec: { containers: [{ name: "main", image: "busybox" }] },
    status: { phase: "Running", containerStatuses: [status] },
    ...change,
  };
}

/** A request by alice, as handlers get it. */
export function fakeRequest(change: Partial<KubeletRequest> = {}): KubeletRequest {
  return {
    method: "GET",
    path: "/",
    query: "",
    headers: {},
    params: { namespace: "default", pod: "web", container: "main" },
    user: { name: "alice", groups: [] },
    node: undefined,
    upgrade: undefined,
    signal: new AbortController().signal,
    ...change,
  };
}
