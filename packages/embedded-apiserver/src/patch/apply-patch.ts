/**
 * JSON, merge and strategic merge patches, applied as the API server applies them, without a server.
 *
 * @packageDocumentation
 */
import { apiVersionOf } from "../kinds/api-version.ts";
import { unsupportedMediaType } from "../errors/api-status-error.ts";
import { cloneJson, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { builtInDefinition, type GroupVersionKind } from "../kinds/schema/schema.ts";
import { patchJson, type PatchType } from "./patch-json.ts";

export type { GroupVersionKind, PatchType };

/** A patch, shaped like kube-client's `Patch`. */
export interface ObjectPatch {
  readonly type: PatchType;
  /** A list of operations for a JSON patch, otherwise an object. Members that are `undefined` count as absent. */
  readonly body: unknown;
}

/**
 * Applies a patch as the API server does, but without the server's defaults, validation and protected fields. The arguments are not
 * modified, and the result shares nothing with them.
 *
 * @param kind - kind of the object, such as kube-client's `resources.pods`. It determines how a strategic merge patch merges lists
 * @throws ApiStatusError with 400 or 500 if the patch is malformed, 415 for a strategic merge patch of a custom resource, 422 if a JSON
 *   patch cannot be applied, for example because one of its tests fails
 */
export function applyPatch<T extends object>(object: T, { type, body }: ObjectPatch, kind: GroupVersionKind): T {
  const definition = type === "strategic" ? requireDefinition(kind) : "";
  // Kubernetes objects are JSON, although their types do not say so.
  return patchJson(cloneJson(object) as JsonObject, { type, body: cloneJson(body) as JsonValue }, definition) as T;
}

function requireDefinition(kind: GroupVersionKind): string {
  const definition = builtInDefinition(kind);
  if (definition !== undefined) return definition;
  const apiVersion = apiVersionOf(kind);
  throw unsupportedMediaType(
    `apply a strategic merge patch to an object of kind ${kind.kind} in ${apiVersion}: expected a kind that is built into Kubernetes; use a merge patch`,
  );
}
