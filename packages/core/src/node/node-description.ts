import type { DeepReadonly, Node } from "@virtual-kubelet/kube-client";
import { isJsonObject, isLabelValue, isQualifiedName, tryParseQuantity } from "@virtual-kubelet/kubernetes";
import type { NodeDescription, NodeImage } from "../provider/node-provider.ts";
import { describedValue } from "../provider-calls/described-value.ts";
import { defaultCapacity, providerAvailableCondition, providerUnavailableTaint } from "./node-object.ts";
import { ownedKeysAnnotation, parseOwnedKeys, taintKey } from "./node-owned-keys.ts";

/** A description that the API server accepts, and the problems in the original. */
export interface CheckedDescription {
  readonly description: NodeDescription;
  /** One sentence for each omitted part, with the field and the expected value. */
  readonly problems: readonly string[];
}

/** Maximum length of a condition's message. */
const maxMessageLength = 1024;

/**
 * Copies a provider's description of its node without the parts that the API server would refuse, because one bad label must not
 * prevent updates of the node. The provider may change its own object afterwards.
 *
 * @param value - the result of `configureNode`, unchecked
 */
export function checkDescription(value: unknown): CheckedDescription {
  if (!isJsonObject(value)) return { description: {}, problems: [`the description is ${describedValue(value)}, expected an object`] };
  const problems: string[] = [];
  const description: NodeDescription = {
    capacity: checkMap("capacity", value["capacity"], isResource, "a resource name and a quantity of zero or more", problems),
    allocatable: checkMap("allocatable", value["allocatable"], isResource, "a resource name and a quantity of zero or more", problems),
    labels: checkMap(
      "labels",
      value["labels"],
      (key, text) => isQualifiedName(key) && isLabelValue(text),
      "a label's key and value",
      problems,
    ),
    annotations: checkMap("annotations", value["annotations"], isQualifiedName, "an annotation's key and a string", problems),
    taints: checkList(
      "taints",
      value["taints"],
      checkTaint,
      "a taint's key, value, and effect NoSchedule, PreferNoSchedule or NoExecute",
      problems,
    ),
    addresses: checkList("addresses", value["addresses"], checkAddress, "a type and an address", problems),
    conditions: checkList(
      "conditions",
      value["conditions"],
      checkCondition,
      "a type other than Ready, status True, False or Unknown, reason, message",
      problems,
    ),
    operatingSystem: checkOperatingSystem(value["operatingSystem"], problems),
    architecture: checkText("architecture", value["architecture"], problems),
    providerID: checkText("providerID", value["providerID"], problems),
    containerRuntimeVersion: checkText("containerRuntimeVersion", value["containerRuntimeVersion"], problems),
    osImage: checkText("osImage", value["osImage"], problems),
    kernelVersion: checkText("kernelVersion", value["kernelVersion"], problems),
    machineID: checkText("machineID", value["machineID"], problems),
    systemUUID: checkText("systemUUID", value["systemUUID"], problems),
    bootID: checkText("bootID", value["bootID"], problems),
    images: checkList("images", value["images"], checkImage, "names and sizeBytes", problems),
    declaredFeatures: checkFeatures(value["declaredFeatures"], problems),
  };
  return { description, problems };
}

/**
 * Reads the description from an existing node. It replaces that of a provider that does not answer, so that a restart during an outage
 * does not remove the node's capacity, addresses and labels.
 */
export function rememberedDescription(node: DeepReadonly<Node>): NodeDescription {
  const { status, metadata, spec } = node;
  const owned = parseOwnedKeys(metadata?.annotations?.[ownedKeysAnnotation]);
  const resources = [...Object.keys(defaultCapacity), ...owned.resources];
  // The API server writes an unset value as an empty string.
  type Told = "architecture" | "containerRuntimeVersion" | "osImage" | "kernelVersion" | "machineID" | "systemUUID" | "bootID";
  const told = (name: Told): string | undefined => status?.nodeInfo?.[name] || undefined;
  const remembered = {
    capacity: pick(status?.capacity, resources),
    allocatable: pick(status?.allocatable, resources),
    addresses: status?.addresses,
    operatingSystem: status?.nodeInfo?.operatingSystem,
    architecture: told("architecture"),
    labels: pick(metadata?.labels, owned.labels),
    annotations: pick(metadata?.annotations, owned.annotations),
    taints: spec?.taints?.filter((taint) => owned.taints.includes(taintKey(taint)) && taint.key !== providerUnavailableTaint.key),
    conditions: status?.conditions?.filter(({ type }) => owned.conditions.includes(type) && type !== providerAvailableCondition),
    providerID: spec?.providerID,
    containerRuntimeVersion: told("containerRuntimeVersion"),
    osImage: told("osImage"),
    kernelVersion: told("kernelVersion"),
    machineID: told("machineID"),
    systemUUID: told("systemUUID"),
    bootID: told("bootID"),
  };
  return checkDescription(remembered).description;
}

