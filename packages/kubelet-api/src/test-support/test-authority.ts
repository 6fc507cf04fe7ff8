import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from "node:crypto";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import {
  AlgorithmIdentifier,
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
  id_ce_subjectAltName,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from "@peculiar/asn1-x509";
import type { CredentialSource } from "../access-control/access-control.ts";

/** Extended key usages of RFC 5280. */
export const usages = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;

/** Attributes of a subject, by object identifier, in their order. */
export type Subject = readonly (readonly [oid: string, value: string])[];

/** What a test wants of a certificate. Times are in milliseconds since the epoch. */
export interface Wish {
  readonly subject: Subject;
  readonly usage?: string | undefined;
  /** IP addresses it is valid for. */
  readonly names?: readonly string[] | undefined;
  readonly notBeforeMs?: number | undefined;
  readonly notAfterMs?: number | undefined;
  /** Whether it is an authority's. */
  readonly ca?: boolean | undefined;
  /** Make it for this public key (SPKI, DER) instead of a new one. */
  readonly publicKey?: Buffer | undefined;
}

/** Signs certificates for tests. */
export class TestAuthority {
  readonly certificate: string;
  readonly #key: string;
  readonly #name: Name;

  constructor(commonName = "test-ca", wish: Pick<Wish, "ca" | "notBeforeMs" | "notAfterMs"> = {}) {
    this.#key = newKey();
    this.#name = nameOf([["2.5.4.3", commonName]]);
    this.certificate = this.#sign(this.#name, publicKeyOf(this.#key), [basicConstraints(wish.ca ?? true)], wish);
  }

  /** A certificate and its key, PEM; the key is useless where the wish has its own. */
  issue(wish: Wish): { certificate: string; key: string } {
    const key = newKey();
    const extensions = [
      ...(wish.ca === true ? [basicConstraints(true)] : []),
      ...(wish.usage === undefined ? [] : [extension(id_ce_extKeyUsage, new ExtendedKeyUsage([wish.usage]))]),
      ...(wish.names === undefined
        ? []
        : [extension(id_ce_subjectAltName, new SubjectAlternativeName(wish.names.map((iPAddress) => new GeneralName({ iPAddress }))))]),
    ];
    return { certificate: this.#sign(nameOf(wish.subject), wish.publicKey ?? publicKeyOf(key), extensions, wish), key };
  }

  #sign(subject: Name, publicKey: Buffer, extensions: Extension[], { notBeforeMs, notAfterMs }: Partial<Wish>): string {
    const algorithm = new AlgorithmIdentifier({ algorithm: "1.2.840.10045.4.3.2" });
    const body = new TBSCertificate({
      version: Version.v3,
      serialNumber: new Uint8Array([1, ...randomBytes(8)]).buffer,
      signature: algorithm,
      issuer: this.#name,
      validity: new Validity({
        notBefore: new Date(notBeforeMs ?? Date.UTC(2020, 0, 1)),
        notAfter: new Date(notAfterMs ?? Date.UTC(2049, 0, 1)),
      }),
      subject,
      subjectPublicKeyInfo: AsnConvert.parse(publicKey, SubjectPublicKeyInfo),
      ...(extensions.length > 0 && { extensions: new Extensions(extensions) }),
    });
    const signature = sign("sha256", new Uint8Array(AsnConvert.serialize(body)), createPrivateKey(this.#key));
    const whole = new Certificate({
      tbsCertificate: body,
      signatureAlgorithm: algorithm,
      signatureValue: new Uint8Array(signature).buffer,
    });
    return new X509Certificate(new Uint8Array(AsnConvert.serialize(whole))).toString();
  }
}

/** A connection whose client showed this certificate. */
export function connectionWith(certificate: string | undefined, authorized: boolean): CredentialSource["socket"] {
  const shown = certificate === undefined ? {} : new X509Certificate(certificate).toLegacyObject();
  return { authorized, getPeerCertificate: () => shown as never };
}

/** Public key of a private one (PEM), SPKI in DER. */
export function publicKeyOf(key: string): Buffer {
  return createPublicKey(createPrivateKey(key)).export({ type: "spki", format: "der" });
}

function extension(extnID: string, value: object): Extension {
  return new Extension({ extnID, critical: extnID === id_ce_basicConstraints, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function basicConstraints(cA: boolean): Extension {
  return extension(id_ce_basicConstraints, new BasicConstraints({ cA }));
}

function newKey(): string {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

function nameOf(subject: Subject): Name {
  return new Name(
    subject.map(
      ([type, value]) =>
        new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: value }) })]),
    ),
  );
}
