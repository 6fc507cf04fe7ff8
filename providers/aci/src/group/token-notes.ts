import type { VolumeFile } from "@virtual-kubelet/core";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import type { Note } from "./note.ts";

/** Returns a note for each service account token, because the files of a running group cannot be renewed. */
export function tokenNotes(files: readonly VolumeFile[]): readonly Note[] {
  return files.flatMap(({ path, content }): readonly Note[] => {
    const expiresAtMs = expiryOf(Buffer.from(content).toString("latin1"));
    if (expiresAtMs === undefined) return [];
    const at = new Date(expiresAtMs).toISOString();
    const message = `The token in file ${path} expires at ${at} and is not renewed, because Azure Container Instances cannot change files of a running pod.`;
    return [{ reason: "ServiceAccountTokenExpires", type: "Normal", message }];
  });
}

/** Milliseconds since the epoch; `undefined` for a file that is no Kubernetes token. */
function expiryOf(text: string): number | undefined {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]+\s*$/.exec(text) ?? [];
  if (payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (!isJsonObject(claims) || typeof claims["exp"] !== "number" || !("kubernetes.io" in claims)) return undefined;
    return claims["exp"] * 1000;
  } catch {
    return undefined;
  }
}
