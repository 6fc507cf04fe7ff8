import { jsonText, parseExactJson } from "../json/exact-json.ts";
import { withSortedKeys } from "../json/key-order.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { compareObjects } from "./compare-objects.ts";
import { difference, emptySet, type FieldSet, hasField } from "./field-set.ts";
import { fieldsOfObject } from "./object-fields.ts";
import type { Conflict, VersionedType } from "./updater.ts";

/** Annotation of client-side apply. */
const annotation = "kubectl.kubernetes.io/last-applied-configuration";
/** Source: k8s.io/apimachinery v0.36.3 pkg/api/validation/objectmeta.go, `TotalAnnotationSizeLimitB`. */
const annotationsLimitBytes = 256 * 1024;

/**
 * Conflicts that remain if kubectl takes over what it applied on the client's side: fields that are still as it applied them are its own.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/managedfields/internal/lastappliedmanager.go.
 */
export function lastAppliedConflicts(
  type: VersionedType & { readonly apiVersion: string },
  live: JsonObject,
  conflicts: readonly Conflict[],
): readonly Conflict[] {
  const own = ownFields(type, live);
  return conflicts.filter(({ path }) => !hasField(own, path));
}

function ownFields(type: VersionedType & { readonly apiVersion: string }, live: JsonObject): FieldSet {
  const mergeType = type.typeIn(type.apiVersion);
  const applied = parsed(annotationsOf(live)[annotation]);
  if (mergeType === undefined || applied === undefined || applied["apiVersion"] !== type.apiVersion) return emptySet;
  const { modified, added, removed } = compareObjects(mergeType, applied, live);
  return [modified, added, removed].reduce((fields, changed) => difference(fields, changed), fieldsOfObject(mergeType, applied));
}

function annotationsOf({ metadata }: JsonObject): JsonObject {
  const annotations = isJsonObject<JsonValue>(metadata) ? metadata["annotations"] : undefined;
  return isJsonObject<JsonValue>(annotations) ? annotations : {};
}

function parsed(text: JsonValue | undefined): JsonObject | undefined {
  if (typeof text !== "string" || text === "") return undefined;
  try {
    const value = parseExactJson(text);
    return isJsonObject<JsonValue>(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes the configuration into the annotation of client-side apply, if the object has one, so that a later client-side apply works.
 *
 * Source: lastappliedupdater.go of the same package.
 */
export function withLastApplied(object: JsonObject, configuration: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  const before = annotations[annotation];
  if (typeof before !== "string" || before === "") return object;
  const { [annotation]: _before, ...others } = annotations;
  const text = `${jsonText(withSortedKeys(withoutAnnotation(configuration)))}\n`;
  const bytes = Object.entries({ ...others, [annotation]: text }).reduce((sum, [key, value]) => sum + key.length + String(value).length, 0);
  const after = bytes > annotationsLimitBytes ? others : { ...annotations, [annotation]: text };
  return { ...object, metadata: { ...(object["metadata"] as JsonObject), annotations: after } };
}

function withoutAnnotation(configuration: JsonObject): JsonObject {
  const { metadata } = configuration;
  if (!isJsonObject<JsonValue>(metadata) || !isJsonObject<JsonValue>(metadata["annotations"])) return configuration;
  const { [annotation]: _given, ...annotations } = metadata["annotations"];
  return { ...configuration, metadata: { ...metadata, annotations } };
}
