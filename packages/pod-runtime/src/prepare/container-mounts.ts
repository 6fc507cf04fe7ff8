import { posix } from "node:path";
import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import type { ContainerMount } from "../runtime/runtime-spec.ts";

/** Files of ours that a container gets; absent: it does not get that one. */
export interface ManagedFiles {
  readonly hosts?: string | undefined;
  readonly resolvConf?: string | undefined;
  readonly terminationLog?: string | undefined;
}

/**
 * All that a container mounts: its volumes, and of our files those it mounts nothing else in the place of.
 * Source: makeMounts in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go and kuberuntime/kuberuntime_container.go; its
 * resolv.conf is the container runtime's.
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

/** Absolute, without a slash at the end. */
function normalized(path: string): string {
  return posix.resolve("/", path);
}
