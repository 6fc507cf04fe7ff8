import type { GroupExtension } from "../azure/container-group.ts";

/** Version of both extensions. Source: azure-aci v1.6.4 pkg/client/extensions.go. */
const version = "1.0";

/** Extensions of a pod in a subnet, on Linux. */
export interface ExtensionChoice {
  readonly realTimeMetrics: boolean;
  /** `undefined`: without kube-proxy. */
  readonly kubeProxy: { readonly clusterCidr: string; readonly kubeVersion: string; readonly kubeconfig: string } | undefined;
}

/** Returns the group's extensions; `undefined` if there are none. */
export function extensionsOf({ realTimeMetrics, kubeProxy }: ExtensionChoice): readonly GroupExtension[] | undefined {
  const extension = (name: string, settings: Record<string, string>, protectedSettings: Record<string, string>): GroupExtension => ({
    name,
    properties: { extensionType: name, version, settings, protectedSettings },
  });
  const extensions = [
    ...(kubeProxy
      ? [
          extension(
            "kube-proxy",
            { clusterCidr: kubeProxy.clusterCidr, kubeVersion: kubeProxy.kubeVersion },
            { kubeConfig: Buffer.from(kubeProxy.kubeconfig).toString("base64") },
          ),
        ]
      : []),
    ...(realTimeMetrics ? [extension("realtime-metrics", {}, {})] : []),
  ];
  return extensions.length === 0 ? undefined : extensions;
}
