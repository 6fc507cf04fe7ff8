import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** What a pod calls itself. */
export interface PodHostname {
  /** Without a domain, as in `/etc/hosts`. */
  readonly hostname: string;
  /** `SUBDOMAIN.NAMESPACE.svc.CLUSTERDOMAIN`; empty without a subdomain. */
  readonly domain: string;
  /** What the kernel is told, and `hostname` prints: with the domain where the pod sets its host name as FQDN. */
  readonly kernelHostname: string;
}

/** A host name has room for 64 bytes in the kernel; the 64th ends it. */
const maxHostnameLength = 63;
/** A fully qualified one may use it up. */
const maxFqdnLength = 64;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/**
 * The names of a pod that is not on its node's network.
 * Source: GeneratePodHostNameAndDomain and truncatePodHostnameIfNeeded in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go,
 * GetNodenameForKernel in pkg/kubelet/util.
 *
 * @param clusterDomain - such as `cluster.local`
 * @throws InvalidInputError for a name that is none, and for an FQDN that is too long
 */
export function podHostname({ metadata, spec }: DeepReadonly<Pod>, clusterDomain: string): PodHostname {
  const podName = metadata?.name ?? "";
  if (spec?.hostnameOverride !== undefined) {
    const name = spec.hostnameOverride;
    if (name.length > 253 || !subdomain.test(name)) throw invalid("HostnameOverride", name, "subdomain");
    const hostname = truncated(name, podName);
    return { hostname, domain: "", kernelHostname: hostname };
  }
  if (spec?.hostname && !isLabel(spec.hostname)) throw invalid("Hostname", spec.hostname, "label");
  if (spec?.subdomain && !isLabel(spec.subdomain)) throw invalid("Subdomain", spec.subdomain, "label");
  const hostname = truncated(spec?.hostname || podName, podName);
  const domain = spec?.subdomain ? `${spec.subdomain}.${metadata?.namespace ?? "default"}.svc.${clusterDomain}` : "";
  return { hostname, domain, kernelHostname: spec?.setHostnameAsFQDN && domain ? fqdn(hostname, domain) : hostname };
}

function isLabel(name: string): boolean {
  return name.length <= 63 && label.test(name);
}

function truncated(hostname: string, podName: string): string {
  if (hostname.length <= maxHostnameLength) return hostname;
  const cut = hostname.slice(0, maxHostnameLength).replace(/[-.]+$/, "");
  if (cut === "") throw new InvalidInputError(`hostname for pod "${podName}" was invalid: "${hostname}"`);
  return cut;
}

function fqdn(hostname: string, domain: string): string {
  const name = `${hostname}.${domain}`;
  if (name.length <= maxFqdnLength) return name;
  throw new InvalidInputError(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${name} is too long (${maxFqdnLength} characters is the max, ${name.length} characters requested)`,
  );
}

function invalid(field: string, name: string, kind: string): InvalidInputError {
  return new InvalidInputError(`pod ${field} "${name}" is not a valid DNS ${kind}`);
}
