import { messageOf } from "@virtual-kubelet/errdefs";
import type { MutationPatch } from "../../cel/mutation-program.ts";
import { internalError, invalid, type ApiStatusError } from "../../errors/api-status-error.ts";
import { cloneJson, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { apiVersionOf, goKind } from "../../kinds/api-version.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { DecodeError } from "../../kinds/schema/decode.ts";
import { invalidValue } from "../../kinds/validation/field-errors.ts";
import { atomicPaths } from "../../managed-fields/atomic-paths.ts";
import { objectProblems, problemText } from "../../managed-fields/check-object.ts";
import { ItemError } from "../../managed-fields/list-items.ts";
import { mergeTypeOfKind } from "../../managed-fields/managed-types.ts";
import { mergeObjects } from "../../managed-fields/merge-objects.ts";
import { mergeTypeOf, type MergeType } from "../../managed-fields/merge-type.ts";
import { GoError } from "../../outbound/go-error.ts";
import { notRegistered } from "../../rest/type-mismatch.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";
import { applyWebhookPatch, FailedTestError } from "../webhook/apply-webhook-patch.ts";
import { decodeAdmitted, managedFieldsWarning } from "../webhook/decode-admitted.ts";

/** A mutation could not be applied: the failure policy of its policy decides. The message has the real server's words. */
export class MutationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MutationError";
  }
}

/**
 * Applies what a mutation has evaluated to, and defaults again. The object is not modified.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/mutating/patch/smd.go and json_patch.go.
 *
 * @param kind - kind of the object, which may be in another version than that of the request
 * @throws MutationError; ApiStatusError 500 if the patched object cannot be decoded
 */
export function applyMutation(
  kind: Kind,
  object: Readonly<ApiObject>,
  { problem, configuration, operations }: MutationPatch,
  { kind: requested, warn }: Pick<AdmissionRequest, "kind" | "warn">,
): Readonly<ApiObject> {
  if (problem !== undefined) throw new MutationError(problem);
  const { object: changed, managedFieldsProblem } =
    configuration === undefined ? patched(kind, object, operations) : configured(kind, object, configuration);
  // The real server has no conversion between two versions of a built-in kind, but only from and to its internal one.
  if (kind !== requested && kind.custom === undefined && object.kind === kind.kind)
    throw new MutationError(`converting (${versioned(kind)}) to (${versioned(requested)}): unknown conversion`);
  if (managedFieldsProblem !== undefined) warn(managedFieldsWarning(managedFieldsProblem));
  return changed;
}

function versioned({ version, kind }: Kind): string {
  return `${version}.${kind}`;
}

type Admitted = Pick<ReturnType<typeof decodeAdmitted>, "object" | "managedFieldsProblem">;

function configured(kind: Kind, object: Readonly<ApiObject>, configuration: JsonObject): Admitted {
  const { apiVersion } = object;
  const type = typeOf(kind, object);
  const applied = { ...configuration, apiVersion, kind: object.kind };
  const live = cloneJson(object) as JsonObject;
  checkObject(type, applied, "patch", false);
  const atomics = atomicPaths(type, applied);
  if (atomics.length > 0)
    throw new MutationError(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`,
    );
  checkObject(type, live, "original", true);
  const merged = merge(type, live, applied);
  try {
    return decodeAdmitted(kind, object, merged);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new MutationError(
      `unable to convert unstructured object to ${goKind(object.apiVersion, object.kind)}: ${conversionProblem(error)}`,
    );
  }
}

/** The real server reads the types from the OpenAPI document of the group and version, which has the bodies of only some subresources. */
function typeOf(kind: Kind, object: Readonly<ApiObject>): MergeType {
  if (object.kind === kind.kind && object.apiVersion === apiVersionOf(kind)) return mergeTypeOfKind(kind);
  const definition = documented[`${object.apiVersion} ${object.kind}`];
  if (definition !== undefined) return mergeTypeOf(definition);
  throw conversionError("patch", `no corresponding type for ${goKind(object.apiVersion, object.kind)}`);
}

const documented: Readonly<Record<string, string>> = { "v1 Binding": "io.k8s.api.core.v1.Binding" };

function conversionError(which: "patch" | "original", problem: string): MutationError {
  return new MutationError(`error applying patch: failed to convert ${which} object to typed object: ${problem}`);
}

function checkObject(type: MergeType, value: JsonObject, which: "patch" | "original", allowDuplicates: boolean): void {
  const problems = objectProblems(type, value, allowDuplicates);
  if (problems.length > 0) throw conversionError(which, problemText(problems));
}

function merge(type: MergeType, live: JsonObject, applied: JsonObject): JsonObject {
  try {
    return mergeObjects(type, live, applied) as JsonObject;
  } catch (error) {
    if (error instanceof ItemError) throw new MutationError(`error applying patch: failed to merge patch: ${error.message}`);
    throw error;
  }
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/runtime/converter.go. */
function conversionProblem({ message }: DecodeError): string {
  const [, value = "", type] = /cannot unmarshal number (\S+) into .* of type (int\d*)$/.exec(message) ?? [];
  return type === undefined || Number.isInteger(Number(value)) ? message : `cannot convert float64 to ${type}`;
}

function patched(kind: Kind, object: Readonly<ApiObject>, operations: readonly JsonValue[]): Admitted {
  const changed = patchedJson(object, operations);
  if (changed === undefined) return { object, managedFieldsProblem: undefined };
  const [givenKind, version] = [textOr(changed["kind"], object.kind), textOr(changed["apiVersion"], object.apiVersion)];
  if (givenKind !== object.kind || version !== object.apiVersion) throw typeChange(kind, object, { kind: givenKind, version });
  let admitted: ReturnType<typeof decodeAdmitted>;
  try {
    admitted = decodeAdmitted(kind, object, changed);
  } catch (error) {
    throw internalError(messageOf(error));
  }
  const unknown = admitted.unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`);
  if (unknown.length > 0) throw internalError(`strict decoding error: ${unknown.join(", ")}`);
  return admitted;
}

/** A patch has changed the type of the object. Objects of custom resources are refused only when they are validated. */
function typeChange(kind: Kind, object: Readonly<ApiObject>, changed: { readonly kind: string; readonly version: string }): ApiStatusError {
  if (kind.custom === undefined) return internalError(notRegistered(changed.kind, changed.version));
  const { group } = kind;
  const errors = [
    ...(changed.kind === object.kind ? [] : [invalidValue("kind", changed.kind, `must be ${object.kind}`)]),
    ...(changed.version === object.apiVersion ? [] : [invalidValue("apiVersion", changed.version, `must be ${object.apiVersion}`)]),
  ];
  return invalid({ group, kind: changed.kind }, object.metadata.name, errors);
}

function textOr(value: JsonValue | undefined, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}

/** @returns `undefined` if a test of the patch has failed, so that nothing is changed */
function patchedJson(object: Readonly<ApiObject>, operations: readonly JsonValue[]): JsonObject | undefined {
  try {
    return applyWebhookPatch(cloneJson(object) as JsonObject, operations);
  } catch (error) {
    if (error instanceof FailedTestError) return undefined;
    if (error instanceof GoError) throw new MutationError(`JSON Patch: ${error.message}`);
    throw error;
  }
}
