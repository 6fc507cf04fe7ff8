import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import type { EngineApi } from "./engine-api.ts";

/** Path of Debian's busybox-static. */
const busyboxProgram = "/bin/busybox";

const passwd = "root:x:0:0:root:/root:/bin/sh\nmail:x:8:8:mail:/:/bin/false\napp:x:1000:1000:app:/home/app:/bin/sh\n";
const group = "root:x:0:\nmail:x:8:\napp:x:1000:\nextra:x:2000:app\n";

/** Script that runs until it is told to stop and reaps orphaned processes, as the first process of a sandbox must. */
const pause = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";

/** Images that tests use, with changes to their configuration. None can be pulled here. */
const images: Readonly<Record<string, readonly string[]>> = {
  "busybox:1.37": ['CMD ["sh"]'],
  "registry.k8s.io/pause:3.10": [`ENTRYPOINT ["/bin/sh","-c",${JSON.stringify(pause)}]`],
  "busybox-user:1.37": ['CMD ["sh"]', "USER app"],
  "busybox-entrypoint:1.37": ['ENTRYPOINT ["echo","entry"]', 'CMD ["command"]', "ENV FROM_IMAGE=yes", "WORKDIR /tmp"],
};

/** A file of an image. */
export interface ImageFile {
  readonly name: string;
  readonly mode: number;
  readonly content: Buffer | string;
}

/** A file system as tar with Busybox under all its names, three users, and the given files. */
export async function busyboxFileSystem(files: readonly ImageFile[] = []): Promise<Buffer> {
  const archive = pack();
  const bytes = buffer(archive);
  for (const name of ["bin", "etc", "home", "home/app", "root"]) archive.entry({ name, type: "directory", mode: 0o755 });
  archive.entry({ name: "tmp", type: "directory", mode: 0o1777 });
  archive.entry({ name: "bin/busybox", mode: 0o755 }, readFileSync(busyboxProgram));
  archive.entry({ name: "etc/passwd" }, passwd);
  archive.entry({ name: "etc/group" }, group);
  const applets = execFileSync(busyboxProgram, ["--list"], { encoding: "utf8" }).trim().split("\n");
  const isGiven = (name: string): boolean => name === "bin/busybox" || files.some((file) => file.name === name);
  for (const applet of applets)
    if (!isGiven(`bin/${applet}`)) archive.entry({ name: `bin/${applet}`, type: "symlink", linkname: "busybox" });
  for (const { name, mode, content } of files) archive.entry({ name, mode }, content);
  archive.finalize();
  return bytes;
}

/** Imports the images that the engine does not have. @returns an object that removes them when disposed */
export async function importImages(engine: EngineApi): Promise<AsyncDisposable> {
  await using made = new AsyncDisposableStack();
  let bytes: Buffer | undefined;
  for (const [image, changes] of Object.entries(images)) {
    if ((await engine.ask("GET", `/images/${image}/json`)).status === 200) continue;
    bytes ??= await busyboxFileSystem();
    await importImage(engine, image, { bytes, changes });
    made.defer(async () => void (await engine.ask("DELETE", `/images/${image}?force=1`)));
  }
  return made.move();
}

/** Creates an image from a file system. @throws Error with the engine's message */
export async function importImage(
  engine: EngineApi,
  image: string,
  { bytes, changes }: { readonly bytes: Buffer; readonly changes: readonly string[] },
): Promise<void> {
  const [, repo = "", tag = ""] = /^(.*):([^:]*)$/.exec(image) ?? [];
  const query = new URLSearchParams([
    ["fromSrc", "-"],
    ["repo", repo],
    ["tag", tag],
    ...changes.map((change): [string, string] => ["changes", change]),
  ]);
  const { status, body } = await engine.ask("POST", `/images/create?${query.toString()}`, bytes);
  if (status !== 200 || body.includes('"errorDetail"')) throw new Error(`import image ${image}: ${status} ${body.trim()}`);
  if ((await engine.ask("GET", `/images/${image}/json`)).status === 200) return;
  // podman 4.3 ignores the tag.
  const [id = ""] = /sha256:[0-9a-f]{64}/.exec(body) ?? [];
  const tagged = await engine.ask("POST", `/images/${id}/tag?${new URLSearchParams({ repo, tag }).toString()}`);
  if (tagged.status !== 201) throw new Error(`tag image ${image}: ${tagged.status} ${tagged.body.trim()}`);
}
