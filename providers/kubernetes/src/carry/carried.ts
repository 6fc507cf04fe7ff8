import { shortHash } from "../identity/short-hash.ts";

/** A config map or secret of the home cluster that a pod refers to. The far pod refers to its copy. */
export interface CarriedReference {
  readonly kind: "ConfigMap" | "Secret";
  readonly namespace: string;
  readonly name: string;
  /** Whether the far pod starts without it. */
  readonly optional: boolean;
  /** Field that refers to it, such as `spec.volumes[0].configMap`. */
  readonly fieldPath: string;
}

/** A file that only this pod has, such as a token. It is one key of the pod's secret. */
export interface PodFile {
  /** Name of the volume in the home pod. */
  readonly volume: string;
  /** Path in that volume. */
  readonly path: string;
  /** Key in the secret: {@link podFileKey}. */
  readonly key: string;
}

/** What has to exist in the far cluster before the far pod does. */
export interface Carried {
  readonly references: readonly CarriedReference[];
  readonly files: readonly PodFile[];
}

/** Key of a pod's file in the pod's secret. A path may hold characters that a key may not. */
export function podFileKey(volume: string, path: string): string {
  return `${volume}.${shortHash(volume, path)}`;
}
