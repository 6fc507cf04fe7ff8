import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { DeepReadonly, NodeAddress } from "@virtual-kubelet/kube-client";

/** What a serving certificate is to be valid for; sorted, without repetitions. */
export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
}

/** What a certificate can hold as a DNS name: ASCII without spaces. */
const dnsName = /^[\u0021-\u007e]+$/;

/** What a node's addresses come to. Source: kubernetes v1.36.3 pkg/kubelet/certificate/kubelet.go, addressesToHostnamesAndIPs. */
export function servingNamesOf(addresses: readonly DeepReadonly<NodeAddress>[]): ServingNames {
  const dnsNames = new Set<string>();
  const ips = new Set<string>();
  for (const { type, address } of addresses) {
    const isAddress = isIP(address) !== 0;
    if (isAddress && type !== "InternalDNS" && type !== "ExternalDNS") ips.add(address);
    else if (!isAddress && dnsName.test(address) && type !== "InternalIP" && type !== "ExternalIP") dnsNames.add(address);
  }
  return { dnsNames: [...dnsNames].sort(), ips: [...ips].sort() };
}

/** All of them in one list. */
export function allNames({ dnsNames, ips }: ServingNames): string[] {
  return [...dnsNames, ...ips];
}

/** Whether the certificate is valid for all of them; it may be for more. */
export function covers(certificate: X509Certificate, { dnsNames, ips }: ServingNames): boolean {
  return (
    dnsNames.every((name) => certificate.checkHost(name, { subject: "never" }) !== undefined) &&
    ips.every((ip) => certificate.checkIP(ip) !== undefined)
  );
}

/** Whether they are the same. */
export function sameNames(a: ServingNames, b: ServingNames): boolean {
  return a.dnsNames.join() === b.dnsNames.join() && a.ips.join() === b.ips.join();
}
