import { createHash } from "node:crypto";

/** 10 characters of base 36, lower case, that depend on all parts and on their borders. */
export function shortHash(...parts: readonly string[]): string {
  return digestOf(parts).readBigUInt64BE(0).toString(36).padStart(13, "0").slice(-10);
}

/**
 * 20 characters, as {@link shortHash}, for parts that a user of the home cluster may choose: of 10 characters somebody could find, in days, other
 * parts with the same hash.
 */
export function longHash(...parts: readonly string[]): string {
  return BigInt(`0x${digestOf(parts).toString("hex")}`)
    .toString(36)
    .slice(-20);
}

function digestOf(parts: readonly string[]): Buffer {
  return createHash("sha256").update(JSON.stringify(parts)).digest();
}
