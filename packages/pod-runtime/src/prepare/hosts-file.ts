import type { HostAlias } from "../runtime/runtime-spec.ts";
import type { PodHostname } from "./pod-hostname.ts";

const ownHeader = "# Kubernetes-managed hosts file.\n";
const hostNetworkHeader = "# Kubernetes-managed hosts file (host network).\n";

const localNames = [
  "127.0.0.1\tlocalhost",
  "::1\tlocalhost ip6-localhost ip6-loopback",
  "fe00::0\tip6-localnet",
  "fe00::0\tip6-mcastprefix",
  "fe00::1\tip6-allnodes",
  "fe00::2\tip6-allrouters",
];

/**
 * A kubelet's `/etc/hosts` for a pod with its own network. Source: managedHostsFileContent in kubernetes v1.36.3
 * pkg/kubelet/kubelet_pods.go.
 */
export function podHostsFile(
  podIPs: readonly string[],
  { hostname, domain }: Pick<PodHostname, "hostname" | "domain">,
  aliases: readonly HostAlias[],
): string {
  const names = domain ? `${hostname}.${domain}\t${hostname}` : hostname;
  const lines = [...localNames, ...podIPs.map((ip) => `${ip}\t${names}`)];
  return ownHeader + lines.map((line) => `${line}\n`).join("") + aliasLines(aliases);
}

/**
 * A kubelet's `/etc/hosts` for a pod on the node's network. Source: nodeHostsFileContent in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 *
 * @param nodeHosts - content of the node's own file
 */
export function hostNetworkHostsFile(nodeHosts: string, aliases: readonly HostAlias[]): string {
  return hostNetworkHeader + nodeHosts + aliasLines(aliases);
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames }) => `${ip}\t${hostnames.join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}
