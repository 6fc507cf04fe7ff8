import { systemClock } from "@virtual-kubelet/clock";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { type BaseBlock, BitString, OctetString } from "asn1js";
import { createHash, type KeyObject, X509Certificate } from "node:crypto";
import { decode, elementsOf, hasTag } from "./asn1.ts";
import type { CertificateRequest } from "./certificate-request.ts";
import {
  type CertificateContent,
  type CertificateSpec,
  leafExtensions,
  publicKeyInfoOf,
  signCertificate,
  signingKey,
  type Validity,
  wholeSeconds,
} from "./certificate.ts";
import {
  authorityKeyIdentifier,
  basicConstraints,
  extensionValue,
  subjectAltName,
  subjectKeyIdentifier,
  usageExtensions,
} from "./extensions.ts";
import { type KeyPair, newKey, toPrivatePem } from "./key-pair.ts";
import type { KeyUsage } from "./key-usages.ts";
import { toName } from "./subject.ts";

const dayMs = 86_400_000;

/** For clients whose clocks are behind. */
const backdateMs = 300_000;

/** Signs certificates with its key. */
export interface CertificateAuthority extends KeyPair {
  readonly validity: Validity;
  /**
   * Makes a key and signs a certificate for it.
   *
   * @param spec - `validity` defaults to a year that began five minutes ago, but ends no later than the authority's
   * @throws InvalidInputError if a name or usage cannot be written
   */
  issue(spec: CertificateSpec & { readonly validity?: Validity | undefined }): KeyPair;
  /**
   * Signs what a request asks for: its subject, key and alternative names, with these usages and times.
   *
   * Source: Kubernetes v1.36.3 pkg/controller/certificates/authority/policies.go, `PermissiveSigningPolicy`.
   *
   * @returns the certificate, PEM
   * @throws InvalidInputError if there is no usage of such a name
   */
  sign(request: CertificateRequest, policy: { readonly usages: readonly KeyUsage[]; readonly validity: Validity }): string;
}

/**
 * A new certificate authority that signs its own certificate.
 *
 * @param validity - default: ten years that began five minutes ago
 */
export function createCertificateAuthority(commonName: string, validity: Validity = validFor(3650 * dayMs)): CertificateAuthority {
  const signer = newKey();
  const name = toName({ commonName });
  const publicKeyInfo = publicKeyInfoOf(signer);
  const keyIdentifier = keyIdentifierOf(publicKeyInfo);
  const extensions = [
    ...usageExtensions(["digital signature", "cert sign", "crl sign"]),
    basicConstraints(true),
    subjectKeyIdentifier(keyIdentifier),
  ];
  const certificate = signCertificate({ subject: name, publicKeyInfo, validity, extensions }, { name, key: signer });
  return authorityOf({ certificate, key: toPrivatePem(signer) }, { name, signer, keyIdentifier, validity });
}

/**
 * A certificate authority that exists already, whoever made it.
 *
 * @throws InvalidInputError if certificate or key cannot be read, they do not belong together, the certificate is not an authority's,
 * or the key is not on an elliptic curve
 */
export function openCertificateAuthority({ certificate, key }: KeyPair): CertificateAuthority {
  const x509 = readCertificate(certificate);
  const signer = signingKey(key);
  if (!x509.checkPrivateKey(signer))
    throw new InvalidInputError("open a certificate authority: the key does not belong to the certificate");
  if (!x509.ca) throw new InvalidInputError("open a certificate authority: the certificate is not an authority's");
  const validity = { notBeforeMs: x509.validFromDate.getTime(), notAfterMs: x509.validToDate.getTime() };
  return authorityOf({ certificate, key }, { ...issuerParts(x509), signer, validity });
}

/** An authority's name and key, as its certificate has them. */
interface Issuer {
  readonly name: BaseBlock;
  readonly signer: KeyObject;
  /** The certificate's subject key identifier; `undefined` when it has none. */
  readonly keyIdentifier: Uint8Array | undefined;
  readonly validity: Validity;
}

function authorityOf(pair: KeyPair, { name, signer, keyIdentifier, validity: own }: Issuer): CertificateAuthority {
  const identifier = keyIdentifier === undefined ? [] : [authorityKeyIdentifier(keyIdentifier)];
  const signLeaf = (content: CertificateContent): string =>
    signCertificate({ ...content, extensions: [...content.extensions, ...identifier] }, { name, key: signer });
  const defaultValidity = (): Validity => {
    const { notBeforeMs, notAfterMs } = validFor(365 * dayMs);
    return { notBeforeMs, notAfterMs: Math.min(notAfterMs, own.notAfterMs) };
  };
  return {
    ...pair,
    validity: own,
    issue(spec) {
      const key = newKey();
      const { validity = defaultValidity() } = spec;
      const content = { subject: toName(spec), publicKeyInfo: publicKeyInfoOf(key), validity, extensions: leafExtensions(spec) };
      return { certificate: signLeaf(content), key: toPrivatePem(key) };
    },
    sign: ({ der }, { usages, validity }) =>
      signLeaf({
        subject: decode(der.subject),
        publicKeyInfo: decode(der.publicKeyInfo),
        validity,
        extensions: [
          ...usageExtensions(usages),
          basicConstraints(false),
          ...(der.alternativeNames === undefined ? [] : [subjectAltName(decode(der.alternativeNames))]),
        ],
      }),
  };
}

/** From five minutes ago, by the machine's clock: whoever checks a certificate goes by the time of a machine. */
function validFor(lifetimeMs: number): Validity {
  const nowMs = wholeSeconds(systemClock.now());
  return { notBeforeMs: nowMs - backdateMs, notAfterMs: nowMs + lifetimeMs };
}

function readCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new InvalidInputError(`open a certificate authority: read its certificate: ${messageOf(error)}`, { cause: error });
  }
}

/** Name and key identifier of an authority, as the certificates that it issues repeat them. */
function issuerParts({ raw }: X509Certificate): Pick<Issuer, "name" | "keyIdentifier"> {
  const [body] = elementsOf(decode(raw), "the certificate");
  const elements = elementsOf(body, "the certificate's body");
  // Serial number, signature algorithm, issuer and validity stand between the version, which has tag 0, and the subject.
  const name = elements[elements.findIndex((element) => hasTag(element, 0)) + 5];
  const extensions = elements.find((element) => hasTag(element, 3));
  if (name === undefined || extensions === undefined)
    throw new InvalidInputError("open a certificate authority: the certificate is not of version 3");
  const value = extensionValue(elementsOf(extensions, "the extensions", "tagged")[0], "subjectKeyIdentifier");
  const identifier = value === undefined ? undefined : decode(value);
  return { name, keyIdentifier: identifier instanceof OctetString ? identifier.valueBlock.valueHexView : undefined };
}

/** A hash of the public key. Source: RFC 7093 §2 (1), as Go's crypto/x509 makes it. */
function keyIdentifierOf(publicKeyInfo: BaseBlock): Uint8Array {
  const [, publicKey] = elementsOf(publicKeyInfo, "the public key");
  const bits = publicKey instanceof BitString ? publicKey.valueBlock.valueHexView : new Uint8Array();
  return createHash("sha256").update(bits).digest().subarray(0, 20);
}
