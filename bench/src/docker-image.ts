import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";

/** Where Debian's busybox-static is. */
const busybox = "/bin/busybox";
const forever = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";

/** Gives the engine an image of Busybox that runs until it is asked to end; removes it when disposed. */
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
