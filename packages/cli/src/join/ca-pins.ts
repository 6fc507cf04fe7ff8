import { createHash, X509Certificate } from "node:crypto";

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Parses the hash of an authority's public key, `sha256:` and 64 hexadecimal digits; `undefined` if malformed. Source: kubernetes v1.36.3
 * cmd/kubeadm/app/util/pubkeypin.
 *
 * @returns with lower-case digits
 */
export function parsePin(text: string): string | undefined {
  return /^sha256:[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : undefined;
}

/** Hash of a certificate's public key (its SubjectPublicKeyInfo in DER). */
function pinOf(certificate: X509Certificate): string {
  const info = certificate.publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(info).digest("hex")}`;
}

/** Hashes of all certificates of a bundle, in its order. @throws Error if one cannot be read */
export function pinsOf(bundle: string): string[] {
  return (bundle.match(certificateBlock) ?? []).map((block) => pinOf(new X509Certificate(block)));
}
