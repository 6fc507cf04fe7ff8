import { isAbsolute, join } from "node:path";
import type { LoadedSettings } from "../config/load-settings.ts";
import type { Context } from "../context.ts";

/** The folder of the program's state as root, by the Filesystem Hierarchy Standard. */
const systemStateDirectory = "/var/lib/virtual-kubelet";

/** A folder for certificates, and whether somebody chose it. */
export interface CertDirectory {
  /** Absolute. */
  readonly directory: string;
  readonly isChosen: boolean;
}

/** The folder that the settings name, else the default one. */
export function certDirectoryOf(nodeName: string, { settings, resolvePath }: LoadedSettings, context: Context): CertDirectory {
  const { certDirectory } = settings.kubelet;
  if (certDirectory === undefined) return { directory: defaultCertDirectory(nodeName, context), isChosen: false };
  return { directory: resolvePath(["kubelet", "certDirectory"], certDirectory), isChosen: true };
}

/**
 * Where a node's serving certificate, its key and its pending request are kept where `--cert-dir` says nothing, so that a restart
 * makes no new request. systemd names the folder in `STATE_DIRECTORY`; else it is root's or the user's.
 */
export function defaultCertDirectory(nodeName: string, { env, homeDir, isRoot }: Pick<Context, "env" | "homeDir" | "isRoot">): string {
  // systemd lists several with colons between.
  const [given = ""] = (env["STATE_DIRECTORY"] ?? "").split(":");
  if (isAbsolute(given)) return join(given, nodeName, "pki");
  if (isRoot) return join(systemStateDirectory, nodeName, "pki");
  const userState = env["XDG_STATE_HOME"] ?? "";
  // The specification has relative paths ignored.
  return join(isAbsolute(userState) ? userState : join(homeDir, ".local/state"), "virtual-kubelet", nodeName, "pki");
}
