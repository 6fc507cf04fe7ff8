import { nodeNameOf } from "../../authorization/node-identity.ts";
import { forbidden } from "../../errors/api-status-error.ts";
import { certificatesGroup } from "../../kinds/certificates/csr-fields.ts";
import { priorityClassKind, systemPriorityClasses } from "../../kinds/plain/scheduling.ts";
import { rbacGroup } from "../../kinds/rbac/rbac-fields.ts";
import { controllerManager } from "../../rest/rest-context.ts";
import type { AdmissionContext } from "../admission-context.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission-plugin.ts";
import { admitCsrWrite } from "./certificate-admission.ts";
import { admitNodeDeletion, admitNodeEviction, admitNodeToken, admitNodeWrite } from "./node-restriction.ts";
import { admitRoleWrite } from "./role-escalation.ts";

/** Restricts nodes to their own objects. */
export function nodeRestriction({ cluster, authorizer }: AdmissionContext): AdmissionPlugin {
  return {
    name: "NodeRestriction",
    handles: ({ user, operation }) => authorizer.mode !== "AlwaysAllow" && operation !== "CONNECT" && Boolean(nodeNameOf(user)),
    mutate(request) {
      const node = { cluster, node: nodeNameOf(request.user) ?? "" };
      const { operation, kind, subresource, namespace, name, object, old } = request;
      if (operation === "DELETE") return admitNodeDeletion(node, { kind, namespace, name: old?.metadata.name ?? name });
      if (object === undefined) return undefined;
      if (subresource === "eviction") return admitNodeEviction(node, { kind, namespace, name });
      if (subresource === "token") return admitNodeToken(node, { kind, namespace, name }, object);
      return admitNodeWrite(node, request, object, old);
    },
  };
}

/** Protects the system's priority classes. Source: Kubernetes v1.36.3 plugin/pkg/admission/priority, `Validate`. */
export function priority(): AdmissionPlugin {
  return {
    name: "Priority",
    handles: ({ kind, operation }) => kind === priorityClassKind && operation === "DELETE",
    validate({ kind, old }) {
      const name = old?.metadata.name ?? "";
      if (systemPriorityClasses.some((one) => one.name === name))
        throw forbidden(kind, name, "this is a system priority class and cannot be deleted");
    },
  };
}

/** Checks of roles and bindings that the real server does in their storage, after all plugins. Its own controllers may do everything. */
export function roleEscalation({ authorizer }: AdmissionContext): AdmissionPlugin {
  return {
    name: "RoleEscalation",
    handles: ({ kind, user, operation }) => kind.group === rbacGroup && user !== controllerManager && operation !== "DELETE",
    mutate: ({ user, kind, object, old }) => object && admitRoleWrite({ authorizer, user }, kind, object, old),
  };
}

/** User of a certificate signing request, and who may approve and sign it. The server's own controllers may do both. */
export function certificateRequests({ authorizer, clock }: AdmissionContext): AdmissionPlugin {
  const admit = ({ user, kind, subresource, object, old }: AdmissionRequest): void => {
    if (object !== undefined) admitCsrWrite({ authorizer, user, kind, subresource, nowMs: clock.now() }, object, old);
  };
  return {
    name: "CertificateApproval",
    handles: ({ kind, user, operation }) => kind.group === certificatesGroup && user !== controllerManager && operation !== "DELETE",
    mutate: admit,
  };
}
