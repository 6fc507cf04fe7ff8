import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/**
 * A part of an image's files on the disk, through links as long as they stay in the image. Nobody writes to these files, so
 * what was looked at is what is mounted.
 * Source: `ensureImageSubPath` of containerd v2.3 internal/cri/server/container_image_mount.go, which takes folders alone.
 *
 * @param root - folder of the image's files, with links resolved
 * @throws InvalidInputError for a part that is not there, or leads out
 */
export async function imageSubPath(root: string, subPath: string): Promise<string> {
  if (subPath === "") return root;
  const fail = (problem: string): never => {
    throw new InvalidInputError(`failed to ensure image subpath ${JSON.stringify(subPath)}: ${problem}`);
  };
  const path = await realpath(join(root, subPath)).catch((error: unknown) => fail(problemOf(error)));
  return path === root || path.startsWith(`${root}/`) ? path : fail("it leads out of the image");
}

/** Without the path: it is the machine's. */
function problemOf(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  const problems: Readonly<Record<string, string>> = { ENOENT: "no such file or directory", ENOTDIR: "not a directory" };
  return problems[String(code)] ?? String(code);
}
