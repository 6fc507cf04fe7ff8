import { messageOf, NotFoundError } from "@virtual-kubelet/errdefs";
import { readdir, readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { z } from "zod";

/** Supported versions of the CNI specification, the newest first. */
const knownVersions = ["1.1.0", "1.0.0", "0.4.0", "0.3.1", "0.3.0"] as const;

/** A version of the CNI specification. */
export type CniVersion = (typeof knownVersions)[number];

/** A plugin's configuration, as in its file. */
export interface PluginConfig {
  readonly type: string;
  readonly capabilities?: Readonly<Record<string, boolean>> | undefined;
  readonly [field: string]: unknown;
}

/** A network: a list of plugins that are called in order. */
export interface NetworkList {
  readonly name: string;
  readonly cniVersion: CniVersion;
  /** Whether CHECK must not be called. */
  readonly disableCheck: boolean;
  readonly plugins: readonly PluginConfig[];
}

// A plugin's type is the name of its program.
const plugin = z.looseObject({
  type: z.string().regex(/^[^/\0]+$/, "expected the name of a program"),
  capabilities: z.record(z.string(), z.boolean()).optional(),
});
const name = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/, "expected letters, digits, underscores, dots and dashes");
const isDisabled = z.union([z.boolean(), z.stringbool()]).default(false);

/** Source: CNI specification 1.1.0, section 1, Network configuration. */
const listSchema = z.object({
  name,
  cniVersion: z.string().optional(),
  cniVersions: z.array(z.string()).optional(),
  disableCheck: isDisabled,
  plugins: z.array(plugin).min(1, "expected at least one plugin"),
});

/** A file with a single plugin: the older form, which is still valid. */
const singleSchema = plugin.extend({ name, cniVersion: z.string().optional() });

/**
 * The network of a folder: the first file by name with valid content, as with containerd and CRI-O.
 *
 * @throws NotFoundError with the error of each file, or if there are no files
 */
export async function readNetworkList(confDir: string): Promise<NetworkList> {
  const problems: string[] = [];
  for (const file of await configFiles(confDir)) {
    try {
      return parseNetworkList(await readFile(join(confDir, file), "utf8"), { isList: file.endsWith(".conflist") });
    } catch (error) {
      problems.push(`${file}: ${messageOf(error)}`);
    }
  }
  throw new NotFoundError(`no network configuration in ${confDir}${problems.length === 0 ? "" : `: ${problems.join("; ")}`}`);
}

async function configFiles(confDir: string): Promise<string[]> {
  try {
    const names = await readdir(confDir);
    return names.filter((each) => /\.(conflist|conf|json)$/.test(each)).toSorted();
  } catch (cause) {
    throw new NotFoundError(`no network configuration: ${confDir} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** Parses a configuration. @throws Error that names the fault */
export function parseNetworkList(text: string, { isList }: { readonly isList: boolean }): NetworkList {
  const content: unknown = JSON.parse(text);
  if (!isList) {
    const { name: only, cniVersion, ...own } = parsed(singleSchema, content);
    return { name: only, cniVersion: chosenVersion([cniVersion]), disableCheck: false, plugins: [own] };
  }
  const { cniVersion, cniVersions = [], ...list } = parsed(listSchema, content);
  return { ...list, cniVersion: chosenVersion([...cniVersions, cniVersion]) };
}

function parsed<T>(schema: z.ZodType<T>, content: unknown): T {
  const result = schema.safeParse(content);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => `${path.join(".") || "content"}: ${message}`);
  throw new Error(issues.join(", "));
}

/** The newest version that both sides support. @param offered - the file's preferred version last */
function chosenVersion(offered: readonly (string | undefined)[]): CniVersion {
  const chosen = knownVersions.find((known) => offered.includes(known));
  if (chosen !== undefined) return chosen;
  throw new Error(`cniVersion: ${offered.at(-1) ?? "none"}: expected one of ${knownVersions.join(", ")}`);
}

/** Whether a version is at least another. */
export function isVersionAtLeast(one: CniVersion, other: CniVersion): boolean {
  return knownVersions.indexOf(one) <= knownVersions.indexOf(other);
}

/** Whether a plugin's `ipam` contains an IPv6 range or address. False for plugins that request addresses elsewhere, such as `dhcp`. */
export function hasIPv6Range({ plugins }: NetworkList): boolean {
  return plugins.some((each) => containsIPv6Range(each["ipam"]));
}

function containsIPv6Range(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).some(containsIPv6Range);
  return typeof value === "string" && value.includes("/") && isIPv6(value.slice(0, value.indexOf("/")));
}
