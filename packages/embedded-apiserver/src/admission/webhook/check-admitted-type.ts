import { internalError, plainFailure } from "../../errors/api-status-error.ts";
import { goJson } from "../../json/go-json.ts";
import type { JsonObject } from "../../json/json-value.ts";
import { apiVersionOf, goKind } from "../../kinds/api-version.ts";
import { kinds } from "../../kinds/index.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { decode } from "../../kinds/schema/decode.ts";
import { hasKind, missingKind } from "../../rest/custom-type.ts";
import { notRegistered, typeMetaProblem, typeMismatch } from "../../rest/type-mismatch.ts";

/**
 * Checks the type of an object that a webhook has changed. Another kind of a custom resource is refused only when the object is validated.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/mutating/dispatcher.go, which decodes the object and converts it back.
 *
 * @param before - the object before the change; the body of a subresource has a type of its own
 * @throws ApiStatusError 500
 * @throws DecodeError if the object is not of the kind that it names now
 */
export function checkAdmittedType(kind: Kind, before: Readonly<ApiObject>, patched: JsonObject): void {
  const problem = typeMetaProblem(patched);
  if (problem !== undefined) throw internalError(problem);
  if (kind.custom === undefined) return checkBuiltInType(before, patched);
  if (!hasKind(patched)) throw internalError(missingKind(goJson(patched)));
  const [apiVersion, name] = [String(patched["apiVersion"] ?? ""), String(patched["kind"])];
  if (before.kind !== kind.kind) {
    // The body of a subresource.
    if (apiVersion !== before.apiVersion || name !== before.kind) throw plainFailure(notRegistered(name, apiVersion));
  } else if (apiVersion !== "" && !apiVersion.startsWith(`${kind.group}/`)) {
    throw plainFailure(
      `${goKind(apiVersion, name)} is unstructured and is not suitable for converting to ${JSON.stringify(apiVersionOf(kind))}`,
    );
  }
}

function checkBuiltInType(before: Readonly<ApiObject>, patched: JsonObject): void {
  const [version = "", group = ""] = before.apiVersion.split("/").toReversed();
  const mismatch = typeMismatch({ group, version, kind: before.kind }, patched);
  if (mismatch === undefined) return;
  const { kind: given, version: givenVersion } = mismatch.given;
  const other = kinds.find((one) => one.kind === given && one.version === givenVersion && mismatch.problem.startsWith("converting "));
  if (other === undefined) throw internalError(mismatch.problem);
  decode(other.schema, patched);
  throw plainFailure(mismatch.problem);
}
