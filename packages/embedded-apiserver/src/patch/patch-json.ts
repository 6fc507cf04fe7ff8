import { badRequest } from "../errors/api-status-error.ts";
import { goJsonType } from "../json/go-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { structSchema } from "../kinds/schema/schema.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

/** Type of a patch: JSON patch (RFC 6902), JSON merge patch (RFC 7386), or Kubernetes' strategic merge patch. */
export type PatchType = "json" | "merge" | "strategic";

/** A patch whose body was parsed from JSON. */
export interface ParsedPatch {
  readonly type: PatchType;
  readonly body: JsonValue;
}

/**
 * Applies a patch of any type. Neither argument is modified; the result shares unchanged parts.
 *
 * @param definition - OpenAPI definition of the object, such as `io.k8s.api.core.v1.Pod`; used by strategic merge patches only
 * @throws ApiStatusError 400 or 500 if the patch is malformed, 422 if a JSON patch cannot be applied
 */
export function patchJson(object: JsonObject, { type, body }: ParsedPatch, definition: string): JsonValue {
  switch (type) {
    case "json":
      return applyJsonPatch(object, body);
    case "merge":
      if (body === null) throw badRequest("Invalid JSON Patch");
      return applyMergePatch(object, requireObject(body, "error decoding patch: "));
    case "strategic":
      return body === null ? object : applyStrategicMergePatch(object, requireObject(body), structSchema(definition));
    default:
      return type satisfies never;
  }
}

/** Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/patch.go. */
function requireObject(patch: JsonValue, context = ""): JsonObject {
  if (!isJsonObject<JsonValue>(patch))
    throw badRequest(`${context}json: cannot unmarshal ${goJsonType(patch)} into Go value of type map[string]interface {}`);
  return patch;
}
