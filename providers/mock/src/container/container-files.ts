import type { Clock, PodRef, ProviderHost } from "@virtual-kubelet/core";
import { isInvalidInput, isNotFound } from "@virtual-kubelet/errdefs";
import type { ContainerSpec } from "./container-spec.ts";
import { MemoryFiles } from "../files/memory-files.ts";
import { Device, MemoryDirectory, MemoryFile, Quota } from "../files/memory-node.ts";
import { subPathOf, toDirectory } from "../files/volume-tree.ts";

/** Maximum bytes that the containers of one pod may write. */
const maxBytesOfPod = 64 * 1024 ** 2;

/** Identifies a run of a container. Each run starts with new files. */
export interface ContainerRun {
  readonly name: string;
  readonly restartCount: number;
}

/** Files of a pod's containers and volumes. Created when the first command runs, which most pods never have. */
export class PodFiles {
  readonly #ref: PodRef;
  readonly #clock: Clock;
  readonly #quota: Quota = new Quota(maxBytesOfPod);
  readonly #scratch = new Map<string, MemoryDirectory>();
  readonly #containers = new Map<string, { readonly restartCount: number; readonly files: MemoryFiles }>();

  constructor(ref: PodRef, clock: Clock) {
    this.#ref = ref;
    this.#clock = clock;
  }

  /** The container's files, with the current content of its volumes. */
  async open(
    { name, restartCount }: ContainerRun,
    { mounts }: ContainerSpec,
    volumes: { readonly payloads: readonly string[]; readonly resolvePod: ProviderHost["resolvePod"] },
    signal: AbortSignal,
  ): Promise<MemoryFiles> {
    const known = this.#containers.get(name);
    const files = known?.restartCount === restartCount ? known.files : this.#newFiles();
    this.#containers.set(name, { restartCount, files });
    const nowMs = this.#clock.now();
    for (const { volume, path, subPath, readOnly } of mounts) {
      const directory = volumes.payloads.includes(volume)
        ? await payloadOf(volumes.resolvePod, this.#ref, volume, nowMs, signal)
        : this.#scratchVolume(volume, readOnly);
      const node = directory && subPath ? subPathOf(directory, subPath, nowMs) : directory;
      if (node) files.mount(path, node);
    }
    return files;
  }

  #newFiles(): MemoryFiles {
    const modifiedMs = this.#clock.now();
    const files = new MemoryFiles({ root: new MemoryDirectory({ modifiedMs }), quota: this.#quota, nowMs: () => this.#clock.now() });
    for (const path of ["/root", "/tmp", "/etc", "/dev", "/var", "/mnt"]) files.makeDirectory(path);
    files.mount("/dev/null", new Device("null", modifiedMs));
    files.mount("/dev/zero", new Device("zero", modifiedMs));
    files.mount("/etc/hostname", new MemoryFile({ mode: 0o644, modifiedMs, content: Buffer.from(`${this.#ref.name}\n`) }));
    return files;
  }

  /** Volume for emptyDir and all types whose content the mock does not have: initially empty, and shared by the pod's containers. */
  #scratchVolume(name: string, readOnly: boolean): MemoryDirectory {
    const directory = this.#scratch.get(name) ?? new MemoryDirectory({ mode: 0o777, modifiedMs: this.#clock.now() });
    this.#scratch.set(name, directory);
    if (!readOnly) return directory;
    const view = new MemoryDirectory({ modifiedMs: directory.modifiedMs, readOnly: true });
    for (const [entry, node] of directory.entries) view.entries.set(entry, node);
    return view;
  }
}

/** A volume that cannot be read is left out, and the command runs nevertheless. */
async function payloadOf(
  resolvePod: ProviderHost["resolvePod"],
  ref: PodRef,
  volume: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<MemoryDirectory | undefined> {
  try {
    return toDirectory(await resolvePod(ref).volume(volume, signal), nowMs);
  } catch (error) {
    if (isInvalidInput(error) || isNotFound(error)) return undefined;
    throw error;
  }
}
