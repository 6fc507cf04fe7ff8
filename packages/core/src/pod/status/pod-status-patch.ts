import type { DeepReadonly, Pod, PodCondition, PodStatus } from "@virtual-kubelet/kube-client";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { isEmptyJson, isSameJson } from "../../api-server/json-equality.ts";
import { isOtherObject } from "../../api-server/other-object.ts";
import { isOwnedCondition, ownedStatusFields } from "./owned-status.ts";

type JsonObject = Record<string, unknown>;

/** A strategic merge patch of a pod's status; without a `resourceVersion` it applies regardless of writes by others. */
export interface StatusPatch {
  readonly metadata: { readonly uid: string | undefined; readonly resourceVersion?: string | undefined };
  readonly status: Readonly<JsonObject>;
}

/**
 * Returns the strategic merge patch from the stored status to the wanted one, for the `status` subresource. It contains only
 * the differences in fields that the core owns, `null` for vanished ones, and the pod's UID, so that the server refuses
 * it for another pod of the same name; see {@link isOtherPod}. A new phase is bound to the stored
 * resourceVersion, because it could otherwise replace another writer's final phase that the node has not seen. Conditions of others are
 * never included.
 *
 * @param stored - the API server's object
 * @param wanted - a status from pod-status.ts
 * @returns `undefined` when nothing differs
 */
export function podStatusPatch(stored: DeepReadonly<Pod>, wanted: DeepReadonly<PodStatus>): StatusPatch | undefined {
  const held = stored.status ?? {};
  const status: JsonObject = {};
  for (const field of ownedStatusFields) {
    if (field === "conditions") Object.assign(status, conditionsPatch(held.conditions ?? [], wanted.conditions ?? []));
    else if (field === "podIPs" || field === "hostIPs")
      Object.assign(status, addressesPatch(field, held[field] ?? [], wanted[field] ?? []));
    else if (field === "resources" || field === "allocatedResources") Object.assign(status, mapPatch(field, held[field], wanted[field]));
    else if (!isSameJson(held[field], wanted[field])) status[field] = isEmptyJson(wanted[field]) ? null : wanted[field];
  }
  if (Object.keys(status).length === 0) return undefined;
  const { uid, resourceVersion } = stored.metadata ?? {};
  return { metadata: "phase" in status ? { uid, resourceVersion } : { uid }, status };
}

/** Whether the API server refused a patch because the pod of that name has another UID. */
export function isOtherPod(error: unknown): boolean {
  return isOtherObject(error);
}

/** Conditions merge by type: changed ones have `null` for vanished fields, and our own vanished ones are deleted. */
function conditionsPatch(held: readonly DeepReadonly<PodCondition>[], wanted: readonly DeepReadonly<PodCondition>[]): JsonObject {
  const items: JsonObject[] = [];
  for (const condition of wanted) {
    const before = held.find(({ type }) => type === condition.type);
    const changes = before ? changedFields(before, condition) : { ...condition };
    if (Object.keys(changes).length > 0) items.push({ ...changes, type: condition.type });
  }
  for (const { type } of held) {
    if (isOwnedCondition(type) && !wanted.some((condition) => condition.type === type)) items.push({ $patch: "delete", type });
  }
  if (items.length === 0) return {};
  return { conditions: items, "$setElementOrder/conditions": wanted.map(({ type }) => ({ type })) };
}

/** Addresses merge by value: without a deletion the old ones would stay beside the new ones, and be refused. */
function addressesPatch(field: string, held: readonly { readonly ip: string }[], wanted: readonly { readonly ip: string }[]): JsonObject {
  if (held.length === wanted.length && held.every(({ ip }, index) => ip === wanted[index]?.ip)) return {};
  const ips = wanted.map(({ ip }) => ip);
  if (ips.length === 0) return { [field]: null };
  const added = ips.filter((ip) => !held.some((entry) => entry.ip === ip)).map((ip) => ({ ip }));
  const removed = held.filter(({ ip }) => !ips.includes(ip)).map(({ ip }) => ({ $patch: "delete", ip }));
  return { [field]: [...added, ...removed], [`$setElementOrder/${field}`]: wanted.map(({ ip }) => ({ ip })) };
}

/** Maps merge by key, recursively; vanished keys are `null`. */
function mapPatch(field: string, held: unknown, wanted: unknown): JsonObject {
  if (isSameJson(held, wanted)) return {};
  if (isEmptyJson(wanted)) return { [field]: null };
  if (!isJsonObject(held) || !isJsonObject(wanted)) return { [field]: wanted };
  const keys = new Set([...Object.keys(held), ...Object.keys(wanted)]);
  return { [field]: Object.assign({}, ...[...keys].map((key) => mapPatch(key, held[key], wanted[key]))) as JsonObject };
}

function changedFields(held: DeepReadonly<PodCondition>, wanted: DeepReadonly<PodCondition>): JsonObject {
  const before: Readonly<JsonObject> = { ...held };
  const changes: JsonObject = {};
  for (const [field, value] of Object.entries(wanted))
    if (!isSameJson(before[field], value)) changes[field] = isEmptyJson(value) ? null : value;
  for (const field in before) if (!Object.hasOwn(wanted, field) && !isEmptyJson(before[field])) changes[field] = null;
  return changes;
}
