import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** Host name and domain of a pod. */
export interface PodHostname {
  /** Without a domain, as in `/etc/hosts`. */
  readonly hostname: string;
  /** `SUBDOMAIN.NAMESPACE.svc.CLUSTERDOMAIN`; empty without a subdomain. */
  readonly domain: string;
  /** Host name for the kernel, which `hostname` prints. Includes the domain if the pod sets `setHostnameAsFQDN`. */
  readonly kernelHostname: string;
}

/** The kernel's 64 bytes include a terminating zero here. */
const maxHostnameLength = 63;
/** A fully qualified name may use all 64 bytes. */
const maxFqdnLength = 64;

/**
 * Names of a pod with its own network. Source: GeneratePodHostNameAndDomain and truncatePodHostnameIfNeeded in kubernetes v1.36.3
 * pkg/kubelet/kubelet_pods.go, GetNodenameForKernel in pkg/kubelet/util.
 *
 * @param clusterDomain - such as `cluster.local`
 * @throws InvalidInputError for a malformed name, and for an FQDN that is too long
 */
export function podHostname({ metadata, spec }: DeepReadonly<Pod>, clusterDomain: string): PodHostname {
  const { name: podName = "", namespace = "default" } = metadata ?? {};
  const { hostname: own, subdomain, hostnameOverride, setHostnameAsFQDN } = spec ?? {};
  if (hostnameOverride !== undefined) {
    if (!isSubdomain(hostnameOverride)) throw invalid("HostnameOverride", hostnameOverride, "subdomain");
    const hostname = truncated(hostnameOverride, podName);
    return { hostname, domain: "", kernelHostname: hostname };
  }
  if (own && !isLabel(own)) throw invalid("Hostname", own, "label");
  if (subdomain && !isLabel(subdomain)) throw invalid("Subdomain", subdomain, "label");
  const hostname = truncated(own || podName, podName);
  const domain = subdomain ? `${subdomain}.${namespace}.svc.${clusterDomain}` : "";
  return { hostname, domain, kernelHostname: setHostnameAsFQDN && domain ? fqdn(hostname, domain) : hostname };
}

function isLabel(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
}

function isSubdomain(name: string): boolean {
  return name.length <= 253 && name.split(".").every(isLabel);
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
