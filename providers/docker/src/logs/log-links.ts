import type { Clock } from "@virtual-kubelet/clock";
import { makeDirectory, type Logger } from "@virtual-kubelet/core";
import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { hasFsCode } from "@virtual-kubelet/pod-runtime";
import type { Dirent } from "node:fs";
import { access, constants, lstat, readdir, readlink, rmdir, stat, symlink, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { containersFolder, logLinkPaths, pathsOf, podsFolder, readEngineLog, readPodFolder, type LogLinkPaths } from "./log-link-paths.ts";
import { failureAt, openFolder, pathIn } from "./open-folder.ts";

export interface LogLinksOptions {
  /** Folder that log shippers read, such as `/var/log`. */
  readonly folder: string;
  /** Whether links are required. If not, they are created only if the folder can be written. */
  readonly isRequired: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A container and its log at the engine. */
export interface EngineLog {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The engine's log file; empty if it has none. */
  readonly logPath: string;
}

/**
 * Minimum age of an empty pod folder before its removal, in milliseconds, because a kubelet on the same machine creates folders before it
 * fills them.
 */
const emptyFolderMs = 3_600_000;

/** Maximum tries for a link whose folder is being removed at the same time. */
const maxTries = 3;

/**
 * Links to containers' logs at a kubelet's paths, so that log shippers find them without configuration.
 *
 * Links have no recorded owner. A link is removed with its container, or by {@link sweep} once the container's folder is gone from the
 * engine's disk. Every program sees that alike, so several nodes and a kubelet can share the folder.
 */
export class LogLinks {
  readonly #options: LogLinksOptions;
  /** Links of containers, by id. */
  readonly #made = new Map<string, { readonly paths: LogLinkPaths; readonly logPath: string }>();
  /** Logs whose links could not be created. {@link sweep} tries again. */
  readonly #pending = new Map<string, EngineLog>();
  readonly #told = new Set<string>();
  #opening: Promise<string | undefined> | undefined;
  /** Last logged outcome of opening the folder; `undefined` before the first. */
  #toldOfFolder: string | undefined;

  constructor(options: LogLinksOptions) {
    this.#options = options;
  }

  /** If links are required, checks that they can be created. @throws UnavailableError naming the folder */
  async check(): Promise<void> {
    const reason = await this.#open();
    if (reason === undefined || !this.#options.isRequired) return;
    this.#opening = undefined;
    const { folder } = this.#options;
    throw new UnavailableError(`link containers' logs in ${folder}: ${reason}, or set log.links to false`);
  }

  /** Creates a container's links, unless they exist. Errors are logged, because the container runs without links, too; {@link sweep} tries again. */
  async link(log: EngineLog): Promise<void> {
    const { id, labels, logPath } = log;
    if (logPath === "" || this.#made.has(id)) return;
    if ((await this.#open()) !== undefined) return void this.#pending.set(id, log);
    const paths = logLinkPaths(this.#options.folder, id, labels);
    const target = readEngineLog(logPath);
    if (paths === undefined || target === undefined) return this.#tellOnce(log, "its names or its log's path are not as expected");
    try {
      if (await exists(target.folder)) {
        await makeLinks(this.#options.folder, paths, logPath);
        this.#made.set(id, { paths, logPath });
      } else if (!(await exists(target.parent))) {
        throw new Error(`${target.parent} is not there; if this program runs in a container, mount that folder at the same path`);
      }
      this.#pending.delete(id);
    } catch (error) {
      this.#pending.set(id, log);
      this.#tellOnce(log, messageOf(error));
    }
  }

  /** Removes the links of a container that was removed. */
  async unlink(id: string): Promise<void> {
    this.#pending.delete(id);
    const made = this.#made.get(id);
    if (made === undefined) return;
    this.#made.delete(id);
    await this.#remove(made.paths, made.logPath);
  }

  /**
   * Removes links to logs of containers that are gone, and pod folders that have been empty for an hour. Creates links that could not be
   * created before, such as on a full disk.
   *
   * @returns number of removed links
   * @throws only `signal.reason`
   */
  async sweep(signal: AbortSignal): Promise<number> {
    if ((await this.#open()) !== undefined) this.#opening = undefined;
    if ((await this.#open()) !== undefined) return 0;
    if (await isLink(podsFolder(this.#options.folder))) return 0;
    let removed = 0;
    for (const entry of await foldersIn(podsFolder(this.#options.folder))) {
      signal.throwIfAborted();
      const pod = readPodFolder(entry);
      if (pod === undefined) continue;
      const podFolder = join(podsFolder(this.#options.folder), entry);
      for (const container of await foldersIn(podFolder)) {
        removed += await this.#sweepContainer({ ...pod, container }, join(podFolder, container));
        await this.#removeOldEmpty(join(podFolder, container));
      }
      await this.#removeOldEmpty(podFolder);
    }
    // After the removals, which make room on a full disk.
    for (const log of [...this.#pending.values()]) {
      signal.throwIfAborted();
      await this.link(log);
    }
    return removed;
  }

  async #sweepContainer(
    owner: { readonly namespace: string; readonly name: string; readonly uid: string; readonly container: string },
    folder: string,
  ): Promise<number> {
    let removed = 0;
    for (const entry of await entriesIn(folder)) {
      const [, attempt] = /^(\d{1,9})\.log$/.exec(entry.name) ?? [];
      if (attempt === undefined || !entry.isSymbolicLink()) continue;
      const logPath = await targetOf(join(folder, entry.name));
      const log = logPath === undefined ? undefined : readEngineLog(logPath);
      // If the folder of all containers is missing, the engine's disk is not mounted.
      if (logPath === undefined || log === undefined || (await exists(log.folder)) || !(await exists(log.parent))) continue;
      const paths = pathsOf(this.#options.folder, { ...owner, attempt: Number(attempt), id: log.id });
      if (paths === undefined) continue;
      this.#made.delete(log.id);
      await this.#remove(paths, logPath);
      removed++;
    }
    return removed;
  }

  /** The container's link first: as long as the pod's link exists, the next sweep finds both. */
  async #remove({ podFolder, containerFolder, podLink, containerLink }: LogLinkPaths, logPath: string): Promise<void> {
    try {
      await removeLink(containerLink, podLink);
      await removeLink(podLink, logPath);
      await removeIfEmpty(containerFolder);
      await removeIfEmpty(podFolder);
    } catch (error) {
      this.#options.logger.warn({ err: error, link: podLink }, "links to a container's log could not be removed");
    }
  }

  async #removeOldEmpty(folder: string): Promise<void> {
    try {
      const { mtimeMs } = await lstat(folder);
      if (this.#options.clock.now() - mtimeMs > emptyFolderMs) await removeIfEmpty(folder);
    } catch (error) {
      if (!hasFsCode(error, "ENOENT")) this.#options.logger.warn({ err: error, folder }, "an empty folder of logs could not be removed");
    }
  }

  /** @returns the reason why links cannot be created, with a remedy; `undefined` if they can */
  #open(): Promise<string | undefined> {
    return (this.#opening ??= this.#prepare());
  }

  async #prepare(): Promise<string | undefined> {
    const { folder, isRequired } = this.#options;
    const reason = await this.#obstacle();
    if (reason === undefined) this.#tellOfFolder({ folder }, "containers' logs are linked where log shippers look for them");
    else if (!isRequired) this.#tellOfFolder({ folder, reason }, "log shippers find no logs: their folder cannot be used");
    return reason;
  }

  async #obstacle(): Promise<string | undefined> {
    const { folder } = this.#options;
    try {
      for (const path of [podsFolder(folder), containersFolder(folder)]) {
        if (await isLink(path)) return `${path} is a link, which a pod could have put there; bind-mount its target there instead`;
        await makeDirectory(path, 0o755);
        await access(path, constants.W_OK | constants.X_OK);
      }
      return undefined;
    } catch (error) {
      return `${messageOf(error)}; make it writable`;
    }
  }

  #tellOfFolder(fields: { readonly folder: string; readonly reason?: string }, message: string): void {
    const { reason = "" } = fields;
    if (this.#toldOfFolder === reason) return;
    this.#toldOfFolder = reason;
    this.#options.logger.info(fields, message);
  }

  #tellOnce({ id, logPath }: EngineLog, reason: string): void {
    if (this.#told.has(reason) || this.#told.size >= 100) return;
    this.#told.add(reason);
    this.#options.logger.warn({ container: id, logPath, reason }, "a container's log could not be linked for log shippers; logged once");
  }
}

async function makeLinks(root: string, { containerFolder, podLink, containerLink }: LogLinkPaths, logPath: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await makeDirectory(root, 0o755);
      await using ofPod = await openFolder(root, relative(root, containerFolder).split("/"));
      await makeLink(ofPod, podLink, logPath);
      await using ofContainers = await openFolder(root, relative(root, dirname(containerLink)).split("/"));
      await makeLink(ofContainers, containerLink, podLink);
      return;
    } catch (error) {
      // Another call has just removed the empty folder.
      if (tries >= maxTries || !hasFsCode(error, "ENOENT")) throw error;
    }
  }
}

/** Creates a link in an open folder, or replaces one with another target. @throws Error if something else is there */
async function makeLink(folder: FileHandle, shownPath: string, target: string): Promise<void> {
  const path = pathIn(folder, basename(shownPath));
  try {
    return await symlink(target, path);
  } catch (error) {
    if (!hasFsCode(error, "EEXIST")) throw failureAt(shownPath, error);
  }
  const held = await targetOf(path);
  if (held === target) return;
  if (held === undefined) throw new Error(`${shownPath} is there and is no link`);
  await unlink(path);
  await symlink(target, path);
}

async function removeLink(path: string, target: string): Promise<void> {
  if ((await targetOf(path)) === target) await unlink(path).catch(ignoring("ENOENT"));
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(ignoring("ENOENT", "ENOTEMPTY", "EEXIST", "ENOTDIR"));
}

/** Target of a link; `undefined` for anything else. */
async function targetOf(path: string): Promise<string | undefined> {
  return readlink(path).catch(ignoring("ENOENT", "EINVAL", "ENOTDIR"));
}

async function isLink(path: string): Promise<boolean> {
  return (await targetOf(path)) !== undefined;
}

/** Whether a path exists. One that cannot be read counts as existing. */
async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => !hasFsCode(error, "ENOENT", "ENOTDIR"),
  );
}

async function foldersIn(folder: string): Promise<string[]> {
  return (await entriesIn(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function entriesIn(folder: string): Promise<Dirent[]> {
  return (await readdir(folder, { withFileTypes: true }).catch(ignoring("ENOENT", "ENOTDIR", "EACCES"))) ?? [];
}

/** Ignores errors of the file system with these codes. */
function ignoring(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (!hasFsCode(error, ...codes)) throw error;
  };
}
