import { createPublicKey } from "node:crypto";
import { type CertifiedKey, critical, extension, keyIdentifier, signCertificate } from "./certificate.ts";
import type { CertificateRequest } from "./certificate-request.ts";
import { bitString, element, oid, sequence } from "./der.ts";

/** What a signer adds to a request. */
export interface SigningPolicy {
  /** Usages by the names of Kubernetes' API, such as `client auth`. */
  readonly usages: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** A random number, up to 20 bytes, big-endian. */
  readonly serial: Uint8Array;
}

/** Bits of the extension `keyUsage`, counted from its first. */
const keyUsageBits: Readonly<Record<string, number>> = {
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
};

const extendedUsages: Readonly<Record<string, string>> = {
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
};

/** All usages there are, sorted. */
export const certificateUsages: readonly string[] = [...Object.keys(keyUsageBits), ...Object.keys(extendedUsages)].toSorted();

/**
 * Gives a request the certificate it asks for: its subject, key and alternative names, with the policy's usages and
 * times.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/certificates/authority/policies.go, `PermissiveSigningPolicy`.
 *
 * @returns the certificate, PEM
 */
export function signRequest(request: CertificateRequest, { usages, ...policy }: SigningPolicy, authority: CertifiedKey): string {
  const ids = usages.flatMap((usage) => extendedUsages[usage] ?? []);
  const bits = usages.flatMap((usage) => keyUsageBits[usage] ?? []);
  const extensions = [
    ...(bits.length === 0 ? [] : [critical("2.5.29.15", keyUsage(bits))]),
    ...(ids.length === 0 ? [] : [extension("2.5.29.37", sequence(...ids.map(oid)))]),
    critical("2.5.29.19", sequence()),
    extension("2.5.29.35", sequence(element(0x80, keyIdentifier(createPublicKey(authority.privateKey))))),
    ...(request.alternativeNames === undefined ? [] : [extension("2.5.29.17", request.alternativeNames)]),
  ];
  return signCertificate({ ...policy, subject: request.subject, publicKeyInfo: request.publicKeyInfo, extensions }, authority);
}

function keyUsage(bits: readonly number[]): Buffer {
  const last = Math.max(...bits);
  const bytes = Buffer.alloc(Math.ceil((last + 1) / 8));
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return bitString(bytes, 7 - (last % 8));
}
