import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import type { BackEndManifest, DiscoveryHost, NeededRights, NodeDiscovery, ProviderDefinition } from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { formatPath, mergeLayers, type ConfigPath } from "../config/layers.ts";
import type { LoadedSettings } from "../config/load-settings.ts";
import { describeProblems } from "../config/problems.ts";
import { readConfigFile } from "../config/read-file.ts";
import type { NodeSettings } from "../config/settings.ts";
import type { Context } from "../context.ts";
import { ConfigError } from "../program-error.ts";
import { loadProvider } from "./load-provider.ts";
import { providerEnvironment } from "./provider-environment.ts";

/** A node's provider with its validated configuration. */
export interface ProviderSetup {
  readonly definition: ProviderDefinition;
  readonly config: unknown;
  /** Fields that were set from environment variables. */
  readonly filledIn: readonly FilledField[];
}

/** A field of a provider's configuration, and the variable that sets it. */
interface FilledField {
  readonly field: string;
  readonly variable: string;
}

/**
 * Loads the provider of one node and checks its configuration, including values from the environment.
 *
 * @param index - index of the node in the settings
 * @throws ConfigError with one line for each problem
 */
export async function setUpProvider(
  loaded: LoadedSettings,
  index: number,
  { cwd, env }: Pick<Context, "cwd" | "env">,
): Promise<ProviderSetup> {
  const node = loaded.settings.nodes[index];
  if (!node) throw new RangeError(`the settings have no node ${index}`);
  const definition = await loadProvider(node.provider, { cwd, setting: loaded.nameOf(["nodes", index, "provider"]) });
  const written = await readProviderConfig(loaded, node, index);
  const jsonSchema = definition.configSchema.toJSONSchema?.({ io: "input" });
  const entries = providerEnvironment(jsonSchema, written.config, env);
  const { value: config, sourceOf } = mergeLayers(written.config, { kind: "default" }, entries);
  const parsed = definition.configSchema.safeParse(config);
  if (parsed.success) {
    const filledIn = entries.flatMap(({ path, source }) =>
      source.kind === "env" ? [{ field: formatPath(path), variable: source.name }] : [],
    );
    return { definition, config, filledIn };
  }
  const nameOf = (path: ConfigPath): string => {
    const source = sourceOf(path);
    return source.kind === "env" ? source.name : written.nameOf(path);
  };
  throw new ConfigError(describeProblems(parsed.error.issues, { input: config, jsonSchema, nameOf }).join("\n"));
}

/** Whether the provider, with this configuration, provisions volumes for claims. */
export function provisionsVolumes({ definition, config }: ProviderSetup): boolean {
  const parsed = definition.configSchema.safeParse(config);
  return parsed.success && (definition.provisioners?.(parsed.data) ?? []).length > 0;
}

/** The nodes of the back end, if the provider's configuration asks for a virtual node for each of them; otherwise `undefined`. */
function nodeDiscovery({ definition, config }: ProviderSetup, host: DiscoveryHost): NodeDiscovery | undefined {
  const parsed = definition.configSchema.safeParse(config);
  return parsed.success ? definition.discoverNodes?.(host, parsed.data) : undefined;
}

/** Whether {@link nodeDiscovery} finds nodes with this configuration. */
export function discoversNodes(setup: ProviderSetup): boolean {
  const telemetry = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: systemRandom };
  return nodeDiscovery(setup, { prefix: "", clusterId: "", ...telemetry }) !== undefined;
}

/** Rights at the cluster's API server that the provider itself uses with this configuration. */
export function neededRights({ definition, config }: ProviderSetup): readonly NeededRights[] {
  const parsed = definition.configSchema.safeParse(config);
  return parsed.success ? (definition.neededRights?.(parsed.data) ?? []) : [];
}

/** What an administrator of the back end applies there; `undefined` for a back end that is no Kubernetes cluster. */
export function backEndManifest({ definition, config }: ProviderSetup, nodeName: string): BackEndManifest | undefined {
  const parsed = definition.configSchema.safeParse(config);
  return parsed.success ? definition.backEndManifest?.(parsed.data, { nodeName }) : undefined;
}

async function readProviderConfig(
  loaded: LoadedSettings,
  { providerConfig, providerConfigFile }: NodeSettings,
  index: number,
): Promise<{ config: unknown; nameOf: (path: ConfigPath) => string }> {
  if (providerConfigFile === undefined) {
    const place = ["nodes", index, "providerConfig"];
    return { config: providerConfig ?? {}, nameOf: (path) => loaded.nameOf([...place, ...path]) };
  }
  const place = ["nodes", index, "providerConfigFile"];
  const file = { path: loaded.resolvePath(place, providerConfigFile), shown: providerConfigFile, setting: loaded.nameOf(place) };
  const config = (await readConfigFile(file)) ?? {};
  return { config, nameOf: (path) => (path.length > 0 ? `${providerConfigFile}: ${formatPath(path)}` : providerConfigFile) };
}
