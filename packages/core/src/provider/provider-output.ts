import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ProviderPod, ProviderPodList, ProviderPodStatus } from "./provider.ts";

const phases: ReadonlySet<unknown> = new Set([undefined, "Pending", "Running", "Succeeded", "Failed", "Unknown"]);
const statusLists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;

/**
 * Checks a status a provider reported and copies it: afterwards the provider may change its own.
 *
 * @param source - the method that returned it, for the message
 * @throws InvalidInputError naming the field
 */
export function checkStatus(status: unknown, source: string): ProviderPodStatus {
  if (!isObject(status)) throw malformed(source, "status", status, "an object");
  if (!phases.has(status["phase"])) throw malformed(source, "phase", status["phase"], "Pending, Running, Succeeded or Failed");
  for (const list of ["podIPs", "conditions"] as const) {
    const entries = status[list];
    if (entries !== undefined && entries !== null && !Array.isArray(entries)) throw malformed(source, list, entries, "a list");
  }
  for (const list of statusLists) {
    const statuses = status[list];
    if (statuses === undefined || statuses === null) continue;
    if (!Array.isArray(statuses)) throw malformed(source, list, statuses, "a list");
    for (const [index, entry] of statuses.entries()) {
      const name: unknown = isObject(entry) ? entry["name"] : undefined;
      if (typeof name !== "string" || name === "") throw malformed(source, `${list}[${index}].name`, name, "the container's name");
    }
  }
  return copyJson(status) as ProviderPodStatus;
}

/** Checks and copies one pod of an inventory. @throws InvalidInputError naming the field */
export function checkPod(pod: unknown, source: string): ProviderPod {
  if (!isObject(pod)) throw malformed(source, "pod", pod, "an object");
  const { ref, owner, createdAt } = pod;
  for (const field of ["namespace", "name", "uid"]) {
    const value: unknown = isObject(ref) ? ref[field] : undefined;
    if (typeof value !== "string" || value === "") throw malformed(source, `ref.${field}`, value, "a non-empty string");
  }
  for (const field of ["clusterId", "nodeName"]) {
    const value: unknown = isObject(owner) ? owner[field] : undefined;
    if (typeof value !== "string") throw malformed(source, `owner.${field}`, value, "a string");
  }
  if (createdAt !== undefined && typeof createdAt !== "string") throw malformed(source, "createdAt", createdAt, "an RFC 3339 time");
  return { ...(copyJson({ ref, owner, createdAt }) as Omit<ProviderPod, "status">), status: checkStatus(pod["status"], source) };
}

/** Checks and copies an inventory. @throws InvalidInputError naming the field */
export function checkPodList(list: unknown): ProviderPodList {
  if (!isObject(list) || !Array.isArray(list["pods"])) throw malformed("getPods", "pods", isObject(list) ? list["pods"] : list, "a list");
  if (typeof list["complete"] !== "boolean") throw malformed("getPods", "complete", list["complete"], "true or false");
  return { complete: list["complete"], pods: list["pods"].map((pod: unknown) => checkPod(pod, "getPods")) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function malformed(source: string, field: string, value: unknown, expected: string): InvalidInputError {
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : typeof value;
  return new InvalidInputError(`provider's ${source} returned ${field} = ${shown}, expected ${expected}: this is a fault of the provider`);
}

/** A deep copy of JSON data; several times faster than structuredClone on small objects. */
function copyJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyJson);
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(value)) if (entry !== undefined) copy[key] = copyJson(entry);
  return copy;
}
