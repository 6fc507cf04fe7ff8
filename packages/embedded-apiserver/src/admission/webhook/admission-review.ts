import { ApiStatusError } from "../../errors/api-status-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { GoError } from "../../outbound/go-error.ts";
import type { DecodedReview } from "../../outbound/decode-review.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";
import { admissionNamespace } from "../selectors.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/request/admissionreview.go and errors/statuserror.go. */

/** Versions of AdmissionReview that the server can send. */
export type ReviewVersion = "v1" | "v1beta1";

/** First version that the webhook accepts and the server can send; `undefined` if there is none. */
export function reviewVersionOf(accepted: readonly string[] = []): ReviewVersion | undefined {
  return accepted.find((version): version is ReviewVersion => version === "v1" || version === "v1beta1");
}

/** Objects of a review in the version of `kind`. */
export interface ReviewObjects {
  readonly kind: Kind;
  readonly object: Readonly<ApiObject> | undefined;
  readonly old: Readonly<ApiObject> | undefined;
}

/** `request` of an AdmissionReview without its objects. */
export function reviewFacts(request: AdmissionRequest, { kind, object, old }: ReviewObjects): JsonObject {
  const { subresource, operation, name, user, dryRun, options } = request;
  const namespace = admissionNamespace(request);
  return {
    kind: typeOf(object ?? old, kind),
    resource: resourceOf(kind),
    ...(subresource === "" ? {} : { subResource: subresource }),
    requestKind: typeOf(request.object ?? request.old, request.kind),
    requestResource: resourceOf(request.kind),
    ...(subresource === "" ? {} : { requestSubResource: subresource }),
    ...(name === "" ? {} : { name }),
    ...(namespace === "" ? {} : { namespace }),
    operation,
    userInfo: {
      username: user.username,
      ...(user.uid === undefined ? {} : { uid: user.uid }),
      ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
      ...(user.extra === undefined ? {} : { extra: user.extra as unknown as JsonObject }),
    },
    dryRun,
    options: (options as JsonObject | undefined) ?? null,
  };
}

/** Body for a webhook. */
export function admissionReview(version: ReviewVersion, uid: string, request: AdmissionRequest, objects: ReviewObjects): JsonObject {
  return {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid,
      ...reviewFacts(request, objects),
      object: (objects.object as JsonObject | undefined) ?? null,
      oldObject: (objects.old as JsonObject | undefined) ?? null,
    },
  };
}

/** Group, version and kind of an object; those of its resource if there is no object. */
function typeOf(object: Readonly<ApiObject> | undefined, { group, version, kind }: Kind): JsonObject {
  if (object === undefined) return { group, version, kind };
  const parts = object.apiVersion.split("/");
  return { group: parts.length === 1 ? "" : (parts[0] ?? ""), version: parts.at(-1) ?? "", kind: object.kind };
}

function resourceOf({ group, version, plural }: Kind): JsonObject {
  return { group, version, resource: plural };
}

/** What a webhook answered. */
export interface ReviewAnswer {
  readonly allowed: boolean;
  /** JSON text of the patch; `""` if there is none. */
  readonly patch: string;
  readonly patchType: string;
  readonly result: JsonObject | undefined;
  readonly warnings: readonly string[];
}

/**
 * Reads the decoded answer of a webhook. Only version v1 is verified.
 *
 * @throws GoError with the words of the real server
 */
export function readReview(
  { response, ...type }: DecodedReview,
  { uid, version, isMutating }: { readonly uid: string; readonly version: ReviewVersion; readonly isMutating: boolean },
): ReviewAnswer {
  if (response === undefined) throw new GoError("webhook response was absent");
  const patch = Buffer.from(textOf(response["patch"]), "base64").toString();
  const { patchType } = response;
  if (version === "v1") {
    checkUid(response, uid);
    checkType(type);
    checkPatch(patch, patchType, isMutating);
  }
  return {
    allowed: response["allowed"] === true,
    patch: isMutating ? patch : "",
    patchType: version === "v1beta1" ? "JSONPatch" : textOf(patchType),
    result: isJsonObject(response["status"]) ? response["status"] : undefined,
    warnings: Array.isArray(response["warnings"]) ? response["warnings"].map(String) : [],
  };
}

/** A type that was left out is noticed only here. */
function checkType({ kind, apiVersion }: Omit<DecodedReview, "response">): void {
  if (kind === "AdmissionReview" && apiVersion === "admission.k8s.io/v1") return;
  const given = apiVersion === "" ? `/, Kind=${kind}` : `${apiVersion}, Kind=${kind}`;
  throw new GoError(`expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${given}`);
}

function checkUid(response: JsonObject, uid: string): void {
  const given = textOf(response["uid"]);
  if (given !== uid) throw new GoError(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(given)}`);
}

function checkPatch(patch: string, patchType: JsonValue | undefined, isMutating: boolean): void {
  const hasType = patchType !== undefined && patchType !== null;
  if (!isMutating) {
    if (patch !== "") throw new GoError("validating webhook may not return response.patch");
    if (hasType) throw new GoError("validating webhook may not return response.patchType");
    return;
  }
  if (patch !== "" && !hasType) throw new GoError("webhook returned response.patch but not response.patchType");
  if (patch === "" && hasType) throw new GoError("webhook returned response.patchType but not response.patch");
  if (patchType === "") throw new GoError('webhook returned invalid response.patchType of ""');
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Error for the client whose request a webhook denied. */
export function denial(webhookName: string, result: JsonObject = {}): ApiStatusError {
  const deniedBy = `admission webhook ${JSON.stringify(webhookName)} denied the request`;
  const code = typeof result["code"] === "number" && result["code"] >= 400 ? result["code"] : 400;
  const message = textOf(result["message"]);
  const reason = textOf(result["reason"]);
  const explanation = message === "" ? reason : message;
  return new ApiStatusError({
    code,
    message: explanation === "" ? `${deniedBy} without explanation` : `${deniedBy}: ${explanation}`,
    ...(reason === "" ? {} : { reason }),
    ...(isJsonObject(result["details"]) ? { details: result["details"] } : {}),
  });
}
