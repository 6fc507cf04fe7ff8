import type { Clock } from "@virtual-kubelet/clock";
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";
import { bitString, boolean, integer, objectIdentifier, octetString, sequence, set, tagged, time, utf8String } from "./der.ts";

/** A certificate and its private key, both PEM. */
export interface CertificateAndKey {
  readonly certificate: string;
  readonly key: string;
}

/** Contents of a certificate. */
export interface CertificateRequest {
  readonly commonName: string;
  /** Organizations, which are the client's groups in Kubernetes. */
  readonly organizations?: readonly string[] | undefined;
  /** DNS names and IP addresses a server answers to. */
  readonly names?: readonly string[] | undefined;
  readonly usages: readonly ("server" | "client")[];
  /** Milliseconds from now; default a year. It is valid from five minutes ago. */
  readonly lifetimeMs?: number | undefined;
}

/** Signs certificates for tests, with ECDSA on P-256. */
export interface CertificateAuthority extends CertificateAndKey {
  /** Makes a key and signs a certificate for it. */
  issue(request: CertificateRequest): CertificateAndKey;
}

const oid = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  server: "1.3.6.1.5.5.7.3.1",
  client: "1.3.6.1.5.5.7.3.2",
} as const;

const dayMs = 86_400_000;
const signature = sequence(objectIdentifier(oid.ecdsaWithSha256));

/** A new authority with a key of its own, valid for ten years. */
export function createCertificateAuthority(commonName: string, clock: Clock): CertificateAuthority {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const subject = distinguishedName(commonName, []);
  const extensions = [
    extension(oid.basicConstraints, sequence(boolean(true)), true),
    // digitalSignature, keyCertSign and cRLSign
    extension(oid.keyUsage, bitString(Uint8Array.of(0b1000_0110), 1), true),
    extension(oid.subjectKeyIdentifier, octetString(keyId(privateKey))),
  ];
  const certificate = signCertificate({
    subject,
    issuer: subject,
    key: privateKey,
    signer: privateKey,
    extensions,
    lifetimeMs: 3650 * dayMs,
    clock,
  });
  return openCertificateAuthority({ certificate, key: exportKey(privateKey) }, clock);
}

/** The authority whose certificate and key these are; it must be one that {@link createCertificateAuthority} made. */
export function openCertificateAuthority(authority: CertificateAndKey, clock: Clock): CertificateAuthority {
  const signer = createPrivateKey(authority.key);
  const commonName = /^CN=(.*)$/m.exec(new X509Certificate(authority.certificate).subject)?.[1] ?? "";
  const issuer = distinguishedName(commonName, []);
  return { ...authority, issue };

  function issue(request: CertificateRequest): CertificateAndKey {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const certificate = signCertificate({
      subject: distinguishedName(request.commonName, request.organizations ?? []),
      issuer,
      key: privateKey,
      signer,
      extensions: leafExtensions(request, privateKey, signer),
      lifetimeMs: request.lifetimeMs ?? 365 * dayMs,
      clock,
    });
    return { certificate, key: exportKey(privateKey) };
  }
}

interface ToBeSigned {
  readonly subject: Uint8Array;
  readonly issuer: Uint8Array;
  readonly key: KeyObject;
  readonly signer: KeyObject;
  readonly extensions: readonly Uint8Array[];
  readonly lifetimeMs: number;
  readonly clock: Clock;
}

/** RFC 5280 §4.1 */
function signCertificate(input: ToBeSigned): string {
  const now = input.clock.now();
  const body = sequence(
    tagged(0, integer(Uint8Array.of(2)), true),
    integer(randomBytes(16)),
    signature,
    input.issuer,
    sequence(time(now - 300_000), time(now + input.lifetimeMs)),
    input.subject,
    publicKeyInfo(input.key),
    tagged(3, sequence(...input.extensions), true),
  );
  const signed = sequence(body, signature, bitString(sign("sha256", body, input.signer)));
  const lines =
    Buffer.from(signed)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function leafExtensions(request: CertificateRequest, key: KeyObject, signer: KeyObject): Uint8Array[] {
  const names = request.names ?? [];
  return [
    extension(oid.basicConstraints, sequence(), true),
    // digitalSignature
    extension(oid.keyUsage, bitString(Uint8Array.of(0b1000_0000), 7), true),
    extension(oid.extendedKeyUsage, sequence(...request.usages.map((usage) => objectIdentifier(oid[usage])))),
    extension(oid.subjectKeyIdentifier, octetString(keyId(key))),
    extension(oid.authorityKeyIdentifier, sequence(tagged(0, keyId(signer), false))),
    ...(names.length > 0 ? [extension(oid.subjectAltName, sequence(...names.map(generalName)))] : []),
  ];
}

function extension(id: string, value: Uint8Array, critical = false): Uint8Array {
  return sequence(objectIdentifier(id), ...(critical ? [boolean(true)] : []), octetString(value));
}

function distinguishedName(commonName: string, organizations: readonly string[]): Uint8Array {
  const attribute = (id: string, value: string): Uint8Array => set(sequence(objectIdentifier(id), utf8String(value)));
  return sequence(...organizations.map((organization) => attribute(oid.organization, organization)), attribute(oid.commonName, commonName));
}

/** RFC 5280 §4.2.1.6: iPAddress is tag 7, dNSName tag 2. */
function generalName(name: string): Uint8Array {
  if (isIPv4(name)) return tagged(7, Uint8Array.from(name.split(".").map(Number)), false);
  if (isIPv6(name)) return tagged(7, ipv6Bytes(name), false);
  return tagged(2, Buffer.from(name, "ascii"), false);
}

function ipv6Bytes(address: string): Uint8Array {
  const groups = (part: string): number[] => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const [left = "", right] = address.split("::");
  const head = groups(left);
  const tail = groups(right ?? "");
  const words = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
  return Uint8Array.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}

function publicKeyInfo(key: KeyObject): Uint8Array {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

/** RFC 5280 §4.2.1.2 leaves the method open; this one hashes the whole SubjectPublicKeyInfo. */
function keyId(key: KeyObject): Uint8Array {
  return createHash("sha1").update(publicKeyInfo(key)).digest();
}

function exportKey(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
