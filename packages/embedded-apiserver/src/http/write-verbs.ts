import { ApiStatusError, badRequest, uidConflictOnUpdate } from "../errors/api-status-error.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { returnsDeleted } from "../kinds/returns-deleted.ts";
import { isProtobuf } from "../kinds/schema/protobuf.ts";
import { writtenNumberProblem } from "../kinds/schema/written-numbers.ts";
import { parseExactJson } from "../json/exact-json.ts";
import { goJsonError } from "../json/go-json-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type ParsedPatch, patchJson } from "../patch/patch-json.ts";
import { createObject } from "../rest/create.ts";
import { decodeObject, decodePatched } from "../rest/decode-object.ts";
import { deleteObject, type DeleteOptions, type Deletion } from "../rest/delete.ts";
import { listObjects } from "../rest/list.ts";
import { checkName, checkNamespace, dropDuplicateOwners } from "../rest/metadata.ts";
import { collectionOf, type ObjectAddress, type WriteOptions } from "../rest/rest-context.ts";
import type { Steps } from "../rest/steps.ts";
import { checkBodyType } from "../rest/type-mismatch.ts";
import { updateObject, type UpdateOptions } from "../rest/update.ts";
import type { ApiRequest, ApiResponse } from "./api-request.ts";
import { applyVerb, checkPatchOptions, isApply } from "./apply-verb.ts";
import { parseDeleteOptions } from "./delete-options.ts";
import { fieldManagerOf } from "./field-manager-name.ts";
import { parseBody, parseCustomBody } from "./json-body.ts";
import { patchTypeOf } from "./negotiation.ts";
import { parseListOptions, parseWriteQuery } from "./query-options.ts";
import { listResponse, parseSelection } from "./read-verbs.ts";
import { strictProblems } from "./strict-problems.ts";
import { addressOf, objectResponse, type ResourceCall, type ResourceContext } from "./resource-call.ts";
import { json } from "./respond.ts";

/** Parses the request's body as an object. @throws ApiStatusError 400 or 415 */
export function jsonBodyOf({ request, kind }: ResourceCall): JsonObject {
  return kind.custom === undefined ? parseBody(request, kind.kind) : parseCustomBody(request, kind);
}

/** Options of the request's write. @param optionsKind - such as `CreateOptions` */
export function writeOptionsOf({ request, kind, query, warnings, user, target }: ResourceCall, optionsKind: string): WriteOptions {
  return {
    ...parseWriteQuery(query, optionsKind),
    fieldManager: fieldManagerOf(query, request.headers["user-agent"]),
    user,
    subresource: target.subresource ?? "",
    requestOptions: () => requestOptionsOf(query),
    warn: (message) => warnings.push(message),
    ...(writesNumbers(request)
      ? { numberProblem: (definition) => writtenNumberProblem(definition, Buffer.from(request.body).toString()) }
      : {}),
    // Patches are frequent, and no client that cares leaves the parameter out.
    ...(request.method === "PATCH" && !query.has("fieldValidation")
      ? {}
      : { strictProblems: (unknown: readonly string[]) => strictProblems(request, kind, unknown) }),
  };
}

/** Whether the body is decoded from JSON as it was sent. A strategic merge patch and YAML are read into numbers first. */
function writesNumbers({ headers, body }: ApiRequest): boolean {
  const type = headers["content-type"] ?? "";
  return !isProtobuf(body) && !type.includes("yaml") && !type.includes("strategic");
}

/** Options of a write as the client sent them, for admission. */
function requestOptionsOf(query: URLSearchParams): Record<string, unknown> {
  const dryRun = query.getAll("dryRun").filter((value) => value !== "");
  const fieldManager = query.get("fieldManager") ?? "";
  const fieldValidation = query.get("fieldValidation") ?? "";
  return {
    ...(dryRun.length === 0 ? {} : { dryRun }),
    ...(fieldManager === "" ? {} : { fieldManager }),
    ...(fieldValidation === "" ? {} : { fieldValidation }),
  };
}

/** POST to a collection. */
export function* createVerb(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  const options = writeOptionsOf(call, "CreateOptions");
  const created = yield* createObject(context.rest, call.kind, call.target.namespace ?? "", jsonBodyOf(call), options);
  return objectResponse(context, call, 201, created);
}

/** Kinds that PUT creates if they do not exist; source: `AllowCreateOnUpdate` under pkg/registry of Kubernetes v1.36.3. */
const createdByUpdate: ReadonlySet<string> = new Set([
  "leases.coordination.k8s.io",
  "limitranges.",
  "events.",
  "events.events.k8s.io",
  "services.",
  "endpoints.",
  "runtimeclasses.node.k8s.io",
  "roles.rbac.authorization.k8s.io",
  "rolebindings.rbac.authorization.k8s.io",
  "clusterroles.rbac.authorization.k8s.io",
  "clusterrolebindings.rbac.authorization.k8s.io",
]);

