import { createPrivateKey, createPublicKey, randomBytes, sign, type KeyObject } from "node:crypto";
import { Attributes, CertificationRequest, CertificationRequestInfo } from "@peculiar/asn1-csr";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import {
  AlgorithmIdentifier,
  Attribute,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from "@peculiar/asn1-x509";
import type { ServingNames } from "./serving-names.ts";

const oid = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  extensionRequest: "1.2.840.113549.1.9.14",
} as const;

/** What a certificate, or a request for one, is about. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organization?: string | undefined;
  readonly names: ServingNames;
  /** PEM of a private key on P-256. */
  readonly key: string;
}

/** A PKCS #10 request, PEM. The usages are not in it: Kubernetes has them beside it. */
export function certificateRequest(subject: CertificateSubject): string {
  const key = createPrivateKey(subject.key);
  const extensions = new Extensions([subjectAlternativeName(subject.names)]);
  const info = new CertificationRequestInfo({
    subject: distinguishedName(subject),
    subjectPKInfo: publicKeyInfo(key),
    attributes: new Attributes([new Attribute({ type: oid.extensionRequest, values: [AsnConvert.serialize(extensions)] })]),
  });
  const request = new CertificationRequest({
    certificationRequestInfo: info,
    signatureAlgorithm: ecdsa(),
    signature: signatureOf(info, key),
  });
  return pem("CERTIFICATE REQUEST", request);
}

/** A certificate that a server signs for itself, PEM. Times are in milliseconds since the epoch. */
export function selfSignedCertificate(
  subject: CertificateSubject,
  validity: { readonly notBeforeMs: number; readonly notAfterMs: number },
): string {
  const key = createPrivateKey(subject.key);
  const name = distinguishedName(subject);
  const body = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialNumber(),
    signature: ecdsa(),
    issuer: name,
    validity: new Validity({ notBefore: new Date(validity.notBeforeMs), notAfter: new Date(validity.notAfterMs) }),
    subject: name,
    subjectPublicKeyInfo: publicKeyInfo(key),
    extensions: new Extensions([
      extension(id_ce_basicConstraints, new BasicConstraints({ cA: false }), true),
      extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), true),
      extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth]), false),
      subjectAlternativeName(subject.names),
    ]),
  });
  return pem("CERTIFICATE", new Certificate({ tbsCertificate: body, signatureAlgorithm: ecdsa(), signatureValue: signatureOf(body, key) }));
}

function ecdsa(): AlgorithmIdentifier {
  return new AlgorithmIdentifier({ algorithm: oid.ecdsaWithSha256 });
}

function distinguishedName({ commonName, organization }: CertificateSubject): Name {
  const attribute = (type: string, text: string): RelativeDistinguishedName =>
    new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: text }) })]);
  return new Name([
    ...(organization === undefined ? [] : [attribute(oid.organization, organization)]),
    attribute(oid.commonName, commonName),
  ]);
}

function subjectAlternativeName({ dnsNames, ips }: ServingNames): Extension {
  const names = [...dnsNames.map((dNSName) => new GeneralName({ dNSName })), ...ips.map((iPAddress) => new GeneralName({ iPAddress }))];
  return extension(id_ce_subjectAltName, new SubjectAlternativeName(names), false);
}

function extension(extnID: string, value: object, critical: boolean): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function publicKeyInfo(key: KeyObject): SubjectPublicKeyInfo {
  return AsnConvert.parse(createPublicKey(key).export({ type: "spki", format: "der" }), SubjectPublicKeyInfo);
}

function signatureOf(signed: object, key: KeyObject): ArrayBuffer {
  return toArrayBuffer(sign("sha256", new Uint8Array(AsnConvert.serialize(signed)), key));
}

/** A positive INTEGER of at most 20 bytes, RFC 5280 §4.1.2.2. */
function serialNumber(): ArrayBuffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return toArrayBuffer(bytes);
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function pem(label: string, value: object): string {
  const lines =
    Buffer.from(AsnConvert.serialize(value))
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
