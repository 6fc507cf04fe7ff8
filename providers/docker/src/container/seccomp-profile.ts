import { readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/**
 * Reads the seccomp profile that a pod names, because engines accept its content, not its path.
 *
 * @param folder - folder of the profiles; files outside are not read
 * @throws InvalidInputError if it does not exist, or is malformed
 */
export async function readSeccompProfile(folder: string, name: string, signal: AbortSignal): Promise<string> {
  const what = `read seccomp profile ${JSON.stringify(name)} in ${folder}`;
  if (name === "" || name.startsWith("/") || name.split("/").includes("..")) {
    throw new InvalidInputError(`${what}: expected a path below that folder`);
  }
  let text: string;
  try {
    const path = await realpath(join(folder, name));
    if (!path.startsWith(`${await realpath(folder)}${sep}`))
      throw new InvalidInputError(`${what}: it is a link that leads out of that folder`);
    text = await readFile(path, { encoding: "utf8", signal });
    JSON.parse(text);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InvalidInputError) throw error;
    const said = error instanceof Error && "code" in error && error.code === "ENOENT" ? "there is none" : "expected a file in JSON";
    throw new InvalidInputError(`${what}: ${said}`, { cause: error });
  }
  return text;
}
