import { createHash } from "node:crypto";

/** 10 characters of base 36, lower case, that depend on all parts and on their borders. */
export function shortHash(...parts: readonly string[]): string {
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest();
  return digest.readBigUInt64BE(0).toString(36).padStart(13, "0").slice(-10);
}
