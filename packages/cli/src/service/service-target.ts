import { isAbsolute, join } from "node:path";
import { isOn, valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { defaults } from "../config/defaults.ts";
import type { Context } from "../context.ts";
import { UsageError } from "../program-error.ts";

/** Which systemd has the unit: the machine's, or that of the user. */
type Scope = "system" | "user";

/** Where a unit is, and where its secret variables are. */
export interface ServiceTarget {
  /** Without `.service`. */
  readonly name: string;
  readonly scope: Scope;
  /** Absolute paths. */
  readonly unitFile: string;
  readonly environmentFile: string;
}

/** Maximum length of a unit's name without its suffix. Source: systemd.unit(5). */
const maxNameLength = 255 - ".service".length;

/**
 * The unit that the flags name.
 *
 * @param nodeNames - nodes of the settings, by which the unit is called unless `--name` is given
 * @throws UsageError
 */
export function serviceTarget(line: CommandLine, nodeNames: readonly string[], context: Pick<Context, "env" | "homeDir">): ServiceTarget {
  const scope: Scope = isOn(line, "user") ? "user" : "system";
  const name = nameOf(line, nodeNames);
  const folders = scope === "user" ? userFolders(context) : { units: "/etc/systemd/system", settings: "/etc/virtual-kubelet" };
  return { name, scope, unitFile: join(folders.units, `${name}.service`), environmentFile: join(folders.settings, `${name}.env`) };
}

function nameOf(line: CommandLine, nodeNames: readonly string[]): string {
  const given = valueOf(line, "name");
  if (given === undefined) {
    const [node, ...others] = nodeNames;
    return node === undefined || others.length > 0 || node === defaults.nodeName ? "virtual-kubelet" : `virtual-kubelet-${node}`;
  }
  const name = given.replace(/\.service$/, "");
  if (/^[A-Za-z0-9][\w.-]*$/.test(name) && name.length <= maxNameLength) return name;
  throw new UsageError(`--name: ${JSON.stringify(given)}: expected letters, digits, '-', '_' and '.', such as virtual-kubelet-east`);
}

function userFolders({ env, homeDir }: Pick<Context, "env" | "homeDir">): { readonly units: string; readonly settings: string } {
  const given = env["XDG_CONFIG_HOME"] ?? "";
  // The XDG specification says to ignore relative paths.
  const folder = isAbsolute(given) ? given : join(homeDir, ".config");
  return { units: join(folder, "systemd/user"), settings: join(folder, "virtual-kubelet") };
}
