import { inTurns, type InTurnsOptions } from "@virtual-kubelet/async";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { isJsonObject, tryParseQuantity } from "@virtual-kubelet/kubernetes";
import type { PodRef } from "../provider/pod-ref.ts";
import type { PodUpdate, ProviderPod, ProviderPodList, ProviderPodStatus } from "../provider/pod-lifecycle.ts";

const phases: ReadonlySet<unknown> = new Set([undefined, "Pending", "Running", "Succeeded", "Failed", "Unknown"]);
const conditionStatuses: ReadonlySet<unknown> = new Set(["True", "False", "Unknown"]);
const statusLists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;

/**
 * Checks a provider's status and copies it, so that the provider may change its own object afterwards.
 *
 * @param source - name of the method that returned it, for the message
 * @throws InvalidInputError naming the field
 */
export function checkStatus(status: unknown, source: string): ProviderPodStatus {
  if (!isJsonObject(status)) throw malformed(source, "status", status, "an object");
  if (!phases.has(status["phase"])) throw malformed(source, "phase", status["phase"], "Pending, Running, Succeeded or Failed");
  checkOptional(source, "podIP", status["podIP"], (ip) => typeof ip === "string", "an IP address");
  checkEntries(source, "podIPs", status["podIPs"], (entry, path) => {
    if (!isJsonObject(entry) || !isString(entry["ip"])) throw malformed(source, path, entry, 'an object such as {"ip": "10.0.0.1"}');
  });
  checkEntries(source, "conditions", status["conditions"], (entry, path) => checkCondition(source, path, entry));
  checkResources(source, "resources", status["resources"]);
  checkQuantities(source, "allocatedResources", status["allocatedResources"]);
  for (const list of statusLists) checkEntries(source, list, status[list], (entry, path) => checkContainer(source, path, entry));
  for (const field of ["endsWhenGone", "isMetadataOutdated"])
    checkOptional(source, field, status[field], (value) => typeof value === "boolean", "true or false");
  return copyJson(status) as ProviderPodStatus;
}

/** Checks and copies one report. @throws InvalidInputError naming the field, and the pod if it is known */
export function checkReport(update: unknown): PodUpdate {
  const source = "notifyPods";
  if (!isJsonObject(update)) throw malformed(source, "update", update, "an object with ref, and status or gone");
  const ref = checkRef(source, update["ref"]);
  if (update["gone"] === true) return { ref, gone: true };
  try {
    return { ref, status: checkStatus(update["status"], source) };
  } catch (cause) {
    throw new InvalidInputError(`pod ${ref.namespace}/${ref.name}: ${messageOf(cause)}`, { cause });
  }
}

function checkRef(source: string, ref: unknown): PodRef {
  const read = (field: string): string => {
    const value: unknown = isJsonObject(ref) ? ref[field] : undefined;
    if (typeof value !== "string" || value === "") throw malformed(source, `ref.${field}`, value, "a non-empty string");
    return value;
  };
  return { namespace: read("namespace"), name: read("name"), uid: read("uid") };
}

/** As {@link checkPod}, for the requested pod. A different UID is a different pod, whatever else is equal. */
export function checkPodOf({ namespace, name, uid }: PodRef, pod: unknown, source: string): ProviderPod {
  const checked = checkPod(pod, source);
  if (checked.ref.uid === uid) return checked;
  throw malformed(source, "ref.uid", checked.ref.uid, `${uid}, the UID of pod ${namespace}/${name}, which was asked for`);
}

/**
 * Checks that a reference with the UID of a known pod also has its namespace and name; otherwise it is ambiguous.
 *
 * @throws InvalidInputError naming the field
 */
export function checkFits(known: PodRef, ref: PodRef, source: string): void {
  for (const field of ["namespace", "name"] as const)
    if (ref[field] !== known[field])
      throw malformed(source, `ref.${field}`, ref[field], `${known[field]}, that of the pod of UID ${known.uid}`);
}

/** Checks and copies one pod of an inventory. @throws InvalidInputError naming the field */
export function checkPod(pod: unknown, source: string): ProviderPod {
  if (!isJsonObject(pod)) throw malformed(source, "pod", pod, "an object");
  const { owner, createdAt } = pod;
  const ref = checkRef(source, pod["ref"]);
  for (const field of ["clusterId", "nodeName"]) {
    const value: unknown = isJsonObject(owner) ? owner[field] : undefined;
    if (typeof value !== "string") throw malformed(source, `owner.${field}`, value, "a string");
  }
  if (createdAt !== undefined && typeof createdAt !== "string") throw malformed(source, "createdAt", createdAt, "an RFC 3339 time");
  return { ...(copyJson({ ref, owner, createdAt }) as Omit<ProviderPod, "status">), status: checkStatus(pod["status"], source) };
}

