import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";

export interface HostPort {
  readonly containerPort: number;
  /** `tcp`, `udp` or `sctp`. */
  readonly protocol: string;
  /** Empty: every address of the host. */
  readonly hostIP: string;
  readonly hostPort: number;
}

/** Ports of the host that a pod's containers request. Ports of ordinary init containers are not opened. */
export function hostPorts({ spec }: DeepReadonly<Pod>): HostPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const containers: readonly DeepReadonly<Container>[] = [...sidecars, ...(spec?.containers ?? [])];
  return containers.flatMap(({ ports }) =>
    (ports ?? []).flatMap(({ hostPort, hostIP, containerPort, protocol }) => {
      if (hostPort === undefined || hostPort === 0) return [];
      return [{ containerPort, protocol: (protocol ?? "TCP").toLowerCase(), hostIP: hostIP ?? "", hostPort }];
    }),
  );
}
