import { createHash } from "node:crypto";

const digits = "abcdefghijklmnopqrstuvwxyz234567";

/**
 * Returns the SHA-256 of the texts in lower-case base32 (RFC 4648) without padding: 52 characters. Texts that only together are equal, such as `a`, `bc` and
 * `ab`, `c`, have different hashes.
 */
export function base32Hash(texts: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify(texts)).digest();
  const bits = Array.from(hash, (byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? []).map((group) => digits[Number.parseInt(group.padEnd(5, "0"), 2)]).join("");
}
