import { posix } from "node:path";
import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import type { ContainerMount } from "../runtime/runtime-spec.ts";

/** Paths of files that the node provides in a container. `undefined`: the container does not get the file. */
export interface ManagedFiles {
  readonly hosts?: string | undefined;
  readonly resolvConf?: string | undefined;
  readonly terminationLog?: string | undefined;
}

/**
 * All mounts of a container: its volumes, and the node's files whose paths no volume takes. Source: makeMounts in kubernetes v1.36.3
 * pkg/kubelet/kubelet_pods.go and kuberuntime/kuberuntime_container.go; a kubelet leaves resolv.conf to the container runtime.
 */
export function allMounts(
  container: DeepReadonly<Container>,
  volumes: readonly ContainerMount[],
  { hosts, resolvConf, terminationLog }: ManagedFiles,
): readonly ContainerMount[] {
  const isFree = (path: string): boolean => volumes.every(({ containerPath }) => normalized(containerPath) !== normalized(path));
  const managed = (hostPath: string | undefined, containerPath: string, isReadOnly: boolean): readonly ContainerMount[] =>
    hostPath !== undefined && isFree(containerPath) ? [{ hostPath, containerPath, isReadOnly }] : [];
  return [
    ...volumes,
    ...managed(hosts, "/etc/hosts", false),
    ...managed(resolvConf, "/etc/resolv.conf", container.securityContext?.readOnlyRootFilesystem === true),
    ...managed(terminationLog, posix.resolve("/", container.terminationMessagePath ?? ""), false),
  ];
}

/** Makes a path absolute and removes slashes at its end. */
function normalized(path: string): string {
  return posix.resolve("/", path);
}
