import { posix } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** Of a file system, in bytes. */
const maxPathLength = 4096;
const maxNameLength = 255;

/**
 * The path of a file within a volume, cleaned.
 * Source: validatePath in kubernetes v1.36.3 pkg/volume/util/atomic_writer.go.
 *
 * @throws InvalidInputError for a path that leads out of the volume, or that no file system takes
 */
export function volumeFilePath(path: string): string {
  if (path === "") throw new InvalidInputError(`invalid path: must not be empty: ""`);
  if (path.startsWith("/")) throw new InvalidInputError(`invalid path: must be relative path: ${path}`);
  if (Buffer.byteLength(path) > maxPathLength) {
    throw new InvalidInputError(`invalid path: must be less than or equal to ${maxPathLength} characters`);
  }
  const names = path.split("/");
  for (const name of names) {
    if (name === "..") throw new InvalidInputError(`invalid path: must not contain '..': ${path}`);
    if (Buffer.byteLength(name) > maxNameLength) {
      throw new InvalidInputError(`invalid path: filenames must be less than or equal to ${maxNameLength} characters`);
    }
  }
  // The kubelet keeps its own links under such names; and no path may be the volume itself.
  if (names[0]?.startsWith("..")) throw new InvalidInputError(`invalid path: must not start with '..': ${path}`);
  if (path.includes("\0")) throw new InvalidInputError("invalid path: must not contain a null character");
  const clean = posix.normalize(path).replace(/\/+$/, "");
  if (clean === ".") throw new InvalidInputError(`invalid path: must name a file: ${path}`);
  return clean;
}
