import { readdirSync } from "node:fs";
import { join } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

const modules = join(import.meta.dirname, "../../../../tools/control-plane");

/** Minor version of Kubernetes to test with, and the Go module that pins its programs. */
export interface ChosenKubernetes {
  /** Such as `1.36`. */
  readonly version: string;
  /** Folder with `go.mod` and `go.sum`. */
  readonly moduleDirectory: string;
}

/**
 * Reads `KUBERNETES`; default: the newest version that the project's repository has a module for. `undefined` outside the
 * repository, where the variable is not read.
 *
 * @throws InvalidInputError if the repository has no module for that version
 */
export function chosenKubernetes(environment: Readonly<Record<string, string | undefined>>): ChosenKubernetes | undefined {
  const versions = versionsWithModule();
  const newest = versions.at(-1);
  if (newest === undefined) return undefined;
  const version = environment["KUBERNETES"] || newest;
  if (!versions.includes(version)) {
    const known = `${versions.slice(0, -1).join(", ")} or ${newest}`;
    throw new InvalidInputError(
      `KUBERNETES=${version}: expected ${known}, which tools/control-plane has Go modules for; set one of these, or unset it for ${newest}`,
    );
  }
  return { version, moduleDirectory: join(modules, version) };
}

/**
 * Refuses a kube-apiserver that is not of the version to test with, because its results would be reported for another one.
 *
 * @param serverVersion - such as `v1.36.3`
 * @param programs - folder that kube-apiserver was started from
 * @throws InvalidInputError if it is of another minor version
 */
export function requireChosenKubernetes(
  serverVersion: string,
  programs: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const chosen = chosenKubernetes(environment);
  if (chosen === undefined || serverVersion.startsWith(`v${chosen.version}.`)) return;
  const source = environment["KUBERNETES"] ? `KUBERNETES=${chosen.version}` : `KUBERNETES is not set, which means ${chosen.version}`;
  throw new InvalidInputError(
    `${source}, but kube-apiserver in ${programs} is ${serverVersion}: set KUBERNETES to its version, or unset KUBEBUILDER_ASSETS`,
  );
}

function versionsWithModule(): string[] {
  try {
    return readdirSync(modules)
      .filter((name) => /^\d+\.\d+$/.test(name))
      .toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }));
  } catch {
    return [];
  }
}
