import { badRequest, internalError, invalid } from "../errors/api-status-error.ts";
import { goJson } from "../json/go-json.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import type { FieldError, Kind } from "../kinds/kind.ts";

type TypeName = Pick<Kind, "group" | "version" | "kind">;

/**
 * Problem of the body of a custom resource that has no kind: unlike those of built-in kinds, it must name its type.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/runtime/error.go, `NewMissingKindErrWithBody`.
 *
 * @param text - the body as it was sent
 */
export function missingKind(text: string): string {
  return `Object 'Kind' is missing in '${text}'`;
}

/** Whether an object names its kind. */
export function hasKind({ kind }: Readonly<Record<string, unknown>>): boolean {
  return typeof kind === "string" && kind !== "";
}

/** Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/create.go. @throws ApiStatusError 400 if a custom resource is of another version */
export function checkCustomVersion(type: TypeName, { apiVersion }: JsonObject): void {
  const given = textOf(apiVersion);
  if (given !== apiVersionOf(type))
    throw badRequest(`the API version in the data (${given}) does not match the expected API version (${apiVersionOf(type)})`);
}

/**
 * Gives the result of a patch of a custom resource its version, if it may have another one.
 *
 * @param keepsVersion - whether the patch writes only a subresource, so that the type is not checked
 * @param asProblem - makes the error for a patch that removes the kind
 * @returns the same object, or one with the right version
 * @throws ApiStatusError 422 or 500
 */
export function checkPatchedType(
  type: TypeName,
  patched: JsonObject,
  { keepsVersion, asProblem }: { readonly keepsVersion: boolean; readonly asProblem: (problem: string) => Error },
): JsonObject {
  if (!hasKind(patched)) throw asProblem(missingKind(goJson(patched)));
  const { metadata, apiVersion } = patched;
  // Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/unstructured/unstructuredscheme, `ObjectKinds`.
  if (textOf(apiVersion) === "") throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  if (apiVersion === apiVersionOf(type)) return patched;
  if (!keepsVersion) checkCustomType(type, patched, textOf((metadata as JsonObject | undefined)?.["name"]));
  return { ...patched, apiVersion: apiVersionOf(type) };
}

/**
 * Checks the type of a custom resource, which its body may name freely.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/registry/customresource/validator.go, `ValidateTypeMeta`.
 *
 * @throws ApiStatusError 422 for the type that the object names
 */
export function checkCustomType(type: TypeName, { kind, apiVersion }: Readonly<Record<string, unknown>>, name: string): void {
  const wanted = { kind: type.kind, apiVersion: apiVersionOf(type) };
  const errors = [...differing("kind", kind, wanted.kind), ...differing("apiVersion", apiVersion, wanted.apiVersion)];
  if (errors.length === 0) return;
  const [, group = ""] = String(apiVersion).split("/").toReversed();
  throw invalid({ group, kind: String(kind) }, name, errors);
}

function differing(field: string, given: unknown, wanted: string): FieldError[] {
  if (given === wanted) return [];
  return [{ field, reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(given)}: must be ${wanted}` }];
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
