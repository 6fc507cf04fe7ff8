import { safeEncode } from "../../kinds/random-suffix.ts";

/**
 * Hash in the name of a StatefulSet's revision, with the same value as in kube-controller-manager.
 * Source: Kubernetes v1.36.3 pkg/controller/history/controller_history.go, HashControllerRevision.
 *
 * @param data - data of the revision
 */
export function revisionHash(data: object, collisionCount: number): string {
  return safeEncode(String(fnv1(`${goJson(data)}${collisionCount}`)));
}

/** FNV-1, 32 bits. */
function fnv1(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0;
  return hash;
}

/** JSON as Go writes a map: sorted keys, and HTML characters escaped. */
function goJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${goText(key)}:${goJson(member)}`)
      .join(",")}}`;
  }
  return typeof value === "string" ? goText(value) : JSON.stringify(value);
}

function goText(text: string): string {
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
