/** What the settings are where nobody sets them. */
export const defaults = {
  nodeName: "virtual-kubelet",
  clusterDomain: "cluster.local",
  kubeletPort: 0,
  taintKey: "virtual-kubelet.io/provider",
  taintEffect: "NoSchedule",
  workers: 50,
  onProviderDown: "notReady",
  onShutdown: "keep",
  onUnsupported: "wait",
  daemonSets: "run",
  startupTimeout: "0s",
  shutdownTimeout: "30s",
  healthAddress: "127.0.0.1:10248",
  logLevel: "info",
  logFormat: "auto",
  demoKubeconfig: ".demo/kubeconfig",
} as const;
