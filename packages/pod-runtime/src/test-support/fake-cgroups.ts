import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdir, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { PodCgroups, type PodCgroupsOptions } from "../cgroup/pod-cgroups.ts";
import { tempFolder, type TempFolder } from "./temp-folder.ts";

/** A machine's cgroups as plain folders. Tests write the files that a kernel would. */
export class FakeCgroups implements AsyncDisposable {
  readonly version: 1 | 2;
  readonly clock: VirtualClock = new VirtualClock();
  /** Warnings in the log. */
  readonly warnings: string[] = [];
  /** Folders with processes, by the end of their path, and the number of removals that still fail. */
  readonly busy: Map<string, number> = new Map();
  readonly #folder: TempFolder;

  private constructor(version: 1 | 2, folder: TempFolder) {
    this.version = version;
    this.#folder = folder;
  }

  /** Opens empty hierarchies. */
  static async open(version: 1 | 2): Promise<FakeCgroups> {
    const cgroups = new FakeCgroups(version, await tempFolder());
    if (version === 2) {
      await writeFile(join(cgroups.root, "cgroup.controllers"), "cpu memory pids");
      await writeFile(join(cgroups.root, "cgroup.subtree_control"), "cpu memory pids");
    } else {
      for (const name of ["cpu,cpuacct", "memory", "pids"]) {
        await mkdir(join(cgroups.root, name));
        await writeFile(join(cgroups.root, name, "release_agent"), "");
      }
    }
    return cgroups;
  }

  get root(): string {
    return this.#folder.path;
  }

  pods(more: Partial<PodCgroupsOptions> = {}): PodCgroups {
    const logger = { ...silentLogger, warn: (_: unknown, message: string) => void this.warnings.push(message) };
    const { root, clock } = this;
    return new PodCgroups({
      driver: () => Promise.resolve("cgroupfs"),
      clock,
      logger,
      root,
      cpus: 4,
      removeFolder: (folder) => this.#remove(folder),
      ...more,
    });
  }

  /** Content of a cgroup's file; `undefined` if there is none. In version 1 the first word of the file's name is its controller. */
  async read(path: string, file: string): Promise<string | undefined> {
    return readFile(join(this.hierarchy(file), path, file), "utf8").catch(() => undefined);
  }

  /** Writes a cgroup's file, as a kernel or a runtime does. */
  async put(path: string, file: string, value: string): Promise<void> {
    const target = join(this.hierarchy(file), path, file);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, value);
  }

  /** Names of everything in a cgroup, in all hierarchies. */
  async names(path: string): Promise<readonly string[]> {
    const roots = this.version === 2 ? [this.root] : ["cpu,cpuacct", "memory", "pids"].map((name) => join(this.root, name));
    const found = await Promise.all(roots.map((root) => readdir(join(root, path), { withFileTypes: true }).catch(() => [])));
    return [...new Set(found.flat().flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])))].sort();
  }

  /** Advances the clock until a call has ended. */
  async pass<T>(call: Promise<T>): Promise<T> {
    let isOver = false;
    const ended = call.finally(() => (isOver = true));
    while (!isOver) {
      await this.clock.advance(50);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }

  private hierarchy(file: string): string {
    if (this.version === 2) return this.root;
    return join(this.root, file.startsWith("cpu") ? "cpu,cpuacct" : file.startsWith("pids") ? "pids" : "memory");
  }

  /** Like the kernel, removes a cgroup's files with it, but neither processes nor other cgroups. */
  async #remove(folder: string): Promise<void> {
    for (const [end, tries] of this.busy) {
      if (!folder.endsWith(end) || tries === 0) continue;
      this.busy.set(end, tries - 1);
      throw Object.assign(new Error(`EBUSY: rmdir ${folder}`), { code: "EBUSY" });
    }
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries) if (entry.isFile()) await rm(join(folder, entry.name));
    await rmdir(folder);
  }
}
