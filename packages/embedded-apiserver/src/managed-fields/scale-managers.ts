import type { JsonObject } from "../json/json-value.ts";
import { decode } from "../kinds/schema/decode.ts";
import { once } from "../kinds/schema/once.ts";
import { difference, emptySet, hasField, isEmptySet, setOf } from "./field-set.ts";
import type { ManagedType } from "./field-manager.ts";
import { entriesOf, managerId, managersIn, type TimedFields, type TimedManagers } from "./manager-entries.ts";
import { mergeTypeOf } from "./merge-type.ts";
import { fieldElement, type PathElement } from "./path-element.ts";

const scaleVersion = "autoscaling/v1";
const scaleDefinition = "io.k8s.api.autoscaling.v1.Scale";
const scaleReplicas = [fieldElement("spec"), fieldElement("replicas")];
const scaleFields = setOf(scaleReplicas);

/** How the fields of a Scale are managed. */
export const scaleType: ManagedType = {
  kind: "Scale",
  apiVersion: scaleVersion,
  subresource: "scale",
  typeIn: (version) => (version === scaleVersion ? mergeTypeOf(scaleDefinition) : undefined),
  convert: (object) => object,
  resetFields: () => emptySet,
  mayChange: false,
  empty: once(() => ({ ...(decode(scaleDefinition, {}).object as JsonObject), apiVersion: scaleVersion, kind: "Scale" })),
};

/** A Scale as the server writes it, with its own metadata, so that a field with a zero value is absent. */
export function decodedScale(scale: JsonObject): JsonObject {
  const { object } = decode(scaleDefinition, { ...scale, metadata: {} });
  return { ...(object as JsonObject), metadata: { ...(scale["metadata"] as JsonObject) } };
}

/**
 * Managers of the replicas of an object, as managers of its Scale.
 *
 * Source of this file: k8s.io/apimachinery v0.36.3 pkg/util/managedfields/scalehandler.go.
 *
 * @param entries - `metadata.managedFields` of the object
 * @param replicas - path of the replicas in the object
 */
export function scaleManagers(entries: unknown, replicas: readonly PathElement[]): readonly object[] | undefined {
  const owners = [...(managersIn(entries) ?? [])].filter(([, { fields }]) => hasField(fields, replicas));
  return entriesOf(new Map(owners.map(([id, owner]) => [id, { ...owner, apiVersion: scaleVersion, fields: scaleFields }])));
}

/**
 * Managers of an object after a change of its Scale.
 *
 * @param scaled - `metadata.managedFields` of the Scale after the change
 * @param apiVersion - version of the object
 */
export function managersAfterScale(
  entries: unknown,
  scaled: unknown,
  { replicas, apiVersion }: { readonly replicas: readonly PathElement[]; readonly apiVersion: string },
): readonly object[] | undefined {
  const before: TimedManagers = managersIn(entries) ?? new Map();
  const owners = new Map([...(managersIn(scaled) ?? [])].map(([id, owner]) => [inVersion(id, apiVersion), owner]));
  const after = new Map<string, TimedFields>();
  for (const [id, owner] of before) {
    const isLost = hasField(owner.fields, replicas) && !owners.has(id);
    const fields = isLost ? difference(owner.fields, setOf(replicas)) : owner.fields;
    if (!isEmptySet(fields)) after.set(id, { ...owner, fields });
  }
  for (const [id, { isApplied, fields }] of owners) {
    if (after.has(id) || !hasField(fields, scaleReplicas)) continue;
    // As on the real server, such an entry has no time.
    after.set(id, { apiVersion, isApplied, time: before.get(id)?.time, fields: setOf(replicas) });
  }
  return entriesOf(after);
}

/** The same manager of the object. */
function inVersion(id: string, apiVersion: string): string {
  const [manager, operation, version, subresource] = JSON.parse(id) as [string, "Apply" | "Update", string, string];
  return managerId({ manager, operation, apiVersion: version === scaleVersion ? apiVersion : version, subresource });
}
