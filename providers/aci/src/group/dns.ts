import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { GroupDns } from "../azure/container-group.ts";
import { unsupported } from "./fields.ts";
import type { Note } from "./note.ts";

/** Limits of resolvers. Source: kubernetes v1.36.3 pkg/kubelet/network/dns; azure-aci v1.6.4 pkg/network/aci_network.go. */
const maxServers = 3;
const maxSearches = 6;
const maxSearchCharacters = 256;

/** Facts for a pod's DNS. */
export interface DnsContext {
  readonly hasSubnet: boolean;
  readonly operatingSystem: "Linux" | "Windows";
  readonly kubeDnsIp: string | undefined;
  readonly clusterDomain: string;
}

/**
 * Translates a pod's DNS policy and configuration. `dns` is `undefined` where Azure's own DNS applies.
 *
 * @throws UnsupportedError if the pod configures what only groups in a subnet, on Linux, have
 */
export function dnsOf(
  pod: DeepReadonly<Pod>,
  { hasSubnet, operatingSystem, kubeDnsIp, clusterDomain }: DnsContext,
): { readonly dns: GroupDns | undefined; readonly notes: readonly Note[] } {
  const { nameservers = [], searches = [], options = [] } = pod.spec?.dnsConfig ?? {};
  const isAsked = nameservers.length + searches.length + options.length > 0;
  if (!hasSubnet || operatingSystem === "Windows") {
    if (isAsked) throw unsupported("spec.dnsConfig", "only Linux pods in a subnet have DNS settings");
    return { dns: undefined, notes: [] };
  }
  const cluster = clusterDns(pod, kubeDnsIp, clusterDomain);
  const servers = unique([...cluster.servers, ...nameservers]);
  if (servers.length === 0) {
    if (isAsked)
      throw unsupported("spec.dnsConfig", "Azure needs at least one name server: set nameservers, or kubeDnsIp in the configuration");
    return { dns: undefined, notes: [] };
  }
  const allSearches = unique([...cluster.searches, ...searches]);
  const keptServers = servers.slice(0, maxServers);
  const keptSearches = fittingSearches(allSearches);
  const kept = optionsOf(options, cluster.servers.length > 0);
  const notes: Note[] = [];
  if (keptServers.length < servers.length)
    notes.push(forming(`the nameserver limit of ${maxServers} was exceeded, the applied name servers are: ${keptServers.join(" ")}`));
  if (keptSearches.length < allSearches.length)
    notes.push(forming(`search line limits were exceeded, the applied search line is: ${keptSearches.join(" ")}`));
  return {
    dns: {
      nameServers: keptServers,
      ...(keptSearches.length > 0 && { searchDomains: keptSearches.join(" ") }),
      ...(kept.length > 0 && { options: kept.join(" ") }),
    },
    notes,
  };
}

/** Name server and searches of the policy ClusterFirst; none for other policies, or if the cluster's DNS is not known. */
function clusterDns(
  { metadata, spec }: DeepReadonly<Pod>,
  kubeDnsIp: string | undefined,
  clusterDomain: string,
): { readonly servers: readonly string[]; readonly searches: readonly string[] } {
  const policy = spec?.dnsPolicy ?? "ClusterFirst";
  if (kubeDnsIp === undefined || !policy.startsWith("ClusterFirst")) return { servers: [], searches: [] };
  const namespace = metadata?.namespace ?? "default";
  const searches = clusterDomain === "" ? [] : [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: [kubeDnsIp], searches };
}

function forming(message: string): Note {
  return { reason: "DNSConfigForming", type: "Warning", message: `DNS: ${message}.` };
}

/** The pod's options, and `ndots:5` of a kubelet's ClusterFirst unless the pod sets it. */
function optionsOf(
  options: readonly { readonly name?: string | undefined; readonly value?: string | undefined }[],
  isClusterFirst: boolean,
): readonly string[] {
  const own = new Map(options.flatMap(({ name, value }) => (name ? [[name, value ? `${name}:${value}` : name] as const] : [])));
  return [...(isClusterFirst && !own.has("ndots") ? ["ndots:5"] : []), ...own.values()];
}

function fittingSearches(searches: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const search of searches) {
    if (kept.length === maxSearches || [...kept, search].join(" ").length > maxSearchCharacters) break;
    kept.push(search);
  }
  return kept;
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
