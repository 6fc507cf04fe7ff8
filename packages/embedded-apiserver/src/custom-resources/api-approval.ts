import { goQuoted } from "../json/go-quote.ts";
import type { ApiObject, FieldError } from "../kinds/kind.ts";
import { invalidValue, required } from "../kinds/validation/field-errors.ts";
import type { CrdCondition, CrdSpec } from "./crd-fields.ts";

/**
 * Approval of definitions in the groups of the Kubernetes community, such as `gateway.networking.k8s.io`.
 *
 * Source of this file: k8s.io/apiextensions-apiserver v0.36.3 pkg/apihelpers/helpers.go, pkg/controller/apiapproval/apiapproval_controller.go
 * and pkg/apis/apiextensions/validation/validation.go, `validateAPIApproval`.
 */

const annotation = "api-approved.kubernetes.io";
const requirement = `protected groups must have approval annotation ${goQuoted(annotation)}`;
const enhancement = "see https://github.com/kubernetes/enhancements/pull/1111";

/** Fields of a definition that its approval depends on. */
interface Approved {
  readonly metadata: Pick<ApiObject["metadata"], "annotations">;
  readonly spec: Pick<CrdSpec, "group">;
}

/** Reason and message of the condition. */
interface Approval {
  readonly reason: "MissingAnnotation" | "UnapprovedAnnotation" | "ApprovedAnnotation" | "InvalidAnnotation";
  readonly message: string;
}

/** Errors of a definition whose approval is missing or invalid, unless it was already so before an update. */
export function approvalErrors(definition: Approved, old: Approved | undefined): FieldError[] {
  if (!isProtected(definition.spec.group)) return [];
  const { reason, message } = approvalOf(definition);
  if (old !== undefined && approvalOf(old).reason === reason) return [];
  const field = `metadata.annotations[${annotation}]`;
  if (reason === "MissingAnnotation") return [required(field, message)];
  return reason === "InvalidAnnotation" ? [invalidValue(field, definition.metadata.annotations?.[annotation], message)] : [];
}

/** Condition of a definition in a protected group; `undefined` for other groups. */
export function approvalCondition(definition: Approved): CrdCondition | undefined {
  if (!isProtected(definition.spec.group)) return undefined;
  const { reason, message } = approvalOf(definition);
  return { type: "KubernetesAPIApprovalPolicyConformant", status: reason === "ApprovedAnnotation" ? "True" : "False", reason, message };
}

function isProtected(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

function approvalOf({ metadata }: Approved): Approval {
  const text = metadata.annotations?.[annotation] ?? "";
  if (text === "") return { reason: "MissingAnnotation", message: `${requirement}, ${enhancement}` };
  if (text.startsWith("unapproved")) return { reason: "UnapprovedAnnotation", message: `not approved: ${goQuoted(text)}` };
  if (isUrlWithHost(text)) return { reason: "ApprovedAnnotation", message: `approved in ${text}` };
  return {
    reason: "InvalidAnnotation",
    message: `${requirement} with either a URL or a reason starting with "unapproved", ${enhancement}`,
  };
}

/** Scheme, host, and the path without the query. A host cannot contain escapes. */
const urlWithHost = /^[a-z][a-z\d+.-]*:\/\/(?:[^/?@]*@)?(?:\[[^\]/?]+\]|[\w.~!$&'()*+,;=<>"\u0080-\uffff-]+)(?::\d*)?(\/[^?]*)?(?:\?|$)/i;

/** Source: Go's net/url, `ParseRequestURI`. */
function isUrlWithHost(text: string): boolean {
  const match = urlWithHost.exec(text);
  return match !== null && !/\p{Cc}/u.test(text) && !/%(?![\da-f]{2})/i.test(match[1] ?? "");
}
