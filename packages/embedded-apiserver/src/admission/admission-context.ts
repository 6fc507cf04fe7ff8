import type { Clock, Random } from "@virtual-kubelet/clock";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { Disposables } from "../resources/disposables.ts";
import type { Cluster } from "../rest/cluster.ts";

/** Dependencies of the admission plugins. */
export interface AdmissionContext {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly authorizer: Authorizer;
  /** Takes what plugins hold: watches of their configuration, connections. */
  readonly resources: Disposables;
}
