import { stat } from "node:fs/promises";
import type { Logger } from "@virtual-kubelet/kube-client";

const readableByOthers = 0o004;
const writableByOthers = 0o002;

/** Warns, with the command that fixes it, about a private key file that all users of the machine can read or change. */
export async function warnOfOpenKeyFile(path: string, logger: Logger): Promise<void> {
  const mode = await modeOf(path);
  if (mode === undefined || (mode & (readableByOthers | writableByOthers)) === 0) return;
  logger.warn(
    { file: path, mode: shown(mode), mend: `chmod 600 ${path}` },
    "every user of this machine can read or replace the node's private key; for a mounted secret set its defaultMode to 0400",
  );
}

/** Warns, with the command that fixes it, about a folder for certificates and keys that all users of the machine can write to. */
export async function warnOfOpenDirectory(path: string, logger: Logger): Promise<void> {
  const mode = await modeOf(path);
  if (mode === undefined || (mode & writableByOthers) === 0) return;
  logger.warn(
    { directory: path, mode: shown(mode), mend: `chmod 700 ${path}` },
    "every user of this machine can replace the node's certificates and keys",
  );
}

/** `undefined` if it cannot be determined; reading the file reports the reason. Windows has no such modes. */
async function modeOf(path: string): Promise<number | undefined> {
  if (process.platform === "win32") return undefined;
  return (await stat(path).catch(() => undefined))?.mode;
}

function shown(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}
