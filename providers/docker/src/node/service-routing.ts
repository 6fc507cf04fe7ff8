import type { NodeDescription } from "@virtual-kubelet/core";
import { readFile } from "node:fs/promises";
import type { NetworkFacts } from "../network/pod-network.ts";

/** A condition of the node. */
export type NodeCondition = NonNullable<NodeDescription["conditions"]>[number];

/** Type of the node's condition about Services whose pods are on the same machine as the caller. */
export const serviceRoutingCondition = "ServiceRouting";

/** A kernel setting that Services and routes between pods need. */
interface KernelSetting {
  /** Its sysctl name. */
  readonly name: string;
  /** Reason of the condition when it is off. */
  readonly reason: string;
  /** Effect of its absence, for the message. */
  readonly effect: string;
  /** Kernel module that provides the setting. Default: none is needed. */
  readonly module?: string | undefined;
  readonly isIPv6: boolean;
}

const throughServices = "pods of this node do not reach each other through Services";

const settings: readonly KernelSetting[] = [
  { name: "net.ipv4.ip_forward", reason: "ForwardingOff", effect: "pods reach only pods of their own network", isIPv6: false },
  {
    name: "net.bridge.bridge-nf-call-iptables",
    reason: "BridgeNetfilterOff",
    effect: throughServices,
    module: "br_netfilter",
    isIPv6: false,
  },
  {
    name: "net.ipv6.conf.all.forwarding",
    reason: "IPv6ForwardingOff",
    effect: "pods reach only pods of their own network by IPv6",
    isIPv6: true,
  },
  {
    name: "net.bridge.bridge-nf-call-ip6tables",
    reason: "IPv6BridgeNetfilterOff",
    effect: `${throughServices} by IPv6`,
    module: "br_netfilter",
    isIPv6: true,
  },
];

/** Reads a file and trims white space; `undefined` if the file does not exist. @throws other errors */
export type ReadText = (path: string) => Promise<string | undefined>;

/**
 * Whether the kernel sends packets between pods of one bridge through iptables, where kube-proxy translates a Service's address, and
 * forwards packets at all. Without the first, an answer goes straight back over the bridge with the wrong address, and a call to a
 * Service hangs exactly when its pod is on the caller's node.
 *
 * Source: what kubeadm checks before it starts a node (`FileContent` in cmd/kubeadm/app/preflight/checks_linux.go of kubernetes v1.29)
 * and what kube-proxy logs (platformSetup in cmd/kube-proxy/app/server_linux.go of v1.36.3).
 *
 * @param network - the network that pods are on
 */
export async function serviceRouting(network: NetworkFacts, read: ReadText = readText): Promise<NodeCondition> {
  const type = serviceRoutingCondition;
  if (network.driver !== "bridge") {
    const message = `the pods' network ${JSON.stringify(network.name)} has the driver ${network.driver}; only networks with the driver bridge are checked`;
    return { type, status: "Unknown", reason: "NotABridge", message };
  }
  const problems: { readonly reason: string; readonly message: string }[] = [];
  const unknown: string[] = [];
  for (const setting of settings.filter(({ isIPv6 }) => network.hasIPv6 || !isIPv6)) {
    const file = `/proc/sys/${setting.name.replaceAll(".", "/")}`;
    try {
      const problem = problemWith(setting, file, await read(file));
      if (problem !== undefined) problems.push(problem);
    } catch (error) {
      unknown.push(`${file} cannot be read (${error instanceof Error ? error.message : String(error)})`);
    }
  }
  const [first] = problems;
  if (first !== undefined)
    return { type, status: "False", reason: first.reason, message: problems.map(({ message }) => message).join("; ") };
  if (unknown.length > 0) return { type, status: "Unknown", reason: "KernelSettingsUnreadable", message: unknown.join("; ") };
  const message = "the kernel forwards packets, and sends those between pods of one bridge through iptables, where kube-proxy works";
  return { type, status: "True", reason: "KernelSettingsFit", message };
}

function problemWith({ name, reason, effect, module }: KernelSetting, file: string, value: string | undefined) {
  const keep = (folder: string): string => `; a file in /etc/${folder} keeps it so after a reboot`;
  if (value === undefined) {
    if (module === undefined) return { reason, message: `${effect}: the kernel has no ${file}` };
    const message = `${effect}: the kernel module ${module} is not loaded, so there is no ${file}; run "modprobe ${module}"${keep("modules-load.d")}`;
    return { reason: "BridgeNetfilterMissing", message };
  }
  // 2 is valid for IPv6, too: it also accepts router advertisements.
  if (value !== "0") return undefined;
  return { reason, message: `${effect}: ${name} is 0; run "sysctl -w ${name}=1"${keep("sysctl.d")}` };
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
