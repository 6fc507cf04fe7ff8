import { InexactIntegerError, jsonText } from "../json/exact-json.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import { badRequest, invalid } from "../errors/api-status-error.ts";
import { goJson } from "../json/go-json.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { strictWarnings } from "../json/yaml.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { decode, DecodeError, type Decoded } from "../kinds/schema/decode.ts";
import { unknownField } from "../kinds/schema/duplicate-fields.ts";
import { unstructuredProblem } from "../kinds/schema/unstructured-problem.ts";
import { invalidValue } from "../kinds/validation/field-errors.ts";
import { hasUnknownFields, isEntryList } from "../managed-fields/entry-list.ts";
import type { ParsedPatch } from "../patch/patch-json.ts";
import { patchedText } from "../patch/patched-text.ts";
import { checkPatchedType } from "./custom-type.ts";
import { type WriteOptions } from "./rest-context.ts";
import { checkBodyType, typeMetaProblem, typeMismatch, unhandled } from "./type-mismatch.ts";

/**
 * Decodes a request's object with the schema of its kind and applies defaults. `kind`, `apiVersion` and `metadata` come first.
 *
 * @returns a new object
 * @throws ApiStatusError 400 if the body is not an object of the kind
 */
export function decodeObject(kind: Kind, body: unknown, options: WriteOptions): ApiObject {
  if (!isJsonObject<JsonValue>(body))
    throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): expected a JSON object`);
  checkBodyType(kind, body);
  return complete(kind, decodeFields(kind, body, options, { asProblem: (problem) => badRequest(unhandled(kind.kind, kind, problem)) }));
}

/** Type of a body with its schema. */
export type DecodedType = Pick<Kind, "group" | "version" | "kind" | "schema" | "custom">;

/**
 * Decodes the body of a subresource or a review, such as a Binding.
 *
 * @returns a new object with the fields of its type, as the server would write it
 * @throws ApiStatusError 400 if the body is not of the type
 */
export function decodeBody(type: DecodedType, body: JsonObject, options: WriteOptions): JsonObject {
  checkBodyType(type, body);
  return decodeFields(type, body, options, { asProblem: (problem) => badRequest(unhandled(type.kind, type, problem)) }) as JsonObject;
}

/** The patch of a request, for messages about its result. */
export interface AppliedPatch {
  readonly object: Readonly<ApiObject>;
  readonly patch: ParsedPatch;
}

/**
 * Decodes the result of a patch, like {@link decodeObject}.
 *
 * @param applied - present for the patch of a request
 * @throws ApiStatusError 422 if it is no longer an object of the kind
 */
export function decodePatched(kind: Kind, patched: JsonValue, options: WriteOptions, applied?: AppliedPatch): ApiObject {
  if (applied === undefined) return complete(kind, decodePatchedFields(kind, patched, options));
  const shown = {
    text: () => patchedText(kind, applied.object, applied.patch, patched),
    isStrategic: applied.patch.type === "strategic",
  };
  return complete(kind, decodePatchedFields(kind, patched, options, shown));
}

/** Decodes the patched form of a subresource, such as a Scale, like {@link decodePatched}. @throws ApiStatusError 422 */
export function decodePatchedBody(type: DecodedType, patched: JsonValue, options: WriteOptions): JsonObject {
  return decodePatchedFields(type, patched, options) as JsonObject;
}

/** How messages show the result of a patch. */
interface ShownPatch {
  readonly text: () => string;
  readonly isStrategic: boolean;
}

function decodePatchedFields(
  kind: DecodedType,
  patched: JsonValue,
  options: WriteOptions,
  shown: ShownPatch = { text: () => (kind.custom === undefined ? jsonText(patched) : goJson(patched)), isStrategic: false },
): Record<string, unknown> {
  const asProblem = (problem: string): Error => invalid({ group: "", kind: "" }, "", [invalidValue("patch", shown.text(), problem)]);
  const { isStrategic } = shown;
  const problem = isStrategic ? undefined : typeMetaProblem(patched);
  if (problem !== undefined) throw asProblem(problem);
  if (!isJsonObject<JsonValue>(patched)) throw asProblem("expected a JSON object");
  if (kind.custom !== undefined) {
    const keepsVersion = options.subresource !== undefined && options.subresource !== "";
    return decodeFields(kind, checkPatchedType(kind, patched, { keepsVersion, asProblem }), options, { asProblem });
  }
  // The real server does not look at the type again after a strategic merge patch.
  const mismatch = isStrategic ? undefined : typeMismatch(kind, patched);
  if (mismatch !== undefined) throw asProblem(mismatch.problem);
  return decodeFields(kind, patched, options, {
    asProblem,
    asTypeProblem: (text) => asProblem(isStrategic ? unstructuredProblem(kind.schema, patched, text) : text),
  });
}

function decodeFields(
  kind: DecodedType,
  body: Readonly<Record<string, JsonValue>>,
  options: WriteOptions,
  { asProblem, asTypeProblem = asProblem }: { asProblem: (problem: string) => Error; asTypeProblem?: (problem: string) => Error },
): Record<string, unknown> {
  const { isApplied = false, conversionError } = options;
  const isConverted = conversionError !== undefined && kind.custom === undefined;
  const { object, unknownFields } = tryDecode(kind, body, {
    asProblem: isConverted ? (problem) => conversionError(unstructuredProblem(kind.schema, body, problem)) : asTypeProblem,
    // The real server does not decode what apply has merged.
    keepsNulls: isApplied,
  });
  const numberProblem = kind.custom === undefined ? options.numberProblem?.(kind.schema) : undefined;
  if (numberProblem !== undefined) throw asTypeProblem(numberProblem);
  if (options.fieldValidation === "Ignore") return object;
  const problems = options.strictProblems?.(unknownFields) ?? unknownFields.map(unknownField);
  if (problems.length > 0 && options.fieldValidation === "Strict") throw asProblem(`strict decoding error: ${problems.join(", ")}`);
  for (const warning of problems.flatMap(strictWarnings)) options.warn?.(warning);
  return object;
}

interface DecodeOptions {
  readonly asProblem: (problem: string) => Error;
  readonly keepsNulls: boolean;
}

/** The managers are kept as they are: `metadata.managedFields` is read by what tracks them. */
function tryDecode(kind: DecodedType, body: Readonly<Record<string, JsonValue>>, options: DecodeOptions): Decoded {
  const { metadata } = body;
  if (!isJsonObject<JsonValue>(metadata) || metadata["managedFields"] === undefined) return tryDecodeFields(kind, body, options);
  const { managedFields, ...rest } = metadata;
  const isPlain = managedFields === null || (isEntryList(managedFields) && !hasUnknownFields(managedFields));
  const decoded = tryDecodeFields(kind, isPlain ? { ...body, metadata: rest } : body, options);
  // The real server drops an empty list from a custom resource, so that it does not reset the managers.
  const isDropped = managedFields === null || (kind.custom !== undefined && equalJson(managedFields, []));
  if (!isDropped) (decoded.object["metadata"] as Record<string, unknown>)["managedFields"] = managedFields;
  return decoded;
}

function tryDecodeFields(kind: DecodedType, body: Readonly<Record<string, JsonValue>>, { asProblem, keepsNulls }: DecodeOptions): Decoded {
  try {
    return kind.custom === undefined ? decode(kind.schema, body) : kind.custom.decode(body, keepsNulls);
  } catch (error) {
    if (error instanceof InexactIntegerError) throw badRequest(error.message);
    throw error instanceof DecodeError ? asProblem(error.message) : error;
  }
}

function complete(kind: Kind, decoded: Record<string, unknown>): ApiObject {
  const { kind: given, apiVersion: _apiVersion, metadata, ...rest } = decoded;
  // The kind of a custom resource is validated with the rest.
  const kindName = kind.custom !== undefined && typeof given === "string" && given !== "" ? given : kind.kind;
  const object = { kind: kindName, apiVersion: apiVersionOf(kind), metadata: metadata ?? {}, ...rest } as ApiObject & {
    metadata: { selfLink?: unknown };
  };
  delete object.metadata.selfLink;
  kind.applyDefaults?.(object);
  return object;
}
