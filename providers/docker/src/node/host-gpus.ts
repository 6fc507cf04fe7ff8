import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Where the NVIDIA driver tells of its GPUs, a folder each. */
const driverFolder = "/proc/driver/nvidia/gpus";

/**
 * Ids of this machine's NVIDIA GPUs, as the engine takes them; none without the driver. A GPU whose UUID the driver does not
 * tell goes by its number.
 */
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
