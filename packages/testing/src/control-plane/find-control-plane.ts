import { createHash } from "node:crypto";
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { chosenKubernetes } from "./kubernetes-version.ts";

/** A program of the control plane, or kubectl or kube-proxy in the same version. */
export type ControlPlaneProgram = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" | "kubectl" | "kube-proxy";

/** The Go module that the programs are built from. */
export interface ControlPlaneSource {
  /** Folder with `go.mod` and `go.sum`. */
  readonly moduleDirectory: string;
  /** Path of the `go` command. */
  readonly go: string;
  /** Version of Kubernetes that `go.mod` requires, such as `v1.36.3`. */
  readonly kubernetesVersion: string;
  /** Folder for the programs; it may already contain programs of an earlier build. */
  readonly directory: string;
  /** Requested programs that are not in the folder yet. */
  readonly programs: readonly ControlPlaneProgram[];
}

/**
 * Result of the search for a control plane. `how` is a text for people: where the programs were found, what a build needs, or what is
 * missing and how to get it.
 */
export type ControlPlaneLookup =
  | { readonly status: "found"; readonly how: string; readonly directory: string }
  | { readonly status: "buildable"; readonly how: string; readonly source: ControlPlaneSource }
  | { readonly status: "missing"; readonly how: string };

/** Options of {@link findControlPlane}. */
export interface FindControlPlaneOptions {
  /** Default: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl. */
  readonly programs?: readonly ControlPlaneProgram[] | undefined;
  /**
   * Source of `KUBEBUILDER_ASSETS`, `XDG_CACHE_HOME`, `HOME` and `PATH`, and within the project's repository of `KUBERNETES`;
   * default: the environment of the process.
   */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Folder of the Go module; default: the one in the repository's `tools/control-plane` for the version that `KUBERNETES` names. */
  readonly moduleDirectory?: string | undefined;
}

/** All programs of a control plane, and kubectl. */
export const defaultPrograms: readonly ControlPlaneProgram[] = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubectl",
];

/**
 * Searches for one folder with all programs of a control plane: `KUBEBUILDER_ASSETS` (envtest's convention), then the cache of earlier
 * builds. Otherwise checks whether Go can build them. Starts nothing and builds nothing.
 *
 * @throws InvalidInputError if `KUBERNETES` names a version that the repository has no Go module for
 */
export function findControlPlane(options: FindControlPlaneOptions = {}): ControlPlaneLookup {
  const programs = options.programs ?? defaultPrograms;
  // oxlint-disable-next-line node/no-process-env -- tests have no composition root; the option is there for those that do
  const environment = options.environment ?? process.env;
  const passedOver: string[] = [];

  const assets = environment["KUBEBUILDER_ASSETS"];
  if (assets !== undefined && assets !== "") {
    const lacking = missingPrograms(assets, programs);
    if (lacking.length === 0) return { status: "found", directory: resolve(assets), how: `KUBEBUILDER_ASSETS=${assets}` };
    passedOver.push(`KUBEBUILDER_ASSETS=${assets} has no ${lacking.join(", ")}`);
  }

  const moduleDirectory = options.moduleDirectory ?? chosenKubernetes(environment)?.moduleDirectory;
  const version = moduleDirectory === undefined ? undefined : requiredKubernetes(moduleDirectory);
  if (moduleDirectory === undefined || version === undefined) {
    return missing(passedOver, "the sources to build them from are only in the project's repository (tools/control-plane)", programs);
  }
  const directory = join(cacheDirectory("control-plane", environment), moduleHash(moduleDirectory));
  const unbuilt = missingPrograms(directory, programs);
  if (unbuilt.length === 0) return { status: "found", directory, how: [...passedOver, `built before, in ${directory}`].join("; ") };
  const go = onPath("go", environment["PATH"] ?? "");
  if (go === undefined)
    return missing(passedOver, "there is no Go on the PATH to build them with (https://go.dev/dl, 1.26 or newer)", programs);
  return {
    status: "buildable",
    source: { moduleDirectory, go, kubernetesVersion: version, directory, programs: unbuilt },
    how: [
      ...passedOver,
      `${unbuilt.join(", ")} of Kubernetes ${version} are built once with ${go} into ${directory}: some minutes and 2 GB of module and build cache`,
    ].join("; "),
  };
}

function missing(passedOver: readonly string[], reason: string, programs: readonly ControlPlaneProgram[]): ControlPlaneLookup {
  const remedy = `set KUBEBUILDER_ASSETS to a folder that holds ${programs.join(", ")}`;
  return { status: "missing", how: [...passedOver, reason, remedy].join("; ") };
}

function missingPrograms(directory: string, programs: readonly ControlPlaneProgram[]): ControlPlaneProgram[] {
  return programs.filter((program) => !isExecutable(join(directory, program)));
}

/** Path of a command according to a PATH. */
export function onPath(command: string, path: string): string | undefined {
  const directories = path.split(delimiter).filter((directory) => directory !== "");
  return directories.map((directory) => join(directory, command)).find(isExecutable);
}

/** Whether the file exists and is executable. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Folder for the programs that are built from a Go module of `tools/`. */
export function cacheDirectory(module: string, environment: Readonly<Record<string, string | undefined>>): string {
  const base = environment["XDG_CACHE_HOME"] || join(environment["HOME"] || homedir(), ".cache");
  return join(base, "virtual-kubelet", module);
}

function requiredKubernetes(moduleDirectory: string): string | undefined {
  try {
    return /^(?:require)?[ \t]+k8s\.io\/kubernetes (v\S+)/m.exec(readFileSync(join(moduleDirectory, "go.mod"), "utf8"))?.[1];
  } catch {
    return undefined;
  }
}

/** Hash that identifies a build, because `go.mod` and `go.sum` determine every source except the `.go` files in the same folder. */
export function moduleHash(moduleDirectory: string): string {
  const hash = createHash("sha256");
  const own = readdirSync(moduleDirectory).filter((name) => name.endsWith(".go"));
  for (const file of ["go.mod", "go.sum", ...own.toSorted()]) hash.update(readFileSync(join(moduleDirectory, file)));
  return hash.digest("hex").slice(0, 16);
}
