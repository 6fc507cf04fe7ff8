import { createHash, createPublicKey, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { isIP } from "node:net";
import { bitString, element, integer, octetString, oid, sequence, set, time, utf8String, yes } from "./der.ts";

/** Who a certificate is for, and what it may be used for. */
export interface CertificateSpec {
  readonly commonName: string;
  /** Kubernetes takes them for groups. */
  readonly organizations?: readonly string[];
  /** Host names and IP addresses of a server. */
  readonly hosts?: readonly string[];
  readonly usage: "authority" | "server" | "client";
  /** Milliseconds since the epoch. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** A random number, up to 20 bytes, big-endian. */
  readonly serial: Uint8Array;
}

/** A certificate and its key. */
export interface CertifiedKey {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  /** The key, to sign with. */
  readonly privateKey: KeyObject;
  readonly spec: CertificateSpec;
}

const ecdsaWithSha256 = sequence(oid("1.2.840.10045.4.3.2"));
const organizationOid = oid("2.5.4.10");
const commonNameOid = oid("2.5.4.3");
const extendedUsages = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;

/**
 * Makes a P-256 key and an X.509 v3 certificate (RFC 5280) for it.
 *
 * node:crypto reads certificates but makes none; the few forms a test cluster needs are not worth a library.
 *
 * @param issuer - signs it; absent: it signs itself
 */
export function issueCertificate(spec: CertificateSpec, issuer?: CertifiedKey): CertifiedKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const authorityKey = issuer === undefined ? publicKey : createPublicKey(issuer.privateKey);
  const certificatePem = signCertificate(
    {
      ...spec,
      subject: distinguishedName(spec),
      publicKeyInfo: publicKey.export({ type: "spki", format: "der" }),
      extensions: extensions(spec, { key: publicKey, authorityKey }),
    },
    issuer ?? { privateKey, spec },
  );
  return { certificatePem, privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), privateKey, spec };
}

/** What a certificate says, in parts that are DER already. */
export interface CertificateContent extends Pick<CertificateSpec, "notBeforeMs" | "notAfterMs" | "serial"> {
  readonly subject: Uint8Array;
  readonly publicKeyInfo: Uint8Array;
  readonly extensions: readonly Uint8Array[];
}

/** Signs a certificate. @returns it as PEM */
export function signCertificate(content: CertificateContent, issuer: Pick<CertifiedKey, "privateKey" | "spec">): string {
  const body = sequence(
    element(0xa0, integer(Buffer.from([2]))),
    integer(content.serial),
    ecdsaWithSha256,
    distinguishedName(issuer.spec),
    sequence(time(content.notBeforeMs), time(content.notAfterMs)),
    content.subject,
    content.publicKeyInfo,
    element(0xa3, sequence(...content.extensions)),
  );
  return toPem(sequence(body, ecdsaWithSha256, bitString(sign("sha256", body, issuer.privateKey))));
}

function distinguishedName({ commonName, organizations = [] }: CertificateSpec): Buffer {
  const parts = [...organizations.map((organization) => [organizationOid, organization] as const), [commonNameOid, commonName] as const];
  return sequence(...parts.map(([type, value]) => set(sequence(type, utf8String(value)))));
}

function extensions({ usage, hosts = [] }: CertificateSpec, { key, authorityKey }: { key: KeyObject; authorityKey: KeyObject }): Buffer[] {
  const list = [
    critical("2.5.29.19", usage === "authority" ? sequence(yes) : sequence()),
    // Digital signature; of an authority, signing of certificates and revocation lists.
    critical("2.5.29.15", usage === "authority" ? bitString(Buffer.from([0b0000_0110]), 1) : bitString(Buffer.from([0b1000_0000]), 7)),
    extension("2.5.29.14", octetString(keyIdentifier(key))),
    extension("2.5.29.35", sequence(element(0x80, keyIdentifier(authorityKey)))),
  ];
  if (usage !== "authority") list.push(extension("2.5.29.37", sequence(oid(extendedUsages[usage]))));
  if (hosts.length > 0) list.push(extension("2.5.29.17", sequence(...hosts.map(generalName))));
  return list;
}

/** An extension of a certificate. @param value - DER */
export function extension(id: string, value: Uint8Array): Buffer {
  return sequence(oid(id), octetString(value));
}

/** An extension that a reader must understand. @param value - DER */
export function critical(id: string, value: Uint8Array): Buffer {
  return sequence(oid(id), yes, octetString(value));
}

/** Names a key, as certificates refer to it. */
export function keyIdentifier(key: KeyObject): Buffer {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

function generalName(host: string): Buffer {
  return isIP(host) === 0 ? element(0x82, Buffer.from(host)) : element(0x87, addressBytes(host));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = address.split("::");
  const left = groupsOf(head);
  const right = tail === undefined ? [] : groupsOf(tail);
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

function groupsOf(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

function toPem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
