import { spawnSync } from "node:child_process";

/** The address of the namespace's one interface, `lo`: of a range kept for documentation, and no loopback address. */
const address = "203.0.113.10";

/**
 * The command in a network namespace of its own, in which {@link address} stands for the node: kube-apiserver's node
 * proxy and its aggregator refuse to talk to loopback addresses. Nothing leaves the namespace.
 */
export function inNetworkNamespace(command: readonly [string, ...string[]]): [string, ...string[]] {
  const setUp = `ip link set lo up && ip address add ${address}/32 dev lo && exec "$@"`;
  const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  return ["unshare", "--net", ...user, "sh", "-c", setUp, "sh", ...command];
}

/**
 * The command as in {@link inNetworkNamespace}, and in namespaces of processes and mounts as well: a container engine that
 * runs in them leaves no process, bridge, firewall rule or mount behind, however it ends. It takes root.
 */
export function inEngineNamespaces(command: readonly [string, ...string[]]): [string, ...string[]] {
  // The shell stays: the first process of a namespace has to take in those that others leave.
  const setUp = `ip link set lo up && ip address add ${address}/32 dev lo && mount --make-rshared / && "$@"; exit $?`;
  return ["unshare", "--net", "--mount-proc", "--pid", "--fork", "--kill-child", "sh", "-c", setUp, "sh", ...command];
}

/** Why there can be no such namespace here; `undefined` if there can. */
export function missingNetworkNamespace(): string | undefined {
  const [program, ...args] = inNetworkNamespace(["true"]);
  const { status, error, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status === 0) return undefined;
  const why = error?.message ?? stderr.trim();
  return `no network namespace can be made (${why}); it takes Linux, unshare(1) of util-linux, ip(8) of iproute2, and root or user namespaces`;
}
