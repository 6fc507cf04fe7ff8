import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DockerConfig } from "../config.ts";

/** The NVIDIA driver has a folder here for each GPU. */
const driverFolder = "/proc/driver/nvidia/gpus";

/** Ids of the node's GPUs: the configured ones, or those of the machine. */
export async function gpusOf({ gpus }: Pick<DockerConfig, "gpus">): Promise<readonly string[]> {
  return gpus === "auto" ? hostGpus() : gpus;
}

/** Ids of this machine's NVIDIA GPUs in the engine's form: the UUID, else the index. Empty without the driver. */
export async function hostGpus(folder: string = driverFolder): Promise<readonly string[]> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch {
    return [];
  }
  return Promise.all(names.sort().map(async (name, index) => (await uuidOf(join(folder, name, "information"))) ?? String(index)));
}

async function uuidOf(path: string): Promise<string | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  return /^GPU UUID:\s+(GPU-[0-9a-f-]{36})\s*$/im.exec(text)?.[1];
}
