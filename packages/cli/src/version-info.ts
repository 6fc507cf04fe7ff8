import { kubernetesVersion } from "@virtual-kubelet/core";
import { readFileSync } from "node:fs";

export interface VersionInfo {
  /** Version of the program. */
  readonly virtualKubelet: string;
  /** Version of the Kubernetes API's types, with `v`. */
  readonly kubernetes: string;
  /** Version of Node.js, with `v`. */
  readonly node: string;
}

/** Reads the program's version from its package. */
export function versionInfo(): VersionInfo {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  return { virtualKubelet: manifest.version, kubernetes: kubernetesVersion, node: process.version };
}

/** Kubelet version of a node: Kubernetes's, with upstream's kind of suffix. */
export function kubeletVersionOf(kubernetes: string, virtualKubelet: string): string {
  return `${kubernetes}-vk-${virtualKubelet}`;
}
