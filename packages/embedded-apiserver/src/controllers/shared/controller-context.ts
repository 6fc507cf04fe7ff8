import type { Clock, Random } from "@virtual-kubelet/clock";
import type { Cluster } from "../../rest/cluster.ts";
import type { EventRecorder } from "./event-recorder.ts";

/** What every controller works with. */
export interface ControllerContext {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventRecorder;
  /** Told of work that failed; it is tried again. */
  readonly onError: (error: unknown) => void;
}
