import { isAbsolute, join } from "node:path";
import type { LoadedSettings } from "../config/load-settings.ts";
import type { Context } from "../context.ts";

/** Root's state folder, by the Filesystem Hierarchy Standard. */
const systemStateDirectory = "/var/lib/virtual-kubelet";

/** Name of the folder in a node's folder. */
export const certFolder = "pki";

type StateContext = Pick<Context, "env" | "homeDir" | "isRoot">;

/** A folder for certificates, and whether the user chose it. */
export interface CertDirectory {
  /** Absolute. */
  readonly directory: string;
  readonly isChosen: boolean;
}

/** The folder in the settings, or else the default one. */
export function certDirectoryOf(nodeName: string, { settings, resolvePath }: LoadedSettings, context: Context): CertDirectory {
  const { certDirectory } = settings.kubelet;
  if (certDirectory === undefined) return { directory: defaultCertDirectory(nodeName, context), isChosen: false };
  return { directory: resolvePath(["kubelet", "certDirectory"], certDirectory), isChosen: true };
}

/**
 * Default of `--cert-dir`: folder for a node's serving certificate, its key and its pending request, so that a restart does not make a new
 * request. It is below systemd's `STATE_DIRECTORY` if that is set, or else below root's or the user's state folder.
 */
export function defaultCertDirectory(nodeName: string, context: StateContext): string {
  return join(stateDirectory(context), nodeName, certFolder);
}

/** Folder that has a folder for each node. */
export function stateDirectory({ env, homeDir, isRoot }: StateContext): string {
  // systemd separates several folders with colons.
  const [given = ""] = (env["STATE_DIRECTORY"] ?? "").split(":");
  if (isAbsolute(given)) return given;
  if (isRoot) return systemStateDirectory;
  const userState = env["XDG_STATE_HOME"] ?? "";
  // The XDG specification says to ignore relative paths.
  return join(isAbsolute(userState) ? userState : join(homeDir, ".local/state"), "virtual-kubelet");
}