function checkFeatures(value: unknown, problems: string[]): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isName = (name: unknown): name is string => typeof name === "string" && /^[A-Za-z][A-Za-z0-9/]{0,99}$/.test(name);
  for (const name of names) if (!isName(name)) problems.push(`declaredFeatures has ${describedValue(name)}, expected names of features`);
  return names.filter(isName);
}

function checkMap(
  field: string,
  value: unknown,
  isValid: (key: string, text: string) => boolean,
  expected: string,
  problems: string[],
): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) {
    problems.push(`${field} is ${describedValue(value)}, expected an object`);
    return undefined;
  }
  const entries: [string, string][] = [];
  for (const [key, text] of Object.entries(value)) {
    if (typeof text === "string" && isValid(key, text)) entries.push([key, text]);
    else if (text !== undefined) problems.push(`${field}[${describedValue(key)}] is ${describedValue(text)}, expected ${expected}`);
  }
  return Object.fromEntries(entries);
}

function checkList<T>(
  field: string,
  value: unknown,
  check: (entry: Record<string, unknown>) => T | undefined,
  expected: string,
  problems: string[],
): T[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) {
    problems.push(`${field} is ${describedValue(value)}, expected a list`);
    return undefined;
  }
  return value.flatMap((entry: unknown, index) => {
    const checked = isJsonObject(entry) ? check(entry) : undefined;
    if (checked === undefined) problems.push(`${field}[${index}] is ${describedValue(entry)}, expected ${expected}`);
    return checked === undefined ? [] : [checked];
  });
}

function checkAddress({ type, address }: Record<string, unknown>): { type: string; address: string } | undefined {
  if (typeof type !== "string" || type === "" || typeof address !== "string" || address === "") return undefined;
  return { type, address };
}

type DescribedTaint = NonNullable<NodeDescription["taints"]>[number];

function checkTaint({ key, value, effect }: Record<string, unknown>): DescribedTaint | undefined {
  if (typeof key !== "string" || !isQualifiedName(key)) return undefined;
  if (effect !== "NoSchedule" && effect !== "PreferNoSchedule" && effect !== "NoExecute") return undefined;
  if (value === undefined || value === null) return { key, effect };
  return typeof value === "string" && isLabelValue(value) ? { key, value, effect } : undefined;
}

type Condition = NonNullable<NodeDescription["conditions"]>[number];

function checkCondition({ type, status, reason, message }: Record<string, unknown>): Condition | undefined {
  if (typeof type !== "string" || type === "" || type === "Ready") return undefined;
  if (status !== "True" && status !== "False" && status !== "Unknown") return undefined;
  const text = (value: unknown): string => (typeof value === "string" ? value.slice(0, maxMessageLength) : "");
  return { type, status, reason: text(reason), message: text(message) };
}

function checkImage({ names, sizeBytes }: Record<string, unknown>): NodeImage | undefined {
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string")) return undefined;
  return typeof sizeBytes === "number" && Number.isInteger(sizeBytes) && sizeBytes >= 0 ? { names, sizeBytes } : undefined;
}

function checkOperatingSystem(value: unknown, problems: string[]): NodeDescription["operatingSystem"] {
  if (value === undefined || value === null || value === "linux" || value === "windows") return value ?? undefined;
  problems.push(`operatingSystem is ${describedValue(value)}, expected linux or windows`);
  return undefined;
}

function checkText(field: string, value: unknown, problems: string[]): string | undefined {
  if (value === undefined || value === null || typeof value === "string") return value ?? undefined;
  problems.push(`${field} is ${describedValue(value)}, expected a string`);
  return undefined;
}

function isResource(key: string, text: string): boolean {
  const quantity = tryParseQuantity(text);
  return isQualifiedName(key) && quantity !== undefined && quantity.nano >= 0n;
}

function pick(map: Readonly<Record<string, string | undefined>> | undefined, keys: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => keys.includes(key)));
}
