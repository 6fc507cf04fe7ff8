import type { ConfigSchema } from "@virtual-kubelet/core";

/**
 * Keys of aws-fargate's TOML file, and the settings that replace them.
 * Source: virtual-kubelet/aws-fargate config.go (providerConfig).
 */
const originalKeys: Readonly<Record<string, string>> = {
  Region: "region",
  ClusterName: "cluster",
  Subnets: "subnets",
  SecurityGroups: "securityGroups",
  AssignPublicIPv4Address: "assignPublicIp",
  ExecutionRoleArn: "executionRoleArn",
  CloudWatchLogGroupName: "logGroup",
  PlatformVersion: "platformVersion",
  OperatingSystem: "operatingSystem",
  CPU: "cpu",
  Memory: "memory",
  Storage: "storage",
  Pods: "pods",
};

/** Renames aws-fargate's keys. A setting that is given under both names keeps the value of the new name; the rest is returned as it is. */
export function withOriginalKeys(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const entries = Object.entries(input);
  const given = new Set(entries.map(([key]) => key));
  const renamed = entries.flatMap(([key, value]): [string, unknown][] => {
    const setting = Object.hasOwn(originalKeys, key) ? originalKeys[key] : undefined;
    if (setting === undefined) return [[key, value]];
    if (given.has(setting) || isUnset(value)) return [];
    return [[setting, setting === "operatingSystem" && typeof value === "string" ? value.toLowerCase() : value]];
  });
  return Object.fromEntries(renamed);
}

/** aws-fargate read an empty text as an absent setting. */
function isUnset(value: unknown): boolean {
  return value === "";
}

/** Names problems by the keys that the configuration has. */
export function withOriginalPaths<Config>(
  result: ReturnType<ConfigSchema<Config>["safeParse"]>,
  config: unknown,
): ReturnType<ConfigSchema<Config>["safeParse"]> {
  if (result.success || typeof config !== "object" || config === null) return result;
  const given = new Map(Object.entries(originalKeys).flatMap(([key, own]) => (key in config && !(own in config) ? [[own, key]] : [])));
  const issues = result.error.issues.map((issue) => {
    const [first = "", ...rest] = issue.path;
    return { ...issue, path: issue.path.length === 0 ? [] : [given.get(String(first)) ?? first, ...rest] };
  });
  return { success: false, error: { issues } };
}
