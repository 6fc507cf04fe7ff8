/**
 * Keys, signing requests, certificates and certificate authorities, on ECDSA with P-256 and SHA-256.
 *
 * @packageDocumentation
 */
export type { AlternativeNameKind } from "./alternative-names.ts";
export { createCertificateAuthority, openCertificateAuthority, type CertificateAuthority } from "./certificate-authority.ts";
export {
  createCertificateRequest,
  parseCertificateRequest,
  type CertificateRequest,
  type CertificateRequestSpec,
} from "./certificate-request.ts";
export { selfSignedCertificate, type CertificateSpec, type Validity } from "./certificate.ts";
export { generateKey, type KeyPair } from "./key-pair.ts";
export { isKeyUsage, keyUsages, type KeyUsage } from "./key-usages.ts";
export type { Subject } from "./subject.ts";
