import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { hasFsCode } from "./fs-code.ts";

/**
 * Paths of a pod's folder on the node: `ROOT/pods/UID`, with a kubelet's layout.
 *
 * - `volumes/KIND/NAME`: a volume's files, with KIND such as `kubernetes.io~empty-dir`
 * - `volume-subpaths/VOLUME/CONTAINER/INDEX`: the mount of a subPath
 * - `containers/NAME/ATTEMPT`: the termination message of one start of a container
 *
 * Secrets are in `ROOT/memory/UID`, which is in memory where the program may mount it.
 */
export class PodDirectory {
  readonly path: string;
  /** Folder for secrets. */
  readonly memoryPath: string;

  /**
   * @param root - folder of all pods' folders: an absolute path
   * @throws InvalidInputError for a UID that is not a valid folder name
   */
  constructor(root: string, uid: string) {
    this.path = join(root, "pods", folderName("pod UID", uid));
    this.memoryPath = join(root, "memory", uid);
  }

  /** Path of a volume. @param kind - such as `kubernetes.io~empty-dir` */
  volume(kind: string, name: string): string {
    return join(this.path, "volumes", folderName("volume kind", kind), folderName("volume", name));
  }

  /** Path of a volume with secrets. */
  secretVolume(kind: string, name: string): string {
    return join(this.memoryPath, folderName("volume kind", kind), folderName("volume", name));
  }

  /** Path at which a subPath or a path of the node is mounted for a container. */
  subPath(volume: string, container: string, index: number): string {
    return join(this.path, "volume-subpaths", folderName("volume", volume), folderName("container", container), String(index));
  }

  /** Path of the termination message of one start of a container. @param attempt - from 0 */
  terminationLog(container: string, attempt: number): string {
    return join(this.path, "containers", folderName("container", container), String(attempt));
  }

  /** Creates the folder. Idempotent. */
  async create(): Promise<void> {
    try {
      // Not recursive, so that an error names the folder.
      await mkdir(this.path, { mode: 0o750 });
    } catch (error) {
      if (hasFsCode(error, "ENOENT")) await mkdir(this.path, { recursive: true, mode: 0o750 });
      else if (!hasFsCode(error, "EEXIST")) throw error;
    }
  }
}

/** Checks that a name is a single folder. The API server allows no other names. */
function folderName(what: string, name: string): string {
  if (isFolderName(name)) return name;
  throw new InvalidInputError(`find the folder of ${what} ${JSON.stringify(name)}: expected letters, digits, ".", "_" and "-"`);
}

/** Whether a name is valid for a pod's folder. */
export function isFolderName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._~-]{0,200}$/.test(name);
}
