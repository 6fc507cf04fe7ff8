import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/**
 * Resolves a path within an image's files. Links may not lead out of the image. The files never change, so the result stays valid. Source:
 * `ensureImageSubPath` of containerd v2.3 internal/cri/server/container_image_mount.go, which accepts only folders.
 *
 * @param root - folder of the image's files, with links resolved
 * @throws InvalidInputError for a path that does not exist, or leads out
 */
export async function imageSubPath(root: string, subPath: string): Promise<string> {
  if (subPath === "") return root;
  const fail = (problem: string): never => {
    throw new InvalidInputError(`failed to ensure image subpath ${JSON.stringify(subPath)}: ${problem}`);
  };
  const path = await realpath(join(root, subPath)).catch((error: unknown) => fail(problemOf(error)));
  return path === root || path.startsWith(`${root}/`) ? path : fail("it leads out of the image");
}

/** Leaves out the path, because it is the machine's. */
function problemOf(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  const problems: Readonly<Record<string, string>> = { ENOENT: "no such file or directory", ENOTDIR: "not a directory" };
  return problems[String(code)] ?? String(code);
}
