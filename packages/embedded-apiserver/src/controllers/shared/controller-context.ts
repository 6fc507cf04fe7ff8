import type { Clock, Random } from "@virtual-kubelet/clock";
import type { Cluster } from "../../rest/cluster.ts";
import type { Scales } from "../../rest/scales.ts";
import type { EventRecorder } from "./event-recorder.ts";

/** Shared dependencies of the controllers. */
export interface ControllerContext {
  readonly cluster: Cluster & Scales;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventRecorder;
  /** Called with errors of failed work, which is retried. */
  readonly onError: (error: unknown) => void;
}
