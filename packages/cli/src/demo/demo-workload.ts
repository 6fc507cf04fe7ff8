import type { Deployment, Pod } from "@virtual-kubelet/kube-client";

/** Name of the demo's node. */
export const demoNodeName = "virtual-node";

/** Namespace and name of the demo's Deployment, and how many pods it has. */
export const demoDeployment = { namespace: "default", name: "hello", replicas: 3 } as const;

/** The demo's Deployment; it tolerates the taint of a virtual node, as every pod must that is to run there. */
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

/** What `kubectl get pods` shows in its STATUS column, as far as the mock's pods go. */
export function podState({ metadata, status }: Pod): string {
  if (metadata?.deletionTimestamp !== undefined) return "Terminating";
  const waiting = status?.containerStatuses?.find(({ state }) => state?.waiting)?.state?.waiting;
  return waiting?.reason ?? status?.phase ?? "Pending";
}
