import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { type BaseBlock, BitString, fromBER, GeneralizedTime, Integer, ObjectIdentifier, type Sequence, UTCTime } from "asn1js";
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import { toAlternativeNames } from "./alternative-names.ts";
import { encode, sequence, tagged } from "./asn1.ts";
import { basicConstraints, subjectAltName, usageExtensions } from "./extensions.ts";
import type { KeyUsage } from "./key-usages.ts";
import { toPem } from "./pem.ts";
import { type Subject, toName } from "./subject.ts";

/** When a certificate is valid. Milliseconds since the epoch, cut to whole seconds. */
export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Contents of a server's or a client's certificate. */
export interface CertificateSpec extends Subject {
  /** DNS names and IP addresses of a server. Default: none. */
  readonly names?: readonly string[] | undefined;
  /** Such as `server auth` and `client auth`; `digital signature` is added to any others. Default: none, which allows every usage. */
  readonly usages?: readonly KeyUsage[] | undefined;
}

/**
 * A certificate that its own key signs.
 *
 * @param key - private key on an elliptic curve, PEM
 * @returns the certificate, PEM
 * @throws InvalidInputError if the key cannot be read, or a name or usage cannot be written
 */
export function selfSignedCertificate(spec: CertificateSpec & { readonly validity: Validity }, key: string): string {
  const signer = signingKey(key);
  const name = toName(spec);
  const content = { subject: name, publicKeyInfo: publicKeyInfoOf(signer), validity: spec.validity, extensions: leafExtensions(spec) };
  return signCertificate(content, { name, key: signer });
}

/** Extensions of a server's or a client's certificate. */
export function leafExtensions({ names = [], usages = [] }: CertificateSpec): Sequence[] {
  return [
    ...usageExtensions(usages.length === 0 ? [] : ["digital signature", ...usages]),
    basicConstraints(false),
    ...(names.length === 0 ? [] : [subjectAltName(toAlternativeNames(names))]),
  ];
}

/** The parts of a certificate that its issuer does not add. */
export interface CertificateContent {
  readonly subject: BaseBlock;
  readonly publicKeyInfo: BaseBlock;
  readonly validity: Validity;
  readonly extensions: readonly Sequence[];
}

/** Signs a certificate with ECDSA and SHA-256 (RFC 5280 §4.1). @returns it as PEM */
export function signCertificate(content: CertificateContent, issuer: { readonly name: BaseBlock; readonly key: KeyObject }): string {
  const { notBeforeMs, notAfterMs } = content.validity;
  const body = sequence(
    tagged(0, new Integer({ value: 2 })),
    new Integer({ valueHex: serialNumber() }),
    ecdsaWithSha256(),
    issuer.name,
    sequence(time(notBeforeMs), time(notAfterMs)),
    content.subject,
    content.publicKeyInfo,
    tagged(3, sequence(...content.extensions)),
  );
  return toPem("CERTIFICATE", encode(signed(body, issuer.key)));
}

/** What is signed, the algorithm, and the signature: the outer structure of certificates and requests. */
export function signed(body: Sequence, key: KeyObject): Sequence {
  return sequence(body, ecdsaWithSha256(), new BitString({ valueHex: sign("sha256", encode(body), key) }));
}

/** A private key on an elliptic curve, PEM. @throws InvalidInputError */
export function signingKey(pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw new InvalidInputError(`read a private key: ${messageOf(error)}`, { cause: error });
  }
  if (key.asymmetricKeyType === "ec") return key;
  throw new InvalidInputError(`read a private key: it is of the type ${String(key.asymmetricKeyType)}; expected ec, an elliptic curve`);
}

/** SubjectPublicKeyInfo of a key pair. */
export function publicKeyInfoOf(key: KeyObject): BaseBlock {
  return fromBER(createPublicKey(key).export({ type: "spki", format: "der" }), { parseEmbedded: false }).result;
}

/** The time without its milliseconds, which a certificate cannot hold. */
export function wholeSeconds(epochMs: number): number {
  return Math.floor(epochMs / 1000) * 1000;
}

function ecdsaWithSha256(): Sequence {
  return sequence(new ObjectIdentifier({ value: "1.2.840.10045.4.3.2" }));
}

/** Positive and 16 bytes long: the second bit is set, so that no leading byte is left out. */
function serialNumber(): Uint8Array {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

/** UTCTime until 2049, GeneralizedTime after that (RFC 5280 §4.1.2.5). */
function time(epochMs: number): UTCTime {
  const valueDate = new Date(wholeSeconds(epochMs));
  return valueDate.getUTCFullYear() < 2050 ? new UTCTime({ valueDate }) : new GeneralizedTime({ valueDate });
}
