import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { DeepReadonly, NodeAddress } from "@virtual-kubelet/kube-client";

/** Names and addresses for a serving certificate; sorted, without duplicates. */
export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
}

/** Valid DNS names of a certificate: ASCII without spaces. */
const dnsName = /^[\u0021-\u007e]+$/;

/** Derives the names from a node's addresses. Source: kubernetes v1.36.3 pkg/kubelet/certificate/kubelet.go, addressesToHostnamesAndIPs. */
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

/** Returns all names and addresses in one list. */
export function allNames({ dnsNames, ips }: ServingNames): string[] {
  return [...dnsNames, ...ips];
}

/** Returns the names and addresses that a certificate is not valid for. */
export function missingNames(certificate: X509Certificate, { dnsNames, ips }: ServingNames): string[] {
  return [
    ...dnsNames.filter((name) => certificate.checkHost(name, { subject: "never" }) === undefined),
    ...ips.filter((ip) => certificate.checkIP(ip) === undefined),
  ];
}

/** Whether the certificate is valid for all names and addresses. It may be valid for others, too. */
export function covers(certificate: X509Certificate, names: ServingNames): boolean {
  return missingNames(certificate, names).length === 0;
}

/** Whether two sets of names are equal. */
export function sameNames(a: ServingNames, b: ServingNames): boolean {
  return a.dnsNames.join() === b.dnsNames.join() && a.ips.join() === b.ips.join();
}
