import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DeepReadonly, Pod, ResolvedPod, VolumePayload } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";

/** Beginning of the paths at which files are mounted: containers share the machine's file system. */
const mountablePrefix = "/tmp/suite-";

/** Files of a pod's volumes, below a folder of the pod. A mount is a symbolic link to its volume. */
export class ProcessMounts implements Disposable {
  readonly #directory: string;
  readonly #links: string[] = [];
  readonly #over = new AbortController();

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Writes the volumes that the pod's containers mount at paths of the tests, and follows their changes.
   *
   * @throws UnsupportedError for a part of a volume; what `resolved` throws
   */
  static async mount(
    { spec }: DeepReadonly<Pod>,
    resolved: ResolvedPod,
    { directory, signal }: { readonly directory: string; readonly signal: AbortSignal },
  ): Promise<ProcessMounts> {
    const mounts = new ProcessMounts(directory);
    const wanted = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap(({ volumeMounts = [] }) =>
      volumeMounts.filter(({ mountPath }) => mountPath.startsWith(mountablePrefix)),
    );
    for (const { name, mountPath, subPath } of wanted) {
      if (subPath !== undefined) throw new UnsupportedError(`mount of ${mountPath}: subPath is not supported`);
      const isEmpty = spec?.volumes?.find((volume) => volume.name === name)?.emptyDir !== undefined;
      if (isEmpty) mkdirSync(join(mounts.#folderOf(name), "..data"), { recursive: true });
      else mounts.#write(name, await resolved.volume(name, signal));
      mounts.#link(name, mountPath);
      if (!isEmpty) void mounts.#follow(name, resolved);
    }
    return mounts;
  }

  /** Removes the mounts. The volumes are removed with the pod's folder. */
  [Symbol.dispose](): void {
    this.#over.abort(new Error("the pod is gone"));
    for (const link of this.#links) rmSync(link, { force: true });
  }

  async #follow(name: string, resolved: ResolvedPod): Promise<void> {
    try {
      for await (const payload of resolved.watchVolume(name, this.#over.signal)) this.#write(name, payload);
    } catch {
      // The pod is gone, or its object is: its files stay.
    }
  }

  /** Replaces the files at once, as a kubelet does. */
  #write(name: string, { files }: VolumePayload): void {
    const folder = this.#folderOf(name);
    const fresh = join(folder, "..new");
    rmSync(fresh, { recursive: true, force: true });
    mkdirSync(fresh, { recursive: true });
    for (const { path, mode, content } of files) {
      mkdirSync(dirname(join(fresh, path)), { recursive: true });
      writeFileSync(join(fresh, path), content, { mode: mode | 0o400 });
    }
    rmSync(join(folder, "..data"), { recursive: true, force: true });
    renameSync(fresh, join(folder, "..data"));
  }

  #link(name: string, mountPath: string): void {
    if (this.#links.includes(mountPath)) return;
    mkdirSync(dirname(mountPath), { recursive: true });
    rmSync(mountPath, { recursive: true, force: true });
    symlinkSync(join(this.#folderOf(name), "..data"), mountPath);
    this.#links.push(mountPath);
  }

  #folderOf(name: string): string {
    return join(this.#directory, "volumes", name);
  }
}
