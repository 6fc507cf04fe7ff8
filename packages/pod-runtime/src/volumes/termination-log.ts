import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { hasFsCode } from "./fs-code.ts";

/** Most that is read of a termination message, in bytes. Source: MaxContainerTerminationMessageLength of kubernetes v1.36.3. */
const maxMessageBytes = 4096;

/** Makes an empty file that every user may write to, unless it is there. */
export async function createTerminationLog(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  await using file = await open(path, O_CREAT | O_NOFOLLOW | O_WRONLY, 0o666);
  await file.chmod(0o666);
}

/** The end of what a container wrote, at most 4096 bytes; empty if there is none. */
export async function readTerminationLog(path: string): Promise<string> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  try {
    await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { size } = await file.stat();
    const length = Math.min(size, maxMessageBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString("utf8", 0, bytesRead);
  } catch (error) {
    if (hasFsCode(error, "ENOENT", "ENOTDIR")) return "";
    throw error;
  }
}
