import { createPublicKey, verify, type KeyObject } from "node:crypto";
import { derChildren, derContent, type DerElement, derElements, DerError, derOid } from "./der-reader.ts";

/** What a PKCS#10 request (RFC 2986) asks for. */
export interface CertificateRequest {
  /** The subject, DER. */
  readonly subject: Uint8Array;
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** The public key, DER (SubjectPublicKeyInfo). */
  readonly publicKeyInfo: Uint8Array;
  readonly publicKey: KeyObject;
  /** The alternative names, DER (GeneralNames); absent: none. */
  readonly alternativeNames?: Uint8Array;
  /** How many there are of each sort. */
  readonly alternativeNameCounts: Readonly<Record<AlternativeName, number>>;
}

/** Sorts of alternative names that Kubernetes tells apart. */
export type AlternativeName = "email" | "dns" | "uri" | "ip";

const tags = { bitString: 0x03, octetString: 0x04, oid: 0x06, sequence: 0x30, set: 0x31, attributes: 0xa0 } as const;
const nameTags: Readonly<Record<number, AlternativeName>> = { 0x81: "email", 0x82: "dns", 0x86: "uri", 0x87: "ip" };
const commonNameOid = "2.5.4.3";
const organizationOid = "2.5.4.10";
const extensionRequestOid = "1.2.840.113549.1.9.14";
const alternativeNameOid = "2.5.29.17";

/** Hashes of the signature algorithms that are checked; `null`: the algorithm has its own. */
const hashes: Readonly<Record<string, string | null>> = {
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  "1.3.101.112": null,
};

/** The request is none, or its signature is wrong. The message is for a 422. */
export class CertificateRequestError extends Error {
  /** @param message - such as `PEM block type must be CERTIFICATE REQUEST` */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CertificateRequestError";
  }
}

/**
 * Reads a PEM certificate request and checks its signature.
 *
 * Source of what is asked for: Kubernetes v1.36.3 pkg/apis/certificates/helpers.go, `ParseCSR`.
 *
 * @throws CertificateRequestError
 */
export function parseCertificateRequest(pem: string): CertificateRequest {
  const [, body] = /-----BEGIN CERTIFICATE REQUEST-----([^-]*)-----END CERTIFICATE REQUEST-----/.exec(pem) ?? [];
  if (body === undefined) throw new CertificateRequestError("PEM block type must be CERTIFICATE REQUEST");
  try {
    return parseDer(Buffer.from(body, "base64"));
  } catch (error) {
    if (error instanceof CertificateRequestError) throw error;
    throw new CertificateRequestError(`asn1: structure error: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function parseDer(der: Uint8Array): CertificateRequest {
  const [whole, ...surplus] = derElements(der);
  if (surplus.length > 0) throw new DerError("there is something behind the request");
  const [info, algorithm, signature] = derChildren(whole, tags.sequence);
  const [, subject, keyInfo, ...attributes] = derChildren(info, tags.sequence);
  if (info === undefined || subject === undefined || keyInfo === undefined) throw new DerError("the request has too few elements");
  const publicKey = createPublicKey({ key: Buffer.from(keyInfo.raw), format: "der", type: "spki" });
  checkSignature({ signed: info.raw, algorithm, signature, publicKey });
  const names = subjectNames(subject);
  const alternativeNames = findAlternativeNames(attributes);
  return {
    subject: subject.raw,
    commonName: names.findLast(([id]) => id === commonNameOid)?.[1] ?? "",
    organizations: names.filter(([id]) => id === organizationOid).map(([, text]) => text),
    publicKeyInfo: keyInfo.raw,
    publicKey,
    ...(alternativeNames === undefined ? {} : { alternativeNames }),
    alternativeNameCounts: countNames(alternativeNames),
  };
}

function checkSignature(request: {
  readonly signed: Uint8Array;
  readonly algorithm: DerElement | undefined;
  readonly signature: DerElement | undefined;
  readonly publicKey: KeyObject;
}): void {
  const [id] = derChildren(request.algorithm, tags.sequence);
  const hash = hashes[derOid(derContent(id, tags.oid))];
  if (hash === undefined) throw new CertificateRequestError("x509: cannot verify signature: algorithm unimplemented");
  // The first byte says how many bits of the last are not used: none.
  const bits = derContent(request.signature, tags.bitString).subarray(1);
  if (!verify(hash, request.signed, request.publicKey, bits)) throw new CertificateRequestError(wrongSignature(request.publicKey));
}

/** As Go's crypto/x509 words it. */
function wrongSignature({ asymmetricKeyType }: KeyObject): string {
  if (asymmetricKeyType === "rsa") return "crypto/rsa: verification error";
  return asymmetricKeyType === "ed25519" ? "x509: Ed25519 verification failure" : "x509: ECDSA verification failure";
}

function subjectNames(subject: DerElement): [id: string, text: string][] {
  return derChildren(subject, tags.sequence).flatMap((set) =>
    derChildren(set, tags.set).map((pair): [string, string] => {
      const [id, value] = derChildren(pair, tags.sequence);
      return [derOid(derContent(id, tags.oid)), Buffer.from(value?.content ?? []).toString()];
    }),
  );
}

function findAlternativeNames(attributes: readonly DerElement[]): Uint8Array | undefined {
  const list = attributes.find(({ tag }) => tag === tags.attributes);
  for (const attribute of list === undefined ? [] : derElements(list.content)) {
    const [id, values] = derChildren(attribute, tags.sequence);
    if (derOid(derContent(id, tags.oid)) !== extensionRequestOid) continue;
    const [extensions] = derChildren(values, tags.set);
    for (const extension of derChildren(extensions, tags.sequence)) {
      const [extensionId, ...rest] = derChildren(extension, tags.sequence);
      if (derOid(derContent(extensionId, tags.oid)) === alternativeNameOid) return derContent(rest.at(-1), tags.octetString);
    }
  }
  return undefined;
}

function countNames(names: Uint8Array | undefined): Record<AlternativeName, number> {
  const counts = { email: 0, dns: 0, uri: 0, ip: 0 };
  const [list] = names === undefined ? [] : derElements(names);
  for (const { tag } of list === undefined ? [] : derChildren(list, tags.sequence)) {
    const sort = nameTags[tag];
    if (sort !== undefined) counts[sort]++;
  }
  return counts;
}
