import { spawnSync } from "node:child_process";
import { asRoot, preparedByRoot, sudoHint, thisCaller, type Command } from "./superuser.ts";

/** The address of the namespace's one interface, `lo`: of a range kept for documentation, and no loopback address. */
const address = "203.0.113.10";

const setUp = `ip link set lo up && ip address add ${address}/32 dev lo`;

/**
 * The command in a network namespace of its own, in which {@link address} stands for the node: kube-apiserver's node
 * proxy and its aggregator refuse to talk to loopback addresses. Nothing leaves the namespace. An ordinary user makes the namespace
 * inside of a user namespace; where the system refuses those, as Ubuntu does, root makes it, and the command is still the user's.
 */
export function inNetworkNamespace(command: Command): Command {
  const inUserNamespace: Command = ["unshare", "--net", "--map-root-user", "sh", "-c", `${setUp} && exec "$@"`, "sh", ...command];
  if (thisCaller().userId !== 0 && problemOf(["unshare", "--net", "--map-root-user", "true"]) === undefined) return inUserNamespace;
  return preparedByRoot(["unshare", "--net"], setUp, command) ?? inUserNamespace;
}

/**
 * The command as in {@link inNetworkNamespace}, and in namespaces of processes and mounts as well: a container engine that
 * runs in them leaves no process, bridge, firewall rule or mount behind, however it ends. It takes root.
 */
export function inEngineNamespaces(command: Command): Command {
  const steps = [
    setUp,
    "mount --make-rshared /",
    // An engine uses the system's containerd where it finds one; that runs outside of these namespaces.
    "{ [ ! -d /run/containerd ] || mount -t tmpfs tmpfs /run/containerd; }",
    // The shell stays: the first process of a namespace has to take in those that others leave.
    '"$@"',
  ];
  const script = `${steps.join(" && ")}; exit $?`;
  const wrapped: Command = ["unshare", "--net", "--mount-proc", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", ...command];
  return asRoot(wrapped) ?? wrapped;
}

/** Why there can be no such namespace here; `undefined` if there can. */
export function missingNetworkNamespace(): string | undefined {
  const why = problemOf(inNetworkNamespace(["true"]));
  if (why === undefined) return undefined;
  return `no network namespace can be made (${why}); it takes Linux, unshare(1) of util-linux, ip(8) of iproute2, and root, ${sudoHint}, or user namespaces`;
}

/** What a command says that fails; `undefined` if it does not. */
export function problemOf([program, ...args]: Command): string | undefined {
  const { status, error, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}
