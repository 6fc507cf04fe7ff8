import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { hasFsCode } from "./fs-code.ts";

/**
 * A pod's folder on the node: `ROOT/pods/UID`, laid out as a kubelet's.
 *
 * - `volumes/KIND/NAME`: a volume's files, KIND as `kubernetes.io~empty-dir`
 * - `volume-subpaths/VOLUME/CONTAINER/INDEX`: where a subPath is mounted
 * - `containers/NAME/ATTEMPT`: the termination message of one start of a container
 *
 * Secrets are in `ROOT/memory/UID` instead, which is in memory where the program may mount it.
 */
export class PodDirectory {
  /** The folder itself. */
  readonly path: string;
  /** Where what holds secrets is. */
  readonly memoryPath: string;

  /**
   * @param root - of all pods' folders: an absolute path
   * @throws InvalidInputError for a UID that is no name of a folder
   */
  constructor(root: string, uid: string) {
    this.path = join(root, "pods", folderName("pod UID", uid));
    this.memoryPath = join(root, "memory", uid);
  }

  /** Where a volume is. @param kind - such as `kubernetes.io~empty-dir` */
  volume(kind: string, name: string): string {
    return join(this.path, "volumes", folderName("volume kind", kind), folderName("volume", name));
  }

  /** Where a volume is that holds secrets. */
  secretVolume(kind: string, name: string): string {
    return join(this.memoryPath, folderName("volume kind", kind), folderName("volume", name));
  }

  /** Where a path within a volume, or a path of the node, is mounted for a container. */
  subPath(volume: string, container: string, index: number): string {
    return join(this.path, "volume-subpaths", folderName("volume", volume), folderName("container", container), String(index));
  }

  /** Where one start of a container leaves its termination message. @param attempt - from 0 */
  terminationLog(container: string, attempt: number): string {
    return join(this.path, "containers", folderName("container", container), String(attempt));
  }

  /** Makes the folder; idempotent. */
  async create(): Promise<void> {
    try {
      // Made with the folders above it, what stands in the way would not be named.
      await mkdir(this.path, { mode: 0o750 });
    } catch (error) {
      if (hasFsCode(error, "ENOENT")) await mkdir(this.path, { recursive: true, mode: 0o750 });
      else if (!hasFsCode(error, "EEXIST")) throw error;
    }
  }
}

/** A name that is one folder and leads nowhere else; the API server gives out no others. */
function folderName(what: string, name: string): string {
  if (isFolderName(name)) return name;
  throw new InvalidInputError(`find the folder of ${what} ${JSON.stringify(name)}: expected letters, digits, ".", "_" and "-"`);
}

/** Whether a name is one of those that folders of pods have. */
export function isFolderName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._~-]{0,200}$/.test(name);
}