/** PUT of an object, or of its status. */
export function* replaceVerb(context: ResourceContext, call: ResourceCall, scope?: "status"): Steps<ApiResponse> {
  const options = writeOptionsOf(call, "UpdateOptions");
  const address = addressOf(call);
  const body = jsonBodyOf(call);
  const { kind, namespace, name } = address;
  checkBodyType(kind, body);
  let first: ApiObject | undefined = decodeObject(kind, body, options);
  checkNamespace(kind, first.metadata, namespace);
  checkName(first.metadata, name);
  const isMissing = collectionOf(context.rest, kind).get(namespace, name) === undefined;
  if (scope === undefined && isMissing && createdByUpdate.has(`${kind.plural}.${kind.group}`)) {
    // Unknown fields have been reported.
    const created = yield* createObject(context.rest, kind, namespace, bodyToCreate(body, address), {
      ...options,
      fieldValidation: "Ignore",
    });
    return objectResponse(context, call, 201, created);
  }
  const uid = first.metadata.uid as string | undefined;
  // Decoded again if the update starts again, because the update changes it.
  const change = (): ApiObject => {
    const object = first ?? decodeObject(kind, body, { fieldValidation: "Ignore" });
    first = undefined;
    dropDuplicateOwners(object, "before admission", options.warn);
    return object;
  };
  return objectResponse(context, call, 200, yield* updateObject(context.rest, address, change, { ...options, ...scopeOf(scope), uid }));
}

/** Body for an object that PUT creates. A UID in it is an error, a resourceVersion is ignored. */
function bodyToCreate(body: JsonValue, address: ObjectAddress): JsonValue {
  if (!isJsonObject(body)) return body;
  const { resourceVersion: _none, ...metadata } = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  const { uid } = metadata;
  if (typeof uid === "string" && uid !== "") throw uidConflictOnUpdate(address.kind, address, uid, "");
  return { ...body, metadata };
}

function scopeOf(scope: "status" | undefined): Pick<UpdateOptions, "scope"> {
  return scope === undefined ? {} : { scope };
}

/** PATCH of an object, or of its status. */
export function* patchVerb(context: ResourceContext, call: ResourceCall, scope?: "status"): Steps<ApiResponse> {
  if (isApply(call.request)) return yield* applyVerb(context, call, { options: writeOptionsOf(call, "PatchOptions"), scope });
  const patch = parsePatch(call);
  const options = writeOptionsOf(call, "PatchOptions");
  checkPatchOptions(call.query);
  const stored = yield* updateObject(context.rest, addressOf(call), (object) => patchedObject(call.kind, object, patch, options), {
    ...options,
    ...scopeOf(scope),
  });
  return objectResponse(context, call, 200, stored);
}

/** Applies a patch to an object, without modifying it. @throws ApiStatusError 400, 422 or 500 */
export function patchedObject(kind: Kind, object: Readonly<ApiObject>, patch: ParsedPatch, options: WriteOptions): ApiObject {
  return decodePatched(kind, patchJson(asJson(object), patch, kind.schema), options, { object, patch });
}

/** Parses the request's patch. @throws ApiStatusError 400 or 415 */
export function parsePatch({ request, kind }: ResourceCall): ParsedPatch {
  const type = patchTypeOf(request.headers["content-type"], kind.custom !== undefined);
  return { type, body: parsePatchBody(request.body) };
}

/** Parses the body of a patch of any type. @throws ApiStatusError 400 */
export function parsePatchBody(body: Uint8Array): JsonValue {
  const text = Buffer.from(body).toString();
  try {
    return parseExactJson(text);
  } catch (error) {
    throw badRequest(`error decoding patch: ${goJsonError(text) ?? String(error)}`);
  }
}

/** Stored objects are JSON, although their type does not say so. */
function asJson(object: Readonly<ApiObject>): JsonObject {
  return object;
}

/** DELETE of an object. */
export function* deleteVerb(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  const options = parseDeleteOptions(call.request, call.query);
  const warning = call.kind.orphansByDefault?.warning;
  if (warning !== undefined && options.propagationPolicy === undefined) call.warnings.push(warning);
  const deletion = yield* deleteObject(context.rest, addressOf(call), { ...options, ...admissionOf(call) });
  const status = !deletion.isGone && options.acceptedIfPending ? 202 : 200;
  return deletionResponse(context, call, { status, deletion });
}

function admissionOf({ user, warnings }: ResourceCall): Pick<DeleteOptions, "user" | "warn"> {
  return { user, warn: (message) => warnings.push(message) };
}

function deletionResponse(
  context: ResourceContext,
  call: ResourceCall,
  { status, deletion }: { status: number; deletion: Deletion },
): ApiResponse {
  const { group, plural } = call.kind;
  if (!deletion.isGone || returnsDeleted({ group, plural })) return objectResponse(context, call, status, deletion.stored);
  const { name, uid } = deletion.stored.object.metadata;
  const details = { name, ...(group === "" ? {} : { group }), kind: plural, uid };
  return json(status, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
}

/** DELETE of a collection. */
export function* deleteCollectionVerb(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  const list = parseListOptions(call.query);
  const selects = parseSelection(call, list);
  const options = parseDeleteOptions(call.request, call.query);
  const page = listObjects(context.rest, call.kind, { ...list, namespace: call.target.namespace, selects });
  for (const { object } of page.items) {
    const { namespace = "", name } = object.metadata;
    const deletion = deleteObject(
      context.rest,
      { kind: call.kind, namespace, name },
      { ...options, ...admissionOf(call), requestName: "" },
    );
    yield* ignoreNotFound(deletion);
  }
  return listResponse(context, call, page);
}

function* ignoreNotFound(steps: Steps<unknown>): Steps<void> {
  try {
    yield* steps;
  } catch (error) {
    if (!(error instanceof ApiStatusError && error.status.code === 404)) throw error;
  }
}
