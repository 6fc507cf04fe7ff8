import type { DeepReadonly, Pod, PodEvent } from "@virtual-kubelet/core";
import type { DnsSettings } from "../runtime/runtime-spec.ts";
import { optionName } from "./resolv-conf.ts";
import type { PodRuntimeReason } from "../reasons.ts";

/** The node's and the cluster's DNS settings. */
export interface PodDnsContext {
  /** The node's DNS; `undefined` if it has none, and pods then query themselves. */
  readonly nodeDns: DnsSettings | undefined;
  /** Addresses of the cluster's DNS; empty if there is none. */
  readonly clusterDNS: readonly string[];
  /** Such as `cluster.local`; empty if there is none. */
  readonly clusterDomain: string;
}

/** A pod's DNS settings, with warnings for users. */
export interface PodDns {
  readonly dns: DnsSettings;
  readonly warnings: readonly PodEvent<PodRuntimeReason>[];
}

// Source: pkg/apis/core/validation in kubernetes v1.36.3.
const maxServers = 3;
const maxSearches = 32;
const maxSearchesLength = 2048;
const maxDomainLength = 253;

/** DNS settings of a pod, from its dnsPolicy and dnsConfig. Source: GetPodDNS in kubernetes v1.36.3 pkg/kubelet/network/dns/dns.go. */
export function podDns(pod: DeepReadonly<Pod>, context: PodDnsContext): PodDns {
  const warnings: PodEvent<PodRuntimeReason>[] = [];
  const warn = (reason: PodRuntimeReason, message: string): void => void warnings.push({ type: "Warning", reason, message });
  const base = baseOf(pod, context, warn);
  const config = pod.spec?.dnsConfig;
  const servers = unique([...base.servers, ...(config?.nameservers ?? [])]);
  const searches = unique([...base.searches, ...(config?.searches ?? [])]);
  const options = mergeOptions(base.options, config?.options ?? []);
  return { dns: { servers: fitServers(servers, warn), searches: fitSearches(searches, warn), options }, warnings };
}

type Warn = (reason: PodRuntimeReason, message: string) => void;

function baseOf(pod: DeepReadonly<Pod>, { nodeDns, clusterDNS, clusterDomain }: PodDnsContext, warn: Warn): DnsSettings {
  const policy = pod.spec?.dnsPolicy ?? "ClusterFirst";
  if (policy === "None") return { servers: [], searches: [], options: [] };
  const wantsCluster = policy === "ClusterFirstWithHostNet" || (policy !== "Default" && !pod.spec?.hostNetwork);
  if (wantsCluster && clusterDNS.length > 0) {
    const { namespace = "default" } = pod.metadata ?? {};
    const ofCluster = clusterDomain ? [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain] : [];
    return { servers: clusterDNS, searches: [...ofCluster, ...(nodeDns?.searches ?? [])], options: ["ndots:5"] };
  }
  if (wantsCluster) {
    const { namespace, name, uid } = pod.metadata ?? {};
    const message = `kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`;
    warn("MissingClusterDNS", `pod: "${name}_${namespace}(${uid})". ${message}`);
  }
  return nodeDns ?? { servers: ["127.0.0.1"], searches: ["."], options: [] };
}

function mergeOptions(
  options: readonly string[],
  own: readonly { readonly name?: string | undefined; readonly value?: string | undefined }[],
): readonly string[] {
  const merged = new Map(options.map((option) => [optionName(option), option]));
  for (const { name = "", value } of own) merged.set(name, value ? `${name}:${value}` : name);
  return [...merged.values()];
}

function fitServers(servers: readonly string[], warn: Warn): readonly string[] {
  if (servers.length <= maxServers) return servers;
  const fitting = servers.slice(0, maxServers);
  warn(
    "DNSConfigForming",
    `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${fitting.join(" ")}`,
  );
  return fitting;
}

function fitSearches(searches: readonly string[], warn: Warn): readonly string[] {
  const fitting = searches.slice(0, maxSearches).filter((domain) => domain.length <= maxDomainLength);
  while (fitting.join(" ").length > maxSearchesLength) fitting.pop();
  if (fitting.length < searches.length) {
    warn(
      "DNSConfigForming",
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${fitting.join(" ")}`,
    );
  }
  return fitting;
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
