import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { type BaseBlock, BitString, Constructed, Integer, ObjectIdentifier, Set as Asn1Set } from "asn1js";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { type AlternativeNameKind, countAlternativeNames, toAlternativeNames } from "./alternative-names.ts";
import { contextSpecific, decode, elementsOf, encode, hasTag, sequence, structureError } from "./asn1.ts";
import { publicKeyInfoOf, signed, signingKey } from "./certificate.ts";
import { extensionValue, subjectAltName } from "./extensions.ts";
import { fromPem, toPem } from "./pem.ts";
import { fromName, type Subject, toName } from "./subject.ts";

const label = "CERTIFICATE REQUEST";
const extensionRequest = "1.2.840.113549.1.9.14";

/** Contents of a request for a certificate. Usages are not among them: Kubernetes keeps those beside the request. */
export interface CertificateRequestSpec extends Subject {
  /** DNS names and IP addresses. Default: none. */
  readonly names?: readonly string[] | undefined;
}

/**
 * A PKCS #10 request (RFC 2986) for a certificate, signed with ECDSA and SHA-256.
 *
 * @param key - private key on an elliptic curve, PEM
 * @returns the request, PEM
 * @throws InvalidInputError if the key cannot be read, or a name cannot be written
 */
export function createCertificateRequest(spec: CertificateRequestSpec, key: string): string {
  const signer = signingKey(key);
  const { names = [] } = spec;
  const extensions = sequence(subjectAltName(toAlternativeNames(names)));
  const attribute = sequence(new ObjectIdentifier({ value: extensionRequest }), new Asn1Set({ value: [extensions] }));
  const body = sequence(
    new Integer({ value: 0 }),
    toName(spec),
    publicKeyInfoOf(signer),
    new Constructed({ idBlock: { tagClass: contextSpecific, tagNumber: 0 }, value: names.length === 0 ? [] : [attribute] }),
  );
  return toPem(label, encode(signed(body, signer)));
}

/** A request for a certificate, whose signature is right. */
export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly publicKey: KeyObject;
  /** How many alternative names of each kind it asks for. */
  readonly alternativeNameCounts: Readonly<Record<AlternativeNameKind, number>>;
  /** The parts that go into the certificate unchanged, in DER. */
  readonly der: {
    readonly subject: Uint8Array;
    readonly publicKeyInfo: Uint8Array;
    /** GeneralNames; `undefined` when it asks for none. */
    readonly alternativeNames: Uint8Array | undefined;
  };
}

/**
 * Reads a PKCS #10 request, PEM, and checks its signature. Errors are worded like those of the Kubernetes API.
 *
 * Source: Kubernetes v1.36.3 pkg/apis/certificates/helpers.go, `ParseCSR`, and `CheckSignature` of Go's crypto/x509.
 *
 * @throws InvalidInputError if there is no such PEM block, its structure is wrong, or its signature is
 */
export function parseCertificateRequest(pem: string): CertificateRequest {
  const der = fromPem(label, pem);
  if (der === undefined) throw new InvalidInputError(`PEM block type must be ${label}`);
  const [body, algorithm, signature] = elementsOf(decode(der), "the request");
  const [version, subject, publicKeyInfo, attributes] = elementsOf(body, "the request's information");
  if (body === undefined || subject === undefined || publicKeyInfo === undefined || !(version instanceof Integer))
    throw structureError("the request lacks a version, a subject or a public key");
  const publicKey = readPublicKey(publicKeyInfo);
  const names = fromName(subject);
  checkSignature({ body, algorithm, signature, publicKey });
  const alternativeNames = requestedNames(attributes);
  return {
    ...names,
    publicKey,
    alternativeNameCounts: countAlternativeNames(alternativeNames === undefined ? undefined : decode(alternativeNames)),
    der: { subject: encode(subject), publicKeyInfo: encode(publicKeyInfo), alternativeNames },
  };
}

function readPublicKey(info: BaseBlock): KeyObject {
  try {
    return createPublicKey({ key: encode(info), format: "der", type: "spki" });
  } catch (error) {
    throw new InvalidInputError(`asn1: structure error: the public key cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Hash functions of the signature algorithms that are checked; `null`: part of the algorithm. */
const hashes: ReadonlyMap<string, string | null> = new Map([
  ["1.2.840.10045.4.3.2", "sha256"],
  ["1.2.840.10045.4.3.3", "sha384"],
  ["1.2.840.10045.4.3.4", "sha512"],
  ["1.2.840.113549.1.1.11", "sha256"],
  ["1.2.840.113549.1.1.12", "sha384"],
  ["1.2.840.113549.1.1.13", "sha512"],
  ["1.3.101.112", null],
]);

function checkSignature(request: {
  readonly body: BaseBlock;
  readonly algorithm: BaseBlock | undefined;
  readonly signature: BaseBlock | undefined;
  readonly publicKey: KeyObject;
}): void {
  const [identifier] = elementsOf(request.algorithm, "the signature algorithm");
  const hash = identifier instanceof ObjectIdentifier ? hashes.get(identifier.getValue()) : undefined;
  if (hash === undefined) throw new InvalidInputError("x509: cannot verify signature: algorithm unimplemented");
  if (!(request.signature instanceof BitString)) throw structureError("the signature is no BIT STRING");
  const { unusedBits, valueHexView } = request.signature.valueBlock;
  if (unusedBits !== 0) throw structureError("the signature is not of whole bytes");
  if (!isSignature(hash, encode(request.body), request.publicKey, valueHexView)) throw wrongSignature(request.publicKey);
}

function isSignature(hash: string | null, body: Uint8Array, publicKey: KeyObject, signature: Uint8Array): boolean {
  try {
    return verify(hash, body, publicKey, signature);
  } catch {
    // Such as a hash function that the key cannot be used with.
    return false;
  }
}

function wrongSignature({ asymmetricKeyType }: KeyObject): InvalidInputError {
  if (asymmetricKeyType === "rsa") return new InvalidInputError("crypto/rsa: verification error");
  return new InvalidInputError(`x509: ${asymmetricKeyType === "ed25519" ? "Ed25519" : "ECDSA"} verification failure`);
}

function requestedNames(attributes: BaseBlock | undefined): Uint8Array | undefined {
  if (attributes === undefined || !hasTag(attributes, 0)) return undefined;
  for (const attribute of elementsOf(attributes, "the list of attributes", "tagged")) {
    const [type, values] = elementsOf(attribute, "an attribute");
    if (!(type instanceof ObjectIdentifier)) throw structureError("an attribute has no type");
    if (type.getValue() === extensionRequest)
      return extensionValue(elementsOf(values, "an attribute's values", "SET")[0], "subjectAltName");
  }
  return undefined;
}
