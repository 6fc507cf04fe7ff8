import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { podSysctls } from "@virtual-kubelet/core";
import type { SandboxSpec } from "@virtual-kubelet/pod-runtime";
import type { ContainerCreateOptions } from "dockerode";
import { logConfig } from "../container/container-body.ts";
import { dockerLabels } from "../object-names.ts";

/** What a sandbox's body needs besides its spec. */
export interface SandboxBodyOptions {
  readonly image: string;
  /** The network it is on, unless the pod is on the host's. */
  readonly network: string;
  readonly canLowerOomScore: boolean;
  readonly cgroupParent?: string | undefined;
  readonly runtime?: string | undefined;
}

/** Bytes of /dev/shm, which the pod's containers share. Source: the default of containerd's CRI plugin. */
const sharedMemoryBytes = 64 * 1024 * 1024;

/** CPU weight of a container that only waits. Source: cri-dockerd v0.3 core/sandbox_helpers.go. */
const sandboxCpuShares = 2;

/** The kernel is to kill it last. Source: cri-dockerd v0.3 core/sandbox_helpers.go. */
const sandboxOomScore = -998;

/**
 * The engine's body of a sandbox: a container that waits, and holds what a pod's containers share: network, hostname,
 * DNS settings, ports of the host, sysctls, shared memory.
 */
export function sandboxBody(spec: SandboxSpec, options: SandboxBodyOptions): ContainerCreateOptions {
  const { pod, dns, hosts, hostname } = spec;
  const isOnHost = pod.spec?.hostNetwork ?? false;
  const ports = isOnHost ? [] : hostPorts(pod);
  return {
    Image: options.image,
    // The host's network comes with the host's name.
    ...(!isOnHost && { Hostname: hostname }),
    Labels: { ...spec.labels, [dockerLabels.image]: options.image },
    Healthcheck: { Test: ["NONE"] },
    ...(ports.length > 0 && { ExposedPorts: Object.fromEntries(ports.map(({ key }) => [key, {}])) }),
    HostConfig: {
      NetworkMode: isOnHost ? "host" : options.network,
      // The engine's default may be private, and then nobody can join.
      IpcMode: pod.spec?.hostIPC ? "host" : "shareable",
      PidMode: pod.spec?.hostPID ? "host" : "",
      ShmSize: sharedMemoryBytes,
      Sysctls: { ...podSysctls(pod) },
      ...(dns && { Dns: [...dns.servers], DnsSearch: [...dns.searches], DnsOptions: [...dns.options] }),
      ExtraHosts: hosts.flatMap(({ ip, hostnames }) => hostnames.map((name) => `${name}:${ip}`)),
      ...(ports.length > 0 && { PortBindings: portBindings(ports) }),
      CpuShares: sandboxCpuShares,
      OomScoreAdj: options.canLowerOomScore ? sandboxOomScore : 0,
      SecurityOpt: ["no-new-privileges:true"],
      ReadonlyRootfs: true,
      RestartPolicy: { Name: "no" },
      Init: false,
      LogConfig: logConfig({ maxSize: "1m", maxFiles: 1 }),
      ...(options.cgroupParent && { CgroupParent: options.cgroupParent }),
      ...(options.runtime && { Runtime: options.runtime }),
    },
  };
}

interface HostPort {
  /** The port in the pod: `80/tcp`. */
  readonly key: string;
  readonly hostIP: string;
  readonly hostPort: number;
}

/** All ports of the host that a pod's containers ask for; those of ordinary init containers are not opened. */
function hostPorts({ spec }: DeepReadonly<Pod>): HostPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const containers: readonly DeepReadonly<Container>[] = [...sidecars, ...(spec?.containers ?? [])];
  return containers.flatMap(({ ports }) =>
    (ports ?? []).flatMap(({ hostPort, hostIP, containerPort, protocol }) => {
      if (hostPort === undefined || hostPort === 0) return [];
      return [{ key: `${containerPort}/${(protocol ?? "TCP").toLowerCase()}`, hostIP: hostIP ?? "", hostPort }];
    }),
  );
}

function portBindings(ports: readonly HostPort[]): Record<string, { HostIp: string; HostPort: string }[]> {
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const { key, hostIP, hostPort } of ports) (bindings[key] ??= []).push({ HostIp: hostIP, HostPort: String(hostPort) });
  return bindings;
}
