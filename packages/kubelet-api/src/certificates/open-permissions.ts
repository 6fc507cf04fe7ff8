import { stat } from "node:fs/promises";
import type { Logger } from "@virtual-kubelet/kube-client";

const readableByOthers = 0o004;
const writableByOthers = 0o002;

/** Warns of a file with a private key that everybody on the machine can read or change, with the command that mends it. */
export async function warnOfOpenKeyFile(path: string, logger: Logger): Promise<void> {
  const mode = await modeOf(path);
  if (mode === undefined || (mode & (readableByOthers | writableByOthers)) === 0) return;
  logger.warn(
    { file: path, mode: shown(mode), mend: `chmod 600 ${path}` },
    "every user of this machine can get the private key of the node's server; for a mounted secret set its defaultMode to 0400",
  );
}

/** Warns of a folder for certificates and keys that everybody on the machine can put files into, with the command that mends it. */
export async function warnOfOpenDirectory(path: string, logger: Logger): Promise<void> {
  const mode = await modeOf(path);
  if (mode === undefined || (mode & writableByOthers) === 0) return;
  logger.warn(
    { directory: path, mode: shown(mode), mend: `chmod 700 ${path}` },
    "every user of this machine can put other certificates and keys in the place of the node's",
  );
}

/** `undefined` where it cannot be told; who reads the file says why. Windows has no such modes. */
async function modeOf(path: string): Promise<number | undefined> {
  if (process.platform === "win32") return undefined;
  return (await stat(path).catch(() => undefined))?.mode;
}

function shown(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}
