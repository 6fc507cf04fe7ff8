import type { LogAnalytics } from "../azure/container-group.ts";

/** Facts for the workspace's records. */
export interface DiagnosticsContext {
  readonly logAnalytics: LogAnalytics | undefined;
  /** Set if Container Insights is to know the cluster. */
  readonly insights: { readonly clusterResourceId: string } | undefined;
  readonly nodeName: string;
  readonly podUid: string;
}

/** Returns a pod's diagnostics. Each pod has its own metadata. Source of the keys: azure-aci v1.6.4 pkg/analytics/analytics.go. */
export function diagnosticsOf({
  logAnalytics,
  insights,
  nodeName,
  podUid,
}: DiagnosticsContext): { readonly logAnalytics: LogAnalytics } | undefined {
  if (!logAnalytics) return undefined;
  if (!insights) return { logAnalytics };
  const metadata = { "cluster-resource-id": insights.clusterResourceId, "node-name": nodeName, "pod-uuid": podUid };
  return { logAnalytics: { ...logAnalytics, metadata } };
}
