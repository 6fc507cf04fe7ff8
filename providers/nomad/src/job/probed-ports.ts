import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import { portNumber } from "@virtual-kubelet/pod-runtime/probes";
import type { AllocatedPort } from "../api/types.ts";

/** The probes of a container, by their fields. */
export const probeFields = ["startupProbe", "readinessProbe", "livenessProbe"] as const;

/** The label of a port of the client's that leads to one that is probed. */
export function probedPortLabel(port: number): string {
  return `probe_${port}`;
}

/** Ports of a container that its probes ask, at the pod's own address. */
function probedPorts(container: DeepReadonly<Container>): readonly number[] {
  const ports = probeFields.flatMap((field) => {
    const { httpGet, tcpSocket, grpc } = container[field] ?? {};
    const action = httpGet ?? tcpSocket ?? grpc;
    return action && !("host" in action && action.host) ? [portNumber(action.port, container)] : [];
  });
  return [...new Set(ports)];
}

/**
 * Ports of a container that are probed and have no port of the client's yet, so that one has to be made: in a network of its own, a pod is
 * reached from its client alone.
 */
export function portsToMap(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): readonly number[] {
  const all = [...(pod.spec?.initContainers ?? []).filter(isSidecar), ...(pod.spec?.containers ?? [])];
  const mapped = all.flatMap(({ ports = [] }) =>
    ports.filter(({ hostPort, protocol = "TCP" }) => Boolean(hostPort) && protocol === "TCP").map(({ containerPort }) => containerPort),
  );
  return probedPorts(container).filter((port) => !mapped.includes(port));
}

/** The port of the client's that leads to one of the allocation's. */
export function mappedPort(ports: readonly AllocatedPort[], port: number): AllocatedPort | undefined {
  return ports.find(({ To, Label }) => To === port && !/_(udp|sctp)$/.test(Label));
}
