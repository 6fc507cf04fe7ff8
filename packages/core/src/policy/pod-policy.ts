import type { DeepReadonly, PodSpec } from "@virtual-kubelet/kube-client";

/**
 * What pods may ask of their node. By default as much as Kubernetes' Pod Security Standard "baseline" lets them, and host
 * ports: nothing that gives a pod the node, or lets it see other pods. A provider takes it as its setting `policy`, of the schema
 * {@link podPolicySchema}, and names it in its definition; pods that it does not allow never reach the provider.
 */
export interface PodPolicy {
  /** Whether containers may be privileged, or HostProcess containers of Windows: they own the node. Default `false`. */
  readonly privileged?: boolean | undefined;
  /**
   * Folders of the node that pods may mount, with all that is below: absolute paths; `/` is everything. A pod that may
   * write to one may also write what the node, or another pod, reads from it. Default: none.
   */
  readonly hostPaths?: readonly string[] | undefined;
  /** Whether pods may use the node's network, also by a `host` in probes and hooks, which the node asks. Default `false`. */
  readonly hostNetwork?: boolean | undefined;
  /** Whether pods may see the node's processes. Default `false`. */
  readonly hostPID?: boolean | undefined;
  /** Whether pods may use the node's shared memory and message queues. Default `false`. */
  readonly hostIPC?: boolean | undefined;
  /** Whether pods may take ports of the node. Default `true`. */
  readonly hostPorts?: boolean | undefined;
  /**
   * Linux capabilities that containers may add besides those of {@link baselineCapabilities}; `ALL` is every one. Default: none. Where
   * a pod has its processes to itself, its ephemeral containers may always add SYS_PTRACE, and so may all of a pod with
   * `shareProcessNamespace`: `kubectl debug` asks for that.
   */
  readonly capabilities?: readonly string[] | undefined;
  /**
   * Sysctls that pods may set in addition to the safe ones; a `*` at the end matches any rest. A kubelet's
   * `--allowed-unsafe-sysctls`. Default: none.
   */
  readonly sysctls?: readonly string[] | undefined;
  /**
   * Whether containers may leave what confines them: seccomp and AppArmor profiles `Unconfined`, SELinux users, roles and
   * types of their own, `procMount: Unmasked`. Default `false`.
   */
  readonly unconfined?: boolean | undefined;
  /**
   * Values that pods may give to the annotations by which they choose how a provider runs them, by annotation; `*` is any value. Of a
   * list each entry must be allowed. Default: none, so that a pod with such an annotation is refused.
   */
  readonly annotations?: Readonly<Record<string, readonly string[] | undefined>> | undefined;
  /**
   * Volumes of the back end that pods may name by their id, by namespace of Kubernetes. The namespace `*` stands for every one, the id `*`
   * for any. Default: none.
   */
  readonly volumes?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** An annotation by which a pod chooses how its provider runs it, so that a policy has to allow its value. */
export interface PolicyAnnotation {
  /** Such as `nomad.hashicorp.com/driver`. */
  readonly name: string;
  /** What stands between the entries of a list; absent: it has one value. */
  readonly separator?: string | undefined;
}

/** Field by which a pod names a volume of the back end that is there already, so that a policy has to allow the volume's id. */
export interface PolicyVolume {
  /** Path of the field in a volume of the pod, such as `cinder.volumeID`. */
  readonly fieldPath: string;
  /** Reads the id; `undefined` for volumes of other kinds. */
  idOf(volume: DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>): string | undefined;
}

/**
 * Capabilities every container may add.
 * Source: capabilities_allowed of the level baseline in k8s.io/pod-security-admission v0.36.3 policy/check_capabilities_baseline.go.
 */
export const baselineCapabilities: readonly string[] = [
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
];

/**
 * Whether pods may mount a path of the node. Ask it of the path in the spec, and again of what the path resolves to:
 * a link may lead out of an allowed folder.
 */
export function isAllowedHostPath(path: string, { hostPaths = [] }: PodPolicy): boolean {
  if (!path.startsWith("/") || path.split("/").includes("..")) return false;
  const wanted = normalize(path);
  return hostPaths.some((allowed) => {
    const folder = normalize(allowed);
    return folder === "" || wanted === folder || wanted.startsWith(`${folder}/`);
  });
}

/** Without double slashes, single dots and a slash at the end; `/` is empty. */
function normalize(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.map((part) => `/${part}`).join("");
}
