import { accessDenied } from "../authorization/access-request.ts";
import { ApiStatusError, conflict, invalid, notFound } from "../errors/api-status-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ApiObject, FieldError } from "../kinds/kind.ts";
import { forbiddenField, required } from "../kinds/validation/field-errors.ts";
import { applyConfiguration, conversionError } from "../managed-fields/field-manager.ts";
import { scaleType } from "../managed-fields/scale-managers.ts";
import { createObject } from "../rest/create.ts";
import { decodePatched } from "../rest/decode-object.ts";
import { fieldWriteOf } from "../rest/field-tracking.ts";
import { checkName } from "../rest/metadata.ts";
import { collectionOf, type WriteOptions } from "../rest/rest-context.ts";
import type { Steps } from "../rest/steps.ts";
import { updateObject } from "../rest/update.ts";
import type { ApiRequest, ApiResponse } from "./api-request.ts";
import { parseApplyBody } from "./apply-body.ts";
import { mediaTypeOf } from "./negotiation.ts";
import { booleanOf } from "./query-options.ts";
import { addressOf, objectResponse, type ResourceCall, type ResourceContext } from "./resource-call.ts";

/** Whether a PATCH is a server-side apply. */
export function isApply({ headers }: ApiRequest): boolean {
  return mediaTypeOf(headers["content-type"]) === "application/apply-patch+yaml";
}

/**
 * Server-side apply of an object or its status; creates an object that does not exist.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/patch.go, `applyPatcher`.
 *
 * @param scope - `status` if only the status is applied
 */
export function* applyVerb(
  context: ResourceContext,
  call: ResourceCall,
  { options, scope }: { readonly options: WriteOptions; readonly scope: "status" | undefined },
): Steps<ApiResponse> {
  checkApplyOptions(call.query);
  const address = addressOf(call);
  const { kind, namespace, name } = address;
  const { configuration, checkDuplicates } = parseApplyBody(call.request.body, options);
  const force = booleanOf(call.query, "force") ?? false;
  const write = fieldWriteOf(context.rest, kind, options);
  const applyTo = (old: Readonly<ApiObject> | undefined): JsonObject => {
    const object = applyConfiguration(write, old, { configuration, force });
    checkDuplicates();
    return object;
  };
  const applied: WriteOptions = {
    ...options,
    isApplied: true,
    conversionError: (problem) => conversionError(write.type, configuration, problem),
  };
  const isStored = (): boolean => collectionOf(context.rest, kind).get(namespace, name) !== undefined;
  const isCreation = !isStored();
  try {
    return yield* apply();
  } catch (error) {
    // Another request has created or deleted the object while admission waited.
    if (!(error instanceof ApiStatusError) || isStored() !== isCreation || !isRaceOf(error, isCreation)) throw error;
    return yield* applyVerb(context, call, { options, scope });
  }

  function* apply(): Steps<ApiResponse> {
    if (isCreation) {
      if (scope !== undefined) throw notFound(kind, name);
      const object = applyTo(undefined);
      checkCreation(context, call, object);
      return objectResponse(context, call, 201, yield* createObject(context.rest, kind, namespace, withoutVersion(object), applied));
    }
    const change = (old: Readonly<ApiObject>): ApiObject => decodePatched(kind, applyTo(old), applied);
    const update = { ...applied, ...(scope === undefined ? {} : { scope }) };
    return objectResponse(context, call, 200, yield* updateObject(context.rest, address, change, update));
  }
}

function isRaceOf({ status: { reason } }: ApiStatusError, isCreation: boolean): boolean {
  return reason === (isCreation ? "AlreadyExists" : "NotFound");
}

/** Server-side apply of a Scale. @throws ApiStatusError 400 or 422 */
export function scaleApplication(
  { clock }: ResourceContext,
  call: ResourceCall,
  options: WriteOptions,
): { readonly change: (scale: JsonObject) => JsonValue; readonly options: WriteOptions } {
  checkApplyOptions(call.query);
  const { configuration, checkDuplicates } = parseApplyBody(call.request.body, options);
  const force = booleanOf(call.query, "force") ?? false;
  const write = { type: scaleType, manager: options.fieldManager ?? "", nowMs: clock.now() };
  return {
    // A Scale has all fields that every object has.
    change(scale) {
      const applied = applyConfiguration(write, scale as JsonObject & ApiObject, { configuration, force });
      checkDuplicates();
      return applied;
    },
    options: { ...options, isApplied: true },
  };
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/validation/validation.go, `ValidatePatchOptions`. @throws ApiStatusError 422 */
function checkApplyOptions(query: URLSearchParams): void {
  if ((query.get("fieldManager") ?? "") === "") throw invalidOptions(required("fieldManager", "is required for apply patch"));
}

/** Checks the options of a patch that is not an apply. @throws ApiStatusError 422 */
export function checkPatchOptions(query: URLSearchParams): void {
  if (query.has("force")) throw invalidOptions(forbiddenField("force", "may not be specified for non-apply patch"));
}

function invalidOptions(problem: FieldError): Error {
  return invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [problem]);
}

/** An update that creates an object ignores the version. Source: k8s.io/apiserver v0.36.3 pkg/registry/generic/registry/store.go, `Update`. */
function withoutVersion({ metadata, ...rest }: JsonObject): JsonObject {
  const { resourceVersion: _given, ...fields } = isJsonObject<JsonValue>(metadata) ? metadata : {};
  return { ...rest, metadata: fields };
}

/** An apply that creates an object needs the right to create it. */
function checkCreation({ authorizer }: ResourceContext, { kind, target, user }: ResourceCall, object: JsonObject): void {
  const { namespace = "", name = "" } = target;
  const metadata = isJsonObject<JsonValue>(object["metadata"]) ? object["metadata"] : {};
  const uid = metadata["uid"] ?? "";
  if (uid !== "")
    throw conflict(kind, name, `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`);
  const access = { verb: "create", group: kind.group, resource: kind.plural, subresource: "", namespace, name, fieldValues: new Map() };
  const { isAllowed, reason } = authorizer.authorize(user, access);
  if (!isAllowed) throw accessDenied(user, access, reason);
  checkName(metadata, name);
}
