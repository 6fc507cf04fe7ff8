import { type CertificateRequest, parseCertificateRequest } from "@virtual-kubelet/pki";
import type { Authorizer } from "../../authorization/authorizer.ts";
import type { UserInfo } from "../../authentication/user-info.ts";
import { certificateSigningRequestKind } from "../../kinds/certificates/certificate-signing-request.ts";
import { certificatesGroup, type CsrSpec, hasCondition, requestPem, signerNames } from "../../kinds/certificates/csr-fields.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { kubeletClientProblem } from "./signer-rules.ts";
import { followOpenRequests, withTrueCondition } from "./open-certificate-requests.ts";

/**
 * Approves requests for client certificates of kubelets.
 *
 * The requester needs permission to create `certificatesigningrequests/nodeclient`. For a certificate with the requester's own name,
 * permission to create `certificatesigningrequests/selfnodeclient` is enough.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/certificates/approver/sarapprove.go.
 */
export function startCertificateApprover(context: ControllerContext, authorizer: Authorizer): Disposable {
  return followOpenRequests(context, ({ spec, status }) => {
    if (hasCondition(status, "Approved")) return undefined;
    const permission = sufficientPermissions(spec, parseCertificateRequest(requestPem(spec))).find(({ subresource }) =>
      mayCreate(spec, subresource),
    );
    if (permission === undefined) return undefined;
    return withTrueCondition(status, { type: "Approved", reason: "AutoApproved", message: permission.message }, context.clock.now());
  });

  /** Whether the requester may create `certificatesigningrequests` with this sub-resource. */
  function mayCreate(spec: CsrSpec, subresource: string): boolean {
    const user: UserInfo = { username: spec.username ?? "", groups: spec.groups ?? [] };
    return authorizer.authorize(user, {
      verb: "create",
      group: certificatesGroup,
      resource: certificateSigningRequestKind.plural,
      subresource,
      namespace: "",
      name: "",
      fieldValues: new Map(),
    }).isAllowed;
  }
}

/** Permissions of which the requester needs one. Empty if the request is not for a kubelet's client certificate. */
function sufficientPermissions(spec: CsrSpec, request: CertificateRequest): { readonly subresource: string; readonly message: string }[] {
  if (spec.signerName !== signerNames.kubeletClient || kubeletClientProblem(request, spec.usages ?? []) !== undefined) return [];
  const forNodes = { subresource: "nodeclient", message: "Auto approving kubelet client certificate after SubjectAccessReview." };
  if (spec.username !== request.commonName) return [forNodes];
  return [
    { subresource: "selfnodeclient", message: "Auto approving self kubelet client certificate after SubjectAccessReview." },
    forNodes,
  ];
}
