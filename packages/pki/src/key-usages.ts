/** What a key may be used for, by the name of the Kubernetes API. Source: `KeyUsage` in Kubernetes v1.36.3 api/certificates/v1. */
export type KeyUsage =
  | "signing"
  | "digital signature"
  | "content commitment"
  | "key encipherment"
  | "data encipherment"
  | "key agreement"
  | "cert sign"
  | "crl sign"
  | "encipher only"
  | "decipher only"
  | "any"
  | "server auth"
  | "client auth"
  | "code signing"
  | "email protection"
  | "s/mime"
  | "ipsec end system"
  | "ipsec tunnel"
  | "ipsec user"
  | "timestamping"
  | "ocsp signing"
  | "microsoft sgc"
  | "netscape sgc";

/** Bit of the extension keyUsage (RFC 5280 §4.2.1.3), counted from the first, or object identifier in extKeyUsage (§4.2.1.12). */
const usages: Readonly<Record<KeyUsage, { readonly bit?: number; readonly identifier?: string }>> = {
  signing: { bit: 0 },
  "digital signature": { bit: 0 },
  "content commitment": { bit: 1 },
  "key encipherment": { bit: 2 },
  "data encipherment": { bit: 3 },
  "key agreement": { bit: 4 },
  "cert sign": { bit: 5 },
  "crl sign": { bit: 6 },
  "encipher only": { bit: 7 },
  "decipher only": { bit: 8 },
  any: { identifier: "2.5.29.37.0" },
  "server auth": { identifier: "1.3.6.1.5.5.7.3.1" },
  "client auth": { identifier: "1.3.6.1.5.5.7.3.2" },
  "code signing": { identifier: "1.3.6.1.5.5.7.3.3" },
  "email protection": { identifier: "1.3.6.1.5.5.7.3.4" },
  "s/mime": { identifier: "1.3.6.1.5.5.7.3.4" },
  "ipsec end system": { identifier: "1.3.6.1.5.5.7.3.5" },
  "ipsec tunnel": { identifier: "1.3.6.1.5.5.7.3.6" },
  "ipsec user": { identifier: "1.3.6.1.5.5.7.3.7" },
  timestamping: { identifier: "1.3.6.1.5.5.7.3.8" },
  "ocsp signing": { identifier: "1.3.6.1.5.5.7.3.9" },
  "microsoft sgc": { identifier: "1.3.6.1.4.1.311.10.3.3" },
  "netscape sgc": { identifier: "2.16.840.1.113730.4.1" },
};

/** All key usages, sorted. */
export const keyUsages: readonly KeyUsage[] = (Object.keys(usages) as KeyUsage[]).toSorted();

/** Whether the Kubernetes API has a key usage of this name. */
export function isKeyUsage(name: string): name is KeyUsage {
  return Object.hasOwn(usages, name);
}

/** The bits of the usages that have one. */
export function keyUsageBits(names: readonly KeyUsage[]): number[] {
  return names.flatMap((name) => usages[name].bit ?? []);
}

/** The object identifiers of the usages that have one. */
export function extendedKeyUsages(names: readonly KeyUsage[]): string[] {
  return names.flatMap((name) => usages[name].identifier ?? []);
}
