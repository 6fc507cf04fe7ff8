import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

type KernelNamespace = "IPC" | "Net";

/**
 * Sysctls that harm no other pod.
 * Source: safeSysctls in kubernetes v1.36.3 pkg/kubelet/sysctl/safe_sysctls.go; all are there since Linux 4.15.
 */
const safeSysctls: readonly string[] = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
];

/** Source: nameToNamespace in k8s.io/component-helpers v0.36.3 node/util/sysctl/namespace.go. */
const ipcNames = /^kernel\.(sem|shmall|shmmax|shmmni|shm_rmid_forced|shm|msgmax|msgmnb|msgmni|msg)$/;

/** The sysctls a pod sets, by name with dots. */
export function podSysctls({ spec }: DeepReadonly<Pod>): Readonly<Record<string, string>> {
  return Object.fromEntries((spec?.securityContext?.sysctls ?? []).map(({ name, value }) => [dotted(name), value]));
}

/**
 * Why a kubelet forbids the pod for its sysctls, in its words; `undefined` if it does not.
 * Source: patternAllowlist in kubernetes v1.36.3 pkg/kubelet/sysctl/allowlist.go.
 *
 * @param allowed - sysctls allowed in addition to the safe ones; a `*` at the end matches any rest
 */
export function forbiddenSysctl({ spec }: DeepReadonly<Pod>, allowed: readonly string[]): string | undefined {
  for (const { name: written } of spec?.securityContext?.sysctls ?? []) {
    const name = dotted(written);
    const rule = [...safeSysctls, ...allowed].find((pattern) => matches(pattern, name));
    if (rule === undefined) return `forbidden sysctl: "${name}" not allowlisted`;
    const namespace = kernelNamespaceOf(rule);
    const isShared = namespace === "IPC" ? spec?.hostIPC : spec?.hostNetwork;
    if (isShared) return `forbidden sysctl: "${name}" not allowed with host ${namespace} enabled`;
  }
  return undefined;
}

/** The kernel's namespace that a sysctl, or all that a pattern matches, belongs to; `undefined`: it is the node's. */
export function kernelNamespaceOf(pattern: string): KernelNamespace | undefined {
  const [name = ""] = dotted(pattern).split("*", 1);
  if (name.startsWith("net.")) return "Net";
  return ipcNames.test(name) || name.startsWith("fs.mqueue.") ? "IPC" : undefined;
}

function matches(pattern: string, name: string): boolean {
  const [prefix = "", rest] = dotted(pattern).split("*", 2);
  return rest === undefined ? prefix === name : name.startsWith(prefix);
}

/** `kernel/shm_rmid_forced` as `kernel.shm_rmid_forced`: if the first of both is a slash, they are swapped. */
function dotted(name: string): string {
  if (/[./]/.exec(name)?.[0] !== "/") return name;
  return name.replace(/[./]/g, (separator) => (separator === "/" ? "." : "/"));
}
