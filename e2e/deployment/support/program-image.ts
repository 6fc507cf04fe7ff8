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

/** Name of the embedded API server's image on the level's engine. */
export const apiServerImage = "embedded-apiserver:test";

/** Imports the base of the images. */
export async function importBaseImage(api: EngineApi): Promise<void> {
  await importImage(api, baseImage, { bytes: await busyboxFileSystem(nodeFiles()), changes: [] });
}

/** Builds the program's image from the packed program, as `make image` does, without network. */
export async function buildProgramImage(api: EngineApi, contextFolder: string): Promise<void> {
  const words = ["-C", contextFolder, "app", "-C", imageFolder, "Dockerfile"];
  await build(api, words, { t: `${programImage.repository}:${programImage.tag}` });
}

/** Builds the embedded API server's image, as `make image IMAGE=embedded-apiserver` does, without network. */
export async function buildApiServerImage(api: EngineApi, contextFolder: string): Promise<void> {
  const dockerfile = "embedded-apiserver.Dockerfile";
  await build(api, ["-C", contextFolder, "app", "volumes", "-C", imageFolder, dockerfile], { t: apiServerImage, dockerfile });
}

/** @param words - for tar: what the build context consists of */
async function build(api: EngineApi, words: readonly string[], parameters: Readonly<Record<string, string>>): Promise<void> {
  const bytes = execFileSync("tar", ["-c", "--owner=0", "--group=0", ...words], { maxBuffer: 2 ** 30 });
  const query = new URLSearchParams({ ...parameters, buildargs: JSON.stringify({ VERSION: "1.2.3" }), networkmode: "none" });
  const { status, body } = await api.ask("POST", `/build?${query.toString()}`, bytes);
  if (status !== 200 || body.includes('"errorDetail"')) throw new Error(`build ${parameters["t"] ?? ""}: ${status} ${body.slice(-2_000)}`);
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
