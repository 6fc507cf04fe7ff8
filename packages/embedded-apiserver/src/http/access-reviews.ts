import { badRequest, invalid } from "../errors/api-status-error.ts";
import { type Access, equalFields } from "../authorization/access-request.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { FieldError } from "../kinds/kind.ts";
import { invalidValue } from "../kinds/validation/field-errors.ts";
import type { UserInfo } from "../authentication/user-info.ts";

/** Answer of a review, without its kind. */
export interface Review {
  readonly metadata?: JsonValue | undefined;
  readonly spec?: JsonValue;
  readonly status: unknown;
}

/** Source of this file: Kubernetes v1.36.3 pkg/registry/authorization and pkg/apis/authorization/validation. */

/** Answers a SubjectAccessReview. @throws ApiStatusError 422 */
export function reviewAccess(authorizer: Authorizer, body: JsonObject): Review {
  const spec = specOf(body);
  check([...attributeErrors(spec), ...subjectErrors(spec), ...metadataErrors(body, "must be empty")]);
  return decided(authorizer, body, subjectOf(spec));
}

/** Answers a SelfSubjectAccessReview. @throws ApiStatusError 422 */
export function reviewOwnAccess(authorizer: Authorizer, body: JsonObject, user: UserInfo): Review {
  check([...attributeErrors(specOf(body)), ...metadataErrors(body, "must be empty")]);
  return decided(authorizer, body, user);
}

/** Answers a LocalSubjectAccessReview. @throws ApiStatusError 400 or 422 */
export function reviewLocalAccess(authorizer: Authorizer, body: JsonObject, namespace: string): Review {
  const spec = specOf(body);
  const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  const own = typeof metadata["namespace"] === "string" && metadata["namespace"] !== "" ? metadata["namespace"] : namespace;
  if (own !== namespace) throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  const { resourceAttributes, nonResourceAttributes } = spec;
  const errors = [...attributeErrors(spec), ...subjectErrors(spec)];
  if (isJsonObject(resourceAttributes) && (resourceAttributes["namespace"] ?? "") !== namespace)
    errors.push(invalidValue("spec.resourceAttributes.namespace", resourceAttributes["namespace"] ?? "", "must match metadata.namespace"));
  if (nonResourceAttributes !== undefined)
    errors.push(invalidValue("spec.nonResourceAttributes", asGoStruct(nonResourceAttributes), "disallowed on this kind of request"));
  check(errors);
  return decided(authorizer, { ...body, metadata: { ...metadata, namespace } }, subjectOf(spec));
}

/** Answers a SelfSubjectRulesReview. @throws ApiStatusError 400 */
export function reviewOwnRules(authorizer: Authorizer, body: JsonObject, user: UserInfo): Review {
  const { namespace } = specOf(body);
  if (typeof namespace !== "string" || namespace === "") throw badRequest("no namespace on request");
  const { rules, incompleteBecause } = authorizer.rulesFor(user, namespace);
  const resourceRules = rules
    .filter(({ resources = [] }) => resources.length > 0)
    .map(({ verbs, apiGroups, resources, resourceNames }) => ({
      verbs,
      apiGroups,
      resources,
      ...(resourceNames === undefined ? {} : { resourceNames }),
    }));
  const nonResourceRules = rules
    .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
    .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs }));
  const status = {
    resourceRules,
    nonResourceRules,
    incomplete: incompleteBecause !== undefined,
    ...(incompleteBecause === undefined ? {} : { evaluationError: incompleteBecause }),
  };
  return { spec: {}, status };
}

function specOf({ spec }: JsonObject): JsonObject {
  return isJsonObject(spec) ? spec : {};
}

function decided(authorizer: Authorizer, body: JsonObject, user: UserInfo): Review {
  const { isAllowed, reason } = authorizer.authorize(user, accessOfSpec(specOf(body)));
  const status = { allowed: isAllowed, ...(reason === "" ? {} : { reason }) };
  return { metadata: body["metadata"], spec: specOf(body), status };
}

function accessOfSpec({ resourceAttributes, nonResourceAttributes }: JsonObject): Access {
  if (!isJsonObject(resourceAttributes)) {
    const { verb, path } = isJsonObject(nonResourceAttributes) ? nonResourceAttributes : {};
    return { verb: textOf(verb), path: textOf(path) };
  }
  const { verb, group, resource, subresource, namespace, name, fieldSelector } = resourceAttributes;
  return {
    verb: textOf(verb),
    group: textOf(group),
    resource: textOf(resource),
    subresource: textOf(subresource),
    namespace: textOf(namespace),
    name: textOf(name),
    fieldValues: fieldValuesOf(fieldSelector),
  };
}

function fieldValuesOf(selector: JsonValue | undefined): ReadonlyMap<string, string> {
  if (!isJsonObject(selector)) return new Map();
  const { rawSelector, requirements } = selector;
  if (!Array.isArray(requirements)) return equalFields(textOf(rawSelector));
  return new Map(
    requirements.filter(isJsonObject<JsonValue>).flatMap(({ key, operator, values }): [string, string][] => {
      const [value, ...others] = Array.isArray(values) ? values : [];
      return operator === "In" && value !== undefined && others.length === 0 ? [[textOf(key), textOf(value)]] : [];
    }),
  );
}

function subjectOf({ user, groups, uid, extra }: JsonObject): UserInfo {
  return {
    username: textOf(user),
    groups: Array.isArray(groups) ? groups.map(String) : [],
    ...(uid === undefined ? {} : { uid: textOf(uid) }),
    ...(isJsonObject(extra) ? { extra: extra as Record<string, string[]> } : {}),
  };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function attributeErrors({ resourceAttributes, nonResourceAttributes }: JsonObject): FieldError[] {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined)
    return [
      invalidValue(
        "spec.nonResourceAttributes",
        asGoStruct(nonResourceAttributes),
        "cannot be specified in combination with resourceAttributes",
      ),
    ];
  if (resourceAttributes !== undefined || nonResourceAttributes !== undefined) return [];
  return [invalidValue("spec.resourceAttributes", null, "exactly one of nonResourceAttributes or resourceAttributes must be specified")];
}

/** The real server prints its own struct in the message. */
function asGoStruct(attributes: JsonValue): object {
  const { path, verb } = isJsonObject(attributes) ? attributes : {};
  return { Path: textOf(path), Verb: textOf(verb) };
}

function subjectErrors({ user = "", groups }: JsonObject): FieldError[] {
  const isNamed = user !== "" || (Array.isArray(groups) && groups.length > 0);
  return isNamed ? [] : [invalidValue("spec.user", user, "at least one of user or group must be specified")];
}

function metadataErrors({ metadata }: JsonObject, problem: string): FieldError[] {
  const { managedFields: _managed, ...rest }: JsonObject = isJsonObject(metadata) ? metadata : {};
  return Object.keys(rest).length === 0 ? [] : [invalidValue("metadata", metadata, problem)];
}

/** The real server omits the kind from the message. */
function check(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: "authorization.k8s.io", kind: "" }, "", errors);
}
