import type { Patch } from "@virtual-kubelet/kube-client";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** Lists that a strategic merge joins by a key; the others are replaced. Source: patchMergeKey in k8s.io/api core/v1. */
const mergeKeys: Readonly<Record<string, string>> = {
  conditions: "type",
  addresses: "type",
  podIPs: "ip",
  hostIPs: "ip",
  ownerReferences: "uid",
  containers: "name",
  initContainers: "name",
  ephemeralContainers: "name",
  volumes: "name",
  env: "name",
};

/** The object with the patch on it; the object given stays as it is. Conditions of JSON patches must hold. */
export function applyPatch<T>(object: T, patch: Patch): T {
  const target = structuredClone(object) as Json;
  const body = JSON.parse(JSON.stringify(patch.body)) as Json;
  switch (patch.type) {
    case "json":
      return (body as JsonObject[]).reduce(applyOperation, target) as T;
    case "merge":
      return mergeValue(target, body, false) as T;
    case "strategic":
      return mergeValue(target, body, true) as T;
  }
}

function mergeValue(target: Json, patch: Json, strategic: boolean): Json {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = isObject(target) && patch["$patch"] !== "replace" ? target : {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith("$")) continue;
    const mergeKey = strategic ? mergeKeys[key] : undefined;
    if (value === null) delete merged[key];
    else if (mergeKey !== undefined && Array.isArray(value)) merged[key] = mergeList(merged[key], value, mergeKey);
    else merged[key] = mergeValue(merged[key] ?? null, value, strategic);
  }
  return merged;
}

function mergeList(target: Json | undefined, patch: Json[], mergeKey: string): Json[] {
  const replace = patch.some((item) => isObject(item) && item["$patch"] === "replace");
  const merged: Json[] = replace || !Array.isArray(target) ? [] : target;
  for (const item of patch) {
    if (!isObject(item) || item["$patch"] === "replace") continue;
    const index = merged.findIndex((other) => isObject(other) && other[mergeKey] === item[mergeKey]);
    if (item["$patch"] === "delete") {
      if (index >= 0) merged.splice(index, 1);
    } else if (index >= 0 && !replace) merged[index] = mergeValue(merged[index] ?? null, item, true);
    else merged.push(mergeValue(null, item, true));
  }
  return merged;
}

function applyOperation(target: Json, operation: JsonObject): Json {
  const path = String(operation["path"])
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = path.pop() ?? "";
  const parent = path.reduce<Json | undefined>((value, part) => child(value, part), target);
  if (operation["op"] === "test") {
    if (JSON.stringify(child(parent, last)) !== JSON.stringify(operation["value"]))
      throw new Error(`test of ${String(operation["path"])} failed`);
  } else if (Array.isArray(parent)) {
    const index = last === "-" ? parent.length : Number(last);
    parent.splice(index, operation["op"] === "add" ? 0 : 1, ...(operation["op"] === "remove" ? [] : [operation["value"] ?? null]));
  } else if (isObject(parent)) {
    if (operation["op"] === "remove") delete parent[last];
    else parent[last] = operation["value"] ?? null;
  } else throw new Error(`no such path: ${String(operation["path"])}`);
  return target;
}

function child(value: Json | undefined, part: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(part)];
  return isObject(value) ? value[part] : undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