/** Checks and copies an inventory, in turns of the event loop. @throws InvalidInputError naming the field; `signal.reason` */
export async function checkPodList(list: unknown, turns: InTurnsOptions): Promise<ProviderPodList> {
  if (!isJsonObject(list) || !Array.isArray(list["pods"]))
    throw malformed("getPods", "pods", isJsonObject(list) ? list["pods"] : list, "a list");
  if (typeof list["complete"] !== "boolean") throw malformed("getPods", "complete", list["complete"], "true or false");
  const pods: ProviderPod[] = [];
  await inTurns<unknown>(list["pods"], turns, (pod) => void pods.push(checkPod(pod, "getPods")));
  return { complete: list["complete"], pods };
}

function checkEntries(source: string, field: string, list: unknown, check: (entry: unknown, path: string) => void): void {
  if (list === undefined || list === null) return;
  if (!Array.isArray(list)) throw malformed(source, field, list, "a list");
  list.forEach((entry: unknown, index) => check(entry, `${field}[${index}]`));
}

function checkContainer(source: string, path: string, entry: unknown): void {
  const name: unknown = isJsonObject(entry) ? entry["name"] : undefined;
  if (!isJsonObject(entry) || typeof name !== "string" || name === "")
    throw malformed(source, `${path}.name`, name, "the container's name");
  for (const field of ["state", "lastState"])
    checkOptional(source, `${path}.${field}`, entry[field], isJsonObject, "an object with running, waiting or terminated");
  checkOptional(source, `${path}.restartCount`, entry["restartCount"], isCount, "a whole number, 0 or more");
  checkResources(source, `${path}.resources`, entry["resources"]);
  checkQuantities(source, `${path}.allocatedResources`, entry["allocatedResources"]);
}

function checkOptional(source: string, field: string, value: unknown, isRight: (value: unknown) => boolean, expected: string): void {
  if (value !== undefined && value !== null && !isRight(value)) throw malformed(source, field, value, expected);
}

function checkCondition(source: string, path: string, entry: unknown): void {
  if (!isJsonObject(entry)) throw malformed(source, path, entry, "an object with type and status");
  if (!isString(entry["type"])) throw malformed(source, `${path}.type`, entry["type"], "the condition's name");
  if (!conditionStatuses.has(entry["status"])) throw malformed(source, `${path}.status`, entry["status"], "True, False or Unknown");
  for (const field of ["lastTransitionTime", "lastProbeTime"])
    checkOptional(source, `${path}.${field}`, entry[field], isTime, "an RFC 3339 time");
}

function checkResources(source: string, path: string, resources: unknown): void {
  checkOptional(source, path, resources, isJsonObject, "an object with limits and requests");
  if (!isJsonObject(resources)) return;
  for (const field of ["limits", "requests"]) checkQuantities(source, `${path}.${field}`, resources[field]);
}

function checkQuantities(source: string, path: string, quantities: unknown): void {
  checkOptional(source, path, quantities, isJsonObject, "quantities by resource name");
  if (!isJsonObject(quantities)) return;
  for (const [name, value] of Object.entries(quantities))
    checkOptional(source, `${path}.${name}`, value, (text) => tryParseQuantity(text) !== undefined, 'a quantity such as "500m"');
}

function isString(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function isTime(value: unknown): boolean {
  return value instanceof Date || (typeof value === "string" && !Number.isNaN(Date.parse(value)));
}

function malformed(source: string, field: string, value: unknown, expected: string): InvalidInputError {
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : typeof value;
  return new InvalidInputError(`provider's ${source} returned ${field} = ${shown}, expected ${expected}: this is a fault of the provider`);
}

/**
 * Returns a deep copy of JSON data without absent fields: `undefined`, or `null` as JSON of many languages has it. A `Date` is copied as
 * text. Several times faster than structuredClone on small objects.
 */
function copyJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyJson);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  if (!isJsonObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(value)) {
    const copied = copyJson(entry);
    if (copied !== undefined && copied !== null) copy[key] = copied;
  }
  return copy;
}
