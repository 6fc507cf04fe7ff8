import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { TerminalError, UnavailableError } from "@virtual-kubelet/errdefs";
import { findControlPlane, type ControlPlaneProgram, type ControlPlaneSource, type FindControlPlaneOptions } from "./find-control-plane.ts";

/** Main package of each program. */
const mainPackages: Readonly<Record<ControlPlaneProgram, string>> = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
  "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
};

/** Options of {@link ensureControlPlane}. */
export interface EnsureControlPlaneOptions extends FindControlPlaneOptions {
  /** Called once before a build, which takes minutes. */
  readonly onBuild?: ((how: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns the folder that holds the programs, after building the missing ones.
 *
 * @throws UnavailableError if programs can neither be found nor built; TerminalError if the build fails; InvalidInputError if
 * `KUBERNETES` names a version that the repository has no Go module for
 */
export async function ensureControlPlane(options: EnsureControlPlaneOptions = {}): Promise<string> {
  const lookup = findControlPlane(options);
  if (lookup.status === "found") return lookup.directory;
  if (lookup.status === "missing") throw new UnavailableError(`find the programs of a Kubernetes control plane: ${lookup.how}`);
  options.onBuild?.(lookup.how);
  await build(lookup.source, options.signal);
  return lookup.source.directory;
}

/** Builds in a temporary folder and moves each finished program, so that an interrupted build leaves nothing behind. */
async function build(source: ControlPlaneSource, signal: AbortSignal | undefined): Promise<void> {
  await mkdir(source.directory, { recursive: true });
  const output = await mkdtemp(`${source.directory}.building-`);
  try {
    const ldflags = `-s -w -X k8s.io/component-base/version.gitVersion=${source.kubernetesVersion}`;
    const packages = source.programs.map((program) => mainPackages[program]);
    await promisify(execFile)(source.go, ["build", "-o", `${output}/`, "-ldflags", ldflags, ...packages], {
      cwd: source.moduleDirectory,
      maxBuffer: 64 * 1024 * 1024,
      ...(signal === undefined ? {} : { signal }),
    });
    // Go names the program of a package `…/server/v3` "server".
    for (const program of source.programs)
      await rename(join(output, program === "etcd" ? "server" : program), join(source.directory, program));
  } catch (cause) {
    signal?.throwIfAborted();
    throw new TerminalError(`build the control plane in ${source.moduleDirectory}`, { cause });
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}
