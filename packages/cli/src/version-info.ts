import { kubernetesVersion } from "@virtual-kubelet/core";
import { readFileSync } from "node:fs";

/** The versions of what the program is made of. */
export interface VersionInfo {
  /** Of the program. */
  readonly virtualKubelet: string;
  /** Of the Kubernetes API's types, with `v`. */
  readonly kubernetes: string;
  /** Of the Node.js it runs on, with `v`. */
  readonly node: string;
}

/** Reads the program's version from its package. */
export function versionInfo(): VersionInfo {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  return { virtualKubelet: manifest.version, kubernetes: kubernetesVersion, node: process.version };
}

/** The kubelet version a node reports: Kubernetes's, marked as ours the way upstream does. */
export function kubeletVersionOf(kubernetes: string, virtualKubelet: string): string {
  return `${kubernetes}-vk-${virtualKubelet}`;
}
