import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";

/** Path of Debian's busybox-static. */
const busybox = "/bin/busybox";
const forever = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";

/** Imports a Busybox image into the engine. Its command runs until it is told to stop. Disposing removes the image. */
export async function importBusybox(docker: Docker, tag: string): Promise<AsyncDisposable> {
  const directory = mkdtempSync(join(tmpdir(), "bench-image-"));
  const archive = join(directory, "image.tar");
  const root = join(directory, "root");
  for (const folder of ["bin", "tmp", "etc"]) mkdirSync(join(root, folder), { recursive: true });
  copyFileSync(busybox, join(root, "bin/busybox"));
  for (const name of ["sh", "sleep"]) symlinkSync("busybox", join(root, "bin", name));
  execFileSync("tar", ["-C", root, "-cf", archive, "."]);
  const [repo, version] = tag.split(":");
  const stream = await docker.importImage(archive, { repo, tag: version, changes: [`CMD ["/bin/sh","-c",${JSON.stringify(forever)}]`] });
  await new Promise((resolve, reject) => stream.on("error", reject).on("end", resolve).resume());
  rmSync(directory, { recursive: true, force: true });
  return { [Symbol.asyncDispose]: async () => void (await docker.getImage(tag).remove({ force: true })) };
}
