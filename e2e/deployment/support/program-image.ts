import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { busyboxFileSystem, importImage, type ImageFile } from "../../docker/support/busybox-image.ts";
import type { EngineApi } from "../../docker/support/engine-api.ts";

const imageFolder = fileURLToPath(new URL("../../../deploy/image", import.meta.url));

/** Default of the Dockerfile's `BASE`. It cannot be pulled here, so a stand-in of this name takes its place. */
const baseImage = "node:24-bookworm-slim";

/** Name of the program's image on the level's engine. */
export const programImage = { repository: "virtual-kubelet", tag: "test" };

/** Builds the program's image from the packed program, as `make image` does, without network. */
export async function buildProgramImage(api: EngineApi, contextFolder: string): Promise<void> {
  await importImage(api, baseImage, { bytes: await busyboxFileSystem(nodeFiles()), changes: [] });
  const bytes = execFileSync("tar", ["-c", "--owner=0", "--group=0", "-C", contextFolder, "app", "-C", imageFolder, "Dockerfile"], {
    maxBuffer: 2 ** 30,
  });
  const query = new URLSearchParams({
    t: `${programImage.repository}:${programImage.tag}`,
    buildargs: JSON.stringify({ VERSION: "1.2.3" }),
    networkmode: "none",
  });
  const { status, body } = await api.ask("POST", `/build?${query.toString()}`, bytes);
  if (status !== 200 || body.includes('"errorDetail"')) throw new Error(`build the program's image: ${status} ${body.slice(-2_000)}`);
}

/** This machine's Node.js with the libraries that it loads. */
function nodeFiles(): ImageFile[] {
  const program = realpathSync(process.execPath);
  const libraries = execFileSync("ldd", [program], { encoding: "utf8" }).match(/\/\S+\.so\S*/g) ?? [];
  return [
    { name: "usr/local/bin/node", mode: 0o755, content: readFileSync(program) },
    ...[...new Set(libraries)].map((path) => ({ name: path.slice(1), mode: 0o755, content: readFileSync(path) })),
  ];
}
