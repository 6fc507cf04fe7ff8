import { resolve } from "node:path";
import type { Context } from "../context.ts";
import { valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { ConfigError } from "../program-error.ts";
import { mergeLayers, valueAt, type ConfigPath, type Merged, type Source } from "./layers.ts";
import { expandNodes, type NodeEntry } from "./node-names.ts";
import { describeProblems, nameBySource } from "./problems.ts";
import { readConfigFile, type ConfigFile } from "./read-file.ts";
import { configApiVersion, configJsonSchema, configKind, settingsSchema } from "./schema.ts";
import { envEntries, flagEntries, settingWarnings } from "./setting-entries.ts";
import type { Settings } from "./settings.ts";

/** The configuration with its sources. */
export interface LoadedSettings {
  readonly settings: Settings;
  /** Merged layers, before defaults. */
  readonly merged: Merged;
  /** Warnings about deprecated and obsolete settings, one line each. */
  readonly warnings: readonly string[];
  /**
   * Entry of {@link merged} that a node of {@link settings} comes from: an entry with a count stands for several nodes.
   *
   * @param node - index of the node in the settings
   * @throws RangeError if there is no such node
   */
  entryOf(node: number): NodeEntry;
  /** Name of a path in {@link settings} for the user, by its source. */
  nameOf(path: ConfigPath): string;
  /** Makes a path in a setting absolute: relative to the file if the file sets it, otherwise to the working directory. */
  resolvePath(path: ConfigPath, value: string): string;
}

/**
 * Reads the configuration. Flags override environment variables, which override the file, which overrides the defaults.
 *
 * @throws ConfigError with one line for each problem
 */
export async function loadSettings(line: CommandLine, context: Context): Promise<LoadedSettings> {
  return checkLayers(await readLayers(line, context), line, context);
}

/** Checks merged layers, and applies defaults. @throws ConfigError with one line for each problem */
export function checkLayers(layers: UncheckedSettings, line: CommandLine, context: Context): LoadedSettings {
  const { merged, nodeCount, nameOf, resolvePath } = layers;
  const parsed = settingsSchema.safeParse(merged.value);
  if (!parsed.success) {
    throw new ConfigError(
      describeProblems(parsed.error.issues, { input: merged.value, jsonSchema: configJsonSchema(), nameOf }).join("\n"),
    );
  }
  const { nodes, entries } = expandNodes(parsed.data.nodes);
  const entryOf = (node: number): NodeEntry => {
    const entry = entries[node];
    if (!entry) throw new RangeError(`the settings have no node ${node}`);
    return entry;
  };
  const inMerged = (path: ConfigPath): ConfigPath => {
    const [list, index, ...rest] = path;
    return list === "nodes" && typeof index === "number" ? [list, entryOf(index).index, ...rest] : path;
  };
  return {
    settings: { ...parsed.data, nodes },
    merged,
    warnings: settingWarnings(line.flags, context.env, nodeCount),
    entryOf,
    nameOf: (path) => nameOf(inMerged(path)),
    resolvePath: (path, value) => resolvePath(inMerged(path), value),
  };
}

/** The merged layers before they are checked, for commands that need few of the settings. */
export type UncheckedSettings = Pick<LoadedSettings, "merged" | "nameOf" | "resolvePath"> & {
  /** Number of entries for nodes in the configuration. */
  readonly nodeCount: number;
};

/**
 * Reads and merges the layers without checking them.
 *
 * @throws ConfigError for a file that cannot be read, and for a malformed label
 */
export async function readLayers(line: CommandLine, context: Context): Promise<UncheckedSettings> {
  const file = configFileOf(line, context);
  const base = file ? await readSettingsFile(file) : { apiVersion: configApiVersion, kind: configKind, nodes: [{}] };
  const baseSource: Source = file ? { kind: "file", file: file.shown } : { kind: "default" };
  const nodes = valueAt(base, ["nodes"]);
  const nodeCount = Array.isArray(nodes) ? nodes.length : 0;

  const entries = [...envEntries(context.env, nodeCount), ...flagEntries(line.flags, nodeCount)];
  const merged = mergeLayers(base, baseSource, entries);
  return {
    merged,
    nodeCount,
    nameOf: nameBySource(merged.sourceOf, file?.shown),
    resolvePath: (path, value) => {
      const folder = file && merged.sourceOf(path).kind === "file" ? resolve(file.path, "..") : context.cwd;
      return absolutePath(folder, value, context);
    },
  };
}

/** Makes a path absolute; `~` is the home folder. */
export function absolutePath(folder: string, path: string, { homeDir }: Pick<Context, "homeDir">): string {
  return resolve(folder, path.replace(/^~(?=\/|$)/, homeDir));
}

function configFileOf(line: CommandLine, { env, cwd }: Context): ConfigFile | undefined {
  const given = valueOf(line, "config");
  const shown = given ?? env["VKUBELET_CONFIG"];
  if (shown === undefined || shown === "") return undefined;
  return { path: resolve(cwd, shown), shown, setting: given === undefined ? "VKUBELET_CONFIG" : "--config" };
}

/** The file's object. A node is added if there is none, so that flags alone can configure it. */
async function readSettingsFile(file: ConfigFile): Promise<object> {
  const content = await readConfigFile(file);
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new ConfigError(`${file.shown}: expected an object with apiVersion: ${configApiVersion} and kind: ${configKind}`);
  }
  return { nodes: [{}], ...content };
}
