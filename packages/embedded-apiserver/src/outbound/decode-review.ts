import { goJsonType } from "../json/go-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { decodeStruct, DecodeError } from "../kinds/schema/decode.ts";
import { structSchema, type StructSchema, type TypeSchema } from "../kinds/schema/schema.ts";
import { structOf } from "../kinds/schema/struct-of.ts";
import { notRegistered } from "../rest/type-mismatch.ts";
import { GoError } from "./go-error.ts";

/** Kind of the reviews that a webhook answers. */
export interface ReviewKind {
  readonly group: string;
  readonly kind: string;
  readonly fields: () => StructSchema;
}

/** A decoded review, with its type as it was written: a type that is left out is `""`. */
export interface DecodedReview {
  readonly kind: string;
  readonly apiVersion: string;
  readonly response: JsonObject | undefined;
}

/** An AdmissionReview; source: k8s.io/api v0.36.3 admission/v1/types.go. */
export const admissionReviewKind: ReviewKind = {
  group: "admission.k8s.io",
  kind: "AdmissionReview",
  fields: () =>
    reviewSchema("AdmissionReview", "AdmissionResponse", {
      allowed: { type: "boolean" },
      status: structSchema(statusDefinition),
      patch: { type: "bytes" },
      patchType: { type: "string" },
      auditAnnotations: { type: "map", values: { type: "string" } },
      warnings: { type: "array", items: { type: "string" } },
    }),
};

/** A ConversionReview; source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/v1/types.go. */
export const conversionReviewKind: ReviewKind = {
  group: "apiextensions.k8s.io",
  kind: "ConversionReview",
  fields: () =>
    reviewSchema("ConversionReview", "ConversionResponse", {
      convertedObjects: { type: "array", items: { type: "any", goType: "runtime.RawExtension" } },
      result: structSchema(statusDefinition),
    }),
};

const statusDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

function reviewSchema(review: string, response: string, fields: Readonly<Record<string, TypeSchema>>): StructSchema {
  const uid: TypeSchema = { type: "string", goType: "types.UID" };
  const text: TypeSchema = { type: "string" };
  return structOf(review, { kind: text, apiVersion: text, response: structOf(response, { uid, ...fields }) });
}

const typeStruct = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

/**
 * Decodes the answer of a webhook. Unknown fields are ignored; a type that is left out is the expected one.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/runtime/serializer/json/json.go and versioning/versioning.go.
 *
 * @param version - version of the review that was sent: `v1` or `v1beta1`
 * @throws GoError with the real server's words
 */
export function decodeReview({ group, kind, fields }: ReviewKind, version: string, answer: JsonValue): DecodedReview {
  const review = typed(answer);
  const given = { kind: textOf(review["kind"]), apiVersion: textOf(review["apiVersion"]) };
  const wanted = `${group}/${version}`;
  const actual = { kind: given.kind || kind, apiVersion: given.apiVersion || wanted };
  if (actual.kind !== kind || actual.apiVersion !== wanted) throw new GoError(typeProblem(actual, { group, kind, version }));
  try {
    const { response } = decodeStruct(fields(), withBytes(review)).object as { response?: JsonObject };
    return { ...given, response };
  } catch (error) {
    if (error instanceof DecodeError) throw new GoError(error.message);
    throw error;
  }
}

/** The answer as an object whose type can be read. */
function typed(answer: JsonValue): JsonObject {
  if (answer === null) return {};
  const problem = "couldn't get version/kind; json parse error: json: cannot unmarshal";
  if (!isJsonObject<JsonValue>(answer)) throw new GoError(`${problem} ${goJsonType(answer)} into Go value of type ${typeStruct}`);
  for (const field of ["apiVersion", "kind"])
    if (typeof (answer[field] ?? "") !== "string")
      throw new GoError(`${problem} ${goJsonType(answer[field] ?? null)} into Go struct field .${field} of type string`);
  return answer;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function typeProblem(
  actual: { readonly kind: string; readonly apiVersion: string },
  { group, kind, version }: { readonly group: string; readonly kind: string; readonly version: string },
): string {
  const isReview = actual.kind === kind && (actual.apiVersion === `${group}/v1` || actual.apiVersion === `${group}/v1beta1`);
  const isStatus = actual.kind === "Status" && actual.apiVersion === "v1";
  if (!isReview && !isStatus) return notRegistered(actual.kind, actual.apiVersion);
  const short = actual.apiVersion.slice(actual.apiVersion.indexOf("/") + 1);
  return `converting (${short}.${actual.kind}) to (${version}.${kind}): unknown conversion`;
}

/** Go also reads bytes from a list of numbers. */
function withBytes(review: JsonObject): JsonObject {
  const { response } = review;
  if (!isJsonObject<JsonValue>(response) || !Array.isArray(response["patch"])) return review;
  if (response["patch"].some((byte) => typeof byte !== "number")) return review;
  return { ...review, response: { ...response, patch: Buffer.from(response["patch"] as number[]).toString("base64") } };
}
