import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { versionSchema } from "./zun-schemas.ts";

/** A version of Zun's API: the number after `1.`. */
export type Minor = number;

/** The newest that is asked for: everything here was tried with it. */
export const newestMinor: Minor = 40;
/** Capsules by their present names, files, and deletes that do not wait. */
const oldestMinor: Minor = 32;
/** Init containers of capsules. */
export const initContainersMinor: Minor = 34;
/** A container's `entrypoint`, which Kubernetes calls command. */
export const entrypointMinor: Minor = 40;

/**
 * The version to ask for: the newest that both know.
 *
 * @throws UnsupportedError for a release of Zun that is too old, or something that is no Zun
 */
export function chooseMinor(document: unknown): Minor {
  const { versions = [] } = versionSchema.safeParse(document).data ?? {};
  const max = versions.find(({ id }) => id === "v1")?.max_version;
  const [, minor] = /^1\.(\d+)$/.exec(max ?? "") ?? [];
  if (minor === undefined)
    throw new UnsupportedError("read Zun's versions: the answer has no version v1; is this the container service (Zun)?");
  if (Number(minor) < oldestMinor) throw new UnsupportedError(`Zun's newest API version is ${max}; 1.${oldestMinor} or newer is needed`);
  return Math.min(Number(minor), newestMinor);
}
