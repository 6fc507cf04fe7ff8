/** Bits of the extension keyUsage (RFC 5280 §4.2.1.3), counted from the first. */
const bits = {
  signing: 0,
  "digital signature": 0,
  "content commitment": 1,
  "key encipherment": 2,
  "data encipherment": 3,
  "key agreement": 4,
  "cert sign": 5,
  "crl sign": 6,
  "encipher only": 7,
  "decipher only": 8,
} as const;

/** Object identifiers of the extension extKeyUsage (RFC 5280 §4.2.1.12). */
const extended = {
  any: "2.5.29.37.0",
  "server auth": "1.3.6.1.5.5.7.3.1",
  "client auth": "1.3.6.1.5.5.7.3.2",
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
  "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
  "netscape sgc": "2.16.840.1.113730.4.1",
} as const;

/** What a key may be used for, by the name of the Kubernetes API. Source: `KeyUsage` in Kubernetes v1.36.3 api/certificates/v1. */
export type KeyUsage = keyof typeof bits | keyof typeof extended;

const bitOf: ReadonlyMap<string, number> = new Map(Object.entries(bits));
const identifierOf: ReadonlyMap<string, string> = new Map(Object.entries(extended));

/** All key usages, sorted. */
export const keyUsages: readonly KeyUsage[] = ([...bitOf.keys(), ...identifierOf.keys()] as KeyUsage[]).toSorted();

/** Whether the Kubernetes API has a key usage of this name. */
export function isKeyUsage(name: string): name is KeyUsage {
  return bitOf.has(name) || identifierOf.has(name);
}

/** The bits of the usages that have one. */
export function keyUsageBits(usages: readonly KeyUsage[]): number[] {
  return usages.flatMap((usage) => bitOf.get(usage) ?? []);
}

/** The object identifiers of the usages that have one. */
export function extendedKeyUsages(usages: readonly KeyUsage[]): string[] {
  return usages.flatMap((usage) => identifierOf.get(usage) ?? []);
}
