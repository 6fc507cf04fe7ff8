import { apiVersionOf, groupVersionProblem } from "../kinds/api-version.ts";
import { badRequest } from "../errors/api-status-error.ts";
import { goJsonType } from "../json/go-json.ts";
import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import { kinds } from "../kinds/index.ts";

/** Type of a request's body. */
export interface BodyType {
  /** `""` for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Of a custom resource. Its kind is validated with the object. */
  readonly custom?: unknown;
}

/** Actual type of a body, and the problem with it. */
export interface TypeMismatch {
  readonly given: Pick<BodyType, "kind" | "version">;
  readonly problem: string;
}

/**
 * Checks that a body has the expected type; kind and version may be missing.
 *
 * Source of the messages: k8s.io/apimachinery v0.36.3 pkg/runtime/error.go and k8s.io/apiserver pkg/endpoints/handlers/create.go.
 *
 * @throws ApiStatusError 400
 */
export function checkBodyType(wanted: BodyType, body: JsonValue): void {
  const mismatch = typeMismatch(wanted, body);
  if (mismatch !== undefined) throw badRequest(unhandled(wanted.kind, mismatch.given, mismatch.problem));
}

/** Problem with a body's type; `undefined` if it is the expected one. */
export function typeMismatch(wanted: BodyType, body: JsonValue): TypeMismatch | undefined {
  if (!isJsonObject(body) || wanted.custom !== undefined) return undefined;
  const wantedVersion = apiVersionOf(wanted);
  const kind = textOr(body["kind"], wanted.kind);
  const given = textOr(body["apiVersion"], wantedVersion);
  const apiVersion = given === "/" ? wantedVersion : given;
  if (kind === wanted.kind && apiVersion === wantedVersion) return undefined;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  const problem = isKnown(kind, apiVersion)
    ? `converting (${version}.${kind}) to (${internalGroup(wanted.group)}.${wanted.kind}): unknown conversion`
    : notRegistered(kind, apiVersion);
  return { given: { kind, version }, problem };
}

/**
 * Problem with the fields `apiVersion` and `kind` of a body, which are read before anything else; `undefined` if they can be read.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/runtime/serializer/json/meta.go, `Interpret`, and pkg/runtime/schema, `ParseGroupVersion`.
 */
export function typeMetaProblem(body: JsonValue): string | undefined {
  if (body === null) return undefined;
  const cannotRead = `couldn't get version/kind; json parse error: json: cannot unmarshal`;
  if (!isJsonObject<JsonValue>(body))
    return `${cannotRead} ${goJsonType(body)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
  const wrong = Object.entries(body).find(([field, value]) => typeMeta.has(field) && value !== null && typeof value !== "string");
  if (wrong !== undefined) return `${cannotRead} ${goJsonType(wrong[1])} into Go struct field .${wrong[0]} of type string`;
  return groupVersionProblem(textOr(body["apiVersion"], ""));
}

const typeMeta: ReadonlySet<string> = new Set(["apiVersion", "kind"]);

/** Message for a body that cannot be used as the expected kind. */
export function unhandled(wanted: string, given: Pick<BodyType, "kind" | "version">, problem: string): string {
  return `${given.kind} in version ${JSON.stringify(given.version)} cannot be handled as a ${wanted}: ${problem}`;
}

/** Message for an unknown kind. */
export function notRegistered(kind: string, apiVersion: string): string {
  return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`;
}

function isKnown(kind: string, apiVersion: string): boolean {
  return kinds.some((one) => one.kind === kind && apiVersionOf(one) === apiVersion);
}

/** Package of the real server's internal types, such as `core` or `coordination`. */
export function internalGroup(group: string): string {
  return group === "" ? "core" : (group.split(".", 1)[0] ?? "");
}

function textOr(value: JsonValue | undefined, missing: string): string {
  return typeof value === "string" && value !== "" ? value : missing;
}
