import { generateKeyPairSync, type KeyObject } from "node:crypto";

/** A certificate, with its chain if it has one, and its private key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** A new private key on the curve P-256, PEM (PKCS #8). Source: client-go util/certificate makes the same kind. */
export function generateKey(): string {
  return toPrivatePem(newKey());
}

/** A new private key on the curve P-256. */
export function newKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

/** PKCS #8, PEM. */
export function toPrivatePem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
