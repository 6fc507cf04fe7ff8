import { isTerminalPhase, type DeepReadonly, type Pod } from "@virtual-kubelet/core";
import { TerminalError, UnavailableError } from "@virtual-kubelet/errdefs";
import { isSidecar } from "@virtual-kubelet/kubernetes";

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const anyAddress = "0.0.0.0";

/**
 * Refuses a pod that asks for a port of the node which another pod has, like a kubelet. On the node's network every container port is a
 * port of the node. Source: getContainerPorts and fitsPorts in kubernetes v1.36.3 pkg/scheduler/framework/plugins/nodeports, HostPortInfo
 * in k8s.io/kube-scheduler v0.36.3 framework/types.go.
 *
 * @param others - pods of the node; the pod itself and pods that have ended are ignored
 * @throws TerminalError with the reason `NodePorts`
 */
export function checkHostPorts(pod: DeepReadonly<Pod>, others: readonly DeepReadonly<Pod>[]): void {
  if (!holderOfPorts(pod, others)) return;
  const message = "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  throw new TerminalError(message, { reason: "NodePorts" });
}

/**
 * Refuses a sandbox while an ending pod still has one of the pod's ports of the node.
 *
 * @param ending - as the others of {@link checkHostPorts}
 * @throws UnavailableError that names the other pod
 */
export function checkPortsAreFree(pod: DeepReadonly<Pod>, ending: readonly DeepReadonly<Pod>[]): void {
  const holder = holderOfPorts(pod, ending)?.metadata;
  if (!holder) return;
  throw new UnavailableError(`wait for a port of the node: pod ${holder.namespace}/${holder.name}, which is ending, still has it`);
}

function holderOfPorts(pod: DeepReadonly<Pod>, others: readonly DeepReadonly<Pod>[]): DeepReadonly<Pod> | undefined {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return undefined;
  return others.find((other) => {
    if (other.metadata?.uid === pod.metadata?.uid || isTerminalPhase(other.status?.phase)) return false;
    const taken = hostPortsOf(other);
    return wanted.some((port) => taken.some((of) => areInConflict(port, of)));
  });
}

function hostPortsOf({ spec }: DeepReadonly<Pod>): readonly HostPort[] {
  const containers = [...(spec?.initContainers ?? []).filter(isSidecar), ...(spec?.containers ?? [])];
  return containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, hostIP, protocol, containerPort }) => {
      const port = hostPort || (spec?.hostNetwork ? containerPort : 0);
      return port > 0 ? [{ ip: hostIP || anyAddress, protocol: protocol || "TCP", port }] : [];
    }),
  );
}

function areInConflict(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress;
}
