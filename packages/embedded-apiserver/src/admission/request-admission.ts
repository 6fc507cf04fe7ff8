import { forbidden } from "../errors/api-status-error.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { nodeNameOf } from "../authorization/node-identity.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { JsonValue } from "../json/json-value.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { certificatesGroup } from "../kinds/certificates/csr-fields.ts";
import { priorityClassKind, systemPriorityClasses } from "../kinds/plain/scheduling.ts";
import { rbacGroup } from "../kinds/rbac/rbac-fields.ts";
import type { ObjectAddress, RestContext } from "../rest/rest-context.ts";
import { admitCsrWrite } from "./certificate-admission.ts";
import { admitNodeDeletion, admitNodeEviction, admitNodeToken, admitNodeWrite, type WritingNode } from "./node-restriction.ts";
import { admitRoleWrite } from "./role-escalation.ts";

/** Parts of a request that admission depends on. */
export interface AdmissionRequest {
  readonly context: RestContext;
  readonly authorizer: Authorizer;
  readonly user: UserInfo;
  readonly kind: Kind;
  /** `""` for the object itself. */
  readonly subresource: string;
}

/** Checks beyond authorization, which depend on the object or on the content of the request. Every method throws ApiStatusError. */
export interface RequestAdmission {
  /** Checks an object before it is stored; may modify `object`. */
  write(object: ApiObject, old: Readonly<ApiObject> | undefined): void;
  /** Checks an object before it is deleted. */
  remove(address: ObjectAddress): void;
  /** Checks a pod before it is evicted. */
  evict(address: ObjectAddress): void;
  /** Checks a token request. */
  token(address: ObjectAddress, body: JsonValue): void;
}

export function requestAdmission(request: AdmissionRequest): RequestAdmission {
  const node = writingNode(request);
  return {
    write(object, old) {
      if (request.kind.group === rbacGroup) admitRoleWrite(request, request.kind, object, old);
      if (request.kind.group === certificatesGroup) admitCsrWrite({ ...request, nowMs: request.context.clock.now() }, object, old);
      if (node !== undefined) admitNodeWrite(node, request, object, old);
    },
    remove(address) {
      admitClassDeletion(address);
      if (node !== undefined) admitNodeDeletion(node, address);
    },
    evict: (address) => node !== undefined && admitNodeEviction(node, address),
    token: (address, body) => node !== undefined && admitNodeToken(node, address, body),
  };
}

/** Source: Kubernetes v1.36.3 plugin/pkg/admission/priority, `Validate`. */
function admitClassDeletion({ kind, name }: ObjectAddress): void {
  if (kind === priorityClassKind && systemPriorityClasses.some((one) => one.name === name))
    throw forbidden(kind, name, "this is a system priority class and cannot be deleted");
}

function writingNode({ authorizer, context, user }: AdmissionRequest): WritingNode | undefined {
  if (authorizer.mode === "AlwaysAllow") return undefined;
  const node = nodeNameOf(user);
  return node === undefined || node === "" ? undefined : { context, node };
}
