import type { ConfigSchema } from "@virtual-kubelet/core";
import { isJsonObject } from "@virtual-kubelet/kubernetes";

/** Keys of the original provider's TOML file. Source: azure-aci v1.6.4 pkg/provider/config.go. */
const originalKeys: Readonly<Record<string, string>> = {
  ResourceGroup: "resourceGroup",
  Region: "region",
  OperatingSystem: "operatingSystem",
  CPU: "cpu",
  Memory: "memory",
  Pods: "pods",
  SubnetName: "subnetName",
  SubnetCIDR: "subnetCidr",
};

/** Returns a configuration with the original provider's keys renamed. A key in the present spelling takes precedence. */
export function withOriginalKeys(config: unknown): unknown {
  if (!isJsonObject(config)) return config;
  const renamed = Object.entries(config).flatMap(([key, value]) => {
    const own = Object.hasOwn(originalKeys, key) ? originalKeys[key] : undefined;
    return own === undefined || own in config ? [] : [[own, value] as const];
  });
  const kept = Object.entries(config).filter(([key]) => !Object.hasOwn(originalKeys, key));
  return Object.fromEntries([...renamed, ...kept]);
}

/** Names problems by the keys that the configuration has. */
export function withOriginalPaths<Config>(
  result: ReturnType<ConfigSchema<Config>["safeParse"]>,
  config: unknown,
): ReturnType<ConfigSchema<Config>["safeParse"]> {
  if (result.success || !isJsonObject(config)) return result;
  const given = new Map(Object.entries(originalKeys).flatMap(([key, own]) => (key in config && !(own in config) ? [[own, key]] : [])));
  const issues = result.error.issues.map((issue) => {
    const [first = "", ...rest] = issue.path;
    return { ...issue, path: issue.path.length === 0 ? [] : [given.get(String(first)) ?? first, ...rest] };
  });
  return { success: false, error: { issues } };
}
