import type { AttachIO, Container, DeepReadonly, ExecResult } from "@virtual-kubelet/core";
import type { Endpoint, FailedContainer, ProbeKind } from "@virtual-kubelet/pod-runtime/probes";
import type { RemoteTarget } from "./remote-target.ts";

/** Probes that remote-pods runs because the back end cannot. */
export interface RemoteProbing<Remote> {
  /** Whether remote-pods runs this probe. The back end runs the others, or its `translate` refuses them. Pure. */
  runs(kind: ProbeKind, container: DeepReadonly<Container>): boolean;
  /** Maximum number of commands that run at the same time. Default: 8. */
  readonly maxCommands?: number | undefined;
  /** Runs the command of an exec probe. Absent: `runs` must return `false` for exec probes. */
  exec?(
    target: RemoteTarget<Remote>,
    container: string,
    command: readonly string[],
    io: AttachIO,
    signal: AbortSignal,
  ): Promise<ExecResult>;
  /** Address of a port of the pod; `undefined` while it is unknown. Default: the port at the pod's IP address. */
  endpointOf?(target: RemoteTarget<Remote>, port: number): Endpoint | undefined;
  /**
   * Checks that a failed probe is the container's fault: rejects if the back end, or the machine of the container, does not answer. Default: the
   * object is described.
   */
  confirm?(target: RemoteTarget<Remote>, signal: AbortSignal): Promise<void>;
  /**
   * Ends a container whose startup or liveness probe has failed, and starts it again if `isRestarted`. Called until the instance no longer runs.
   */
  endContainer(target: RemoteTarget<Remote>, failed: FailedContainer, signal: AbortSignal): Promise<void>;
}
