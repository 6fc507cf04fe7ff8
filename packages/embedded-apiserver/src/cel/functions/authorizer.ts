import type { UserInfo } from "../../authentication/user-info.ts";
import type { Access } from "../../authorization/access-request.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../../kinds/validation/names.ts";
import { declare, type FunctionPart } from "../signatures.ts";
import { EvaluationError, Opaque, type Value } from "../values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/cel/library/authz.go. */

/** Decides about accesses of a user. */
export type Authorize = (user: UserInfo, access: Access) => { readonly isAllowed: boolean; readonly reason: string };

abstract class Check extends Opaque {
  override equals(other: Value): boolean {
    return other === this;
  }
}

/** The variable `authorizer`: the accesses of the user of a request. */
export class AuthorizerValue extends Check {
  readonly typeName = "kubernetes.authorization.Authorizer";
  readonly user: UserInfo;
  readonly authorize: Authorize;

  constructor(user: UserInfo, authorize: Authorize) {
    super();
    this.user = user;
    this.authorize = authorize;
  }
}

class PathCheck extends Check {
  readonly typeName = "kubernetes.authorization.PathCheck";
  readonly authorizer: AuthorizerValue;
  readonly path: string;

  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends Check {
  readonly typeName = "kubernetes.authorization.GroupCheck";
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

/** Resource of a check; `""` for what is not given. */
export interface CheckedResource {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
}

/** The variable `authorizer.requestResource`, or the result of `authorizer.group(…).resource(…)`. */
export class ResourceCheck extends Check {
  readonly typeName = "kubernetes.authorization.ResourceCheck";
  readonly authorizer: AuthorizerValue;
  readonly checked: CheckedResource;

  constructor(authorizer: AuthorizerValue, checked: CheckedResource) {
    super();
    this.authorizer = authorizer;
    this.checked = checked;
  }
}

class Decision extends Check {
  readonly typeName = "kubernetes.authorization.Decision";
  readonly isAllowed: boolean;
  readonly reason: string;

  constructor(isAllowed: boolean, reason: string) {
    super();
    this.isAllowed = isAllowed;
    this.reason = reason;
  }
}

function serviceAccount(value: Value, namespace: Value, name: Value): AuthorizerValue {
  if (dnsSubdomainProblems(String(name)).length > 0) throw new EvaluationError("Invalid service account name");
  if (dnsLabelProblems(String(namespace)).length > 0) throw new EvaluationError("Invalid service account namespace");
  const user = {
    username: `system:serviceaccount:${String(namespace)}:${String(name)}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${String(namespace)}`],
  };
  return new AuthorizerValue(user, (value as AuthorizerValue).authorize);
}

function notEmpty(text: Value | undefined, name: string): string {
  if (String(text).trim() === "") throw new EvaluationError(`${name} must not be empty`);
  return String(text);
}

function check(value: Value, verb: Value): Decision {
  const { authorizer } = value as PathCheck | ResourceCheck;
  const { isAllowed, reason } = authorizer.authorize(authorizer.user, accessOf(value, String(verb)));
  return new Decision(isAllowed, reason);
}

function accessOf(value: Value, verb: string): Access {
  if (value instanceof PathCheck) return { path: value.path, verb };
  const { group, resource, subresource = "", namespace = "", name = "", fieldSelector = "" } = (value as ResourceCheck).checked;
  return { verb, group, resource, subresource, namespace, name, fieldValues: fieldValues(fieldSelector) };
}

/** Fields that a selector requires to be equal to a value. */
function fieldValues(selector: string): ReadonlyMap<string, string> {
  return new Map(
    selector.split(",").flatMap((requirement) => {
      const [, field, value] = /^([^=!]+)==?(.*)$/.exec(requirement) ?? [];
      return field === undefined || value === undefined ? [] : [[field, value] as const];
    }),
  );
}

function withPart(part: Exclude<keyof CheckedResource, "group" | "resource">): (value: Value, text: Value) => ResourceCheck {
  return (value, text) => {
    const { authorizer, checked } = value as ResourceCheck;
    return new ResourceCheck(authorizer, { ...checked, [part]: String(text) });
  };
}

export const authorizerFunctions: readonly FunctionPart[] = [
  declare(
    "path",
    ["authorizer_path Authorizer.(string) -> PathCheck"],
    (value, path) => new PathCheck(value as AuthorizerValue, notEmpty(path, "path")),
  ),
  declare(
    "group",
    ["authorizer_group Authorizer.(string) -> GroupCheck"],
    (value, group) => new GroupCheck(value as AuthorizerValue, String(group)),
  ),
  declare("serviceAccount", ["authorizer_serviceaccount Authorizer.(string, string) -> Authorizer"], serviceAccount),
  declare("resource", ["groupcheck_resource GroupCheck.(string) -> ResourceCheck"], (value, resource) => {
    const { authorizer, group } = value as GroupCheck;
    return new ResourceCheck(authorizer, { group, resource: notEmpty(resource, "resource") });
  }),
  declare("subresource", ["resourcecheck_subresource ResourceCheck.(string) -> ResourceCheck"], withPart("subresource")),
  declare("namespace", ["resourcecheck_namespace ResourceCheck.(string) -> ResourceCheck"], withPart("namespace")),
  declare("name", ["resourcecheck_name ResourceCheck.(string) -> ResourceCheck"], withPart("name")),
  declare("fieldSelector", ["authorizer_fieldselector ResourceCheck.(string) -> ResourceCheck"], withPart("fieldSelector")),
  // Rules of roles do not depend on labels.
  declare("labelSelector", ["authorizer_labelselector ResourceCheck.(string) -> ResourceCheck"], (value) => value ?? null),
  declare("check", ["pathcheck_check PathCheck.(string) -> Decision", "resourcecheck_check ResourceCheck.(string) -> Decision"], check),
  declare("errored", ["decision_errored Decision.() -> bool"], () => false),
  declare("error", ["decision_error Decision.() -> string"], () => ""),
  declare("allowed", ["decision_allowed Decision.() -> bool"], (decision) => (decision as Decision).isAllowed),
  declare("reason", ["decision_reason Decision.() -> string"], (decision) => (decision as Decision).reason),
];
