import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { TerminalError, UnavailableError } from "@virtual-kubelet/errdefs";
import { findControlPlane, type ControlPlaneSource, type FindControlPlaneOptions } from "./find-control-plane.ts";

/** Main packages of the programs; the names of their binaries are Go's. */
const packages: readonly string[] = [
  "go.etcd.io/etcd/server/v3",
  "k8s.io/kubernetes/cmd/kube-apiserver",
  "k8s.io/kubernetes/cmd/kube-controller-manager",
  "k8s.io/kubernetes/cmd/kube-scheduler",
  "k8s.io/kubernetes/cmd/kubectl",
  "sigs.k8s.io/kwok/cmd/kwok",
];

/** How {@link ensureControlPlane} works. */
export interface EnsureControlPlaneOptions extends FindControlPlaneOptions {
  /** Told once before a build, which takes minutes. */
  readonly onBuild?: ((how: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The folder that holds the control plane's programs, built first where need be.
 *
 * @throws UnavailableError if they can neither be found nor built; TerminalError if the build fails.
 */
export async function ensureControlPlane(options: EnsureControlPlaneOptions = {}): Promise<string> {
  const lookup = findControlPlane(options);
  if (lookup.status === "found") return lookup.directory;
  if (lookup.status === "missing") throw new UnavailableError(`find the programs of a Kubernetes control plane: ${lookup.how}`);
  options.onBuild?.(lookup.how);
  const output = await build(lookup.source, options.signal);
  try {
    return await keep(output, lookup.source.directory, options);
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}

/** Builds into a folder beside the final one, so that a build that is cut short leaves nothing that looks whole. */
async function build(source: ControlPlaneSource, signal: AbortSignal | undefined): Promise<string> {
  await mkdir(dirname(source.directory), { recursive: true });
  const output = await mkdtemp(`${source.directory}.building-`);
  try {
    const ldflags = `-s -w -X k8s.io/component-base/version.gitVersion=${source.kubernetesVersion}`;
    await promisify(execFile)(source.go, ["build", "-o", `${output}/`, "-ldflags", ldflags, ...packages], {
      cwd: source.moduleDirectory,
      maxBuffer: 64 * 1024 * 1024,
      ...(signal === undefined ? {} : { signal }),
    });
    await rename(join(output, "server"), join(output, "etcd"));
    return output;
  } catch (cause) {
    await rm(output, { recursive: true, force: true });
    signal?.throwIfAborted();
    throw new TerminalError(`build the control plane in ${source.moduleDirectory}`, { cause });
  }
}

/** Moves the build to its place; if another process was faster, its build is taken. */
async function keep(output: string, directory: string, options: FindControlPlaneOptions): Promise<string> {
  const lookup = findControlPlane(options);
  if (lookup.status === "found") return lookup.directory;
  await rm(directory, { recursive: true, force: true });
  await rename(output, directory);
  return directory;
}
