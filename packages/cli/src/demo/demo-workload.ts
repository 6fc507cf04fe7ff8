import type { Deployment, Pod } from "@virtual-kubelet/kube-client";

export const demoNodeName = "virtual-node";

export const demoDeployment = { namespace: "default", name: "hello", replicas: 3 } as const;

/** The demo's Deployment. It tolerates the taint of a virtual node, as all pods on one must. */
export function demoDeploymentObject(): Deployment {
  const { namespace, name, replicas } = demoDeployment;
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: "web", image: "nginx" }],
          tolerations: [{ key: "virtual-kubelet.io/provider", operator: "Exists" }],
        },
      },
    },
  };
}

/** State of a pod of the mock, as in the STATUS column of `kubectl get pods`. */
export function podState({ metadata, status }: Pod): string {
  if (metadata?.deletionTimestamp !== undefined) return "Terminating";
  const waiting = status?.containerStatuses?.find(({ state }) => state?.waiting)?.state?.waiting;
  return waiting?.reason ?? status?.phase ?? "Pending";
}
