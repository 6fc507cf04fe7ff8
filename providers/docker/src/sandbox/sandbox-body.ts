import { podSysctls } from "@virtual-kubelet/core";
import type { SandboxSpec } from "@virtual-kubelet/pod-runtime";
import type { ContainerCreateOptions } from "dockerode";
import { logConfig } from "../container/container-body.ts";
import { dockerLabels } from "../engine/object-names.ts";
import { hostPorts, type HostPort } from "./host-ports.ts";

export interface SandboxBodyOptions {
  readonly image: string;
  /** The pod's network, unless the pod is on the host's. `none`: the engine connects nothing. */
  readonly network: string;
  readonly canLowerOomScore: boolean;
  readonly cgroupParent?: string | undefined;
  readonly runtime?: string | undefined;
}

/** Size of the pod's /dev/shm. Source: the default of containerd's CRI plugin. */
const sharedMemoryBytes = 64 * 1024 * 1024;

/** CPU shares of the pause container. Source: cri-dockerd v0.3 core/sandbox_helpers.go. */
const sandboxCpuShares = 2;

/** The kernel kills the pause container last. Source: cri-dockerd v0.3 core/sandbox_helpers.go. */
const sandboxOomScore = -998;

/**
 * The engine's body for a sandbox: a pause container that holds what the pod's containers share: network, hostname, DNS settings, ports of
 * the host, sysctls, shared memory.
 */
export function sandboxBody(spec: SandboxSpec, options: SandboxBodyOptions): ContainerCreateOptions {
  const { pod, dns, hosts, hostname } = spec;
  const isOnHost = pod.spec?.hostNetwork ?? false;
  const mode = isOnHost ? "host" : options.network;
  // Without a network of the engine, the plugins that connect the sandbox open its ports.
  const ports = mode === "host" || mode === "none" ? [] : hostPorts(pod);
  return {
    Image: options.image,
    // The host's network includes the host's name.
    ...(!isOnHost && { Hostname: hostname }),
    Labels: { ...spec.labels, [dockerLabels.image]: options.image },
    Healthcheck: { Test: ["NONE"] },
    ...(ports.length > 0 && { ExposedPorts: Object.fromEntries(ports.map((port) => [keyOf(port), {}])) }),
    HostConfig: {
      NetworkMode: mode,
      // The engine's default may be private, which nobody can join.
      IpcMode: pod.spec?.hostIPC ? "host" : "shareable",
      PidMode: pod.spec?.hostPID ? "host" : "",
      // podman refuses a size for the host's shared memory.
      ...(!pod.spec?.hostIPC && { ShmSize: sharedMemoryBytes }),
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

function portBindings(ports: readonly HostPort[]): Record<string, { HostIp: string; HostPort: string }[]> {
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const port of ports) (bindings[keyOf(port)] ??= []).push({ HostIp: port.hostIP, HostPort: String(port.hostPort) });
  return bindings;
}

/** A container port in the engine's notation: `80/tcp`. */
function keyOf({ containerPort, protocol }: HostPort): string {
  return `${containerPort}/${protocol}`;
}
