import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { hasFsCode } from "./fs-code.ts";

/** Maximum bytes read of a termination message. Source: MaxContainerTerminationMessageLength of kubernetes v1.36.3. */
const maxMessageBytes = 4096;

/** Creates an empty, world-writable file, unless it exists. */
export async function createTerminationLog(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  await using file = await open(path, O_CREAT | O_NOFOLLOW | O_WRONLY, 0o666);
  await file.chmod(0o666);
}

/** Last 4,096 bytes of a termination message; empty if there is none. */
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
