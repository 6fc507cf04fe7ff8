import { type CertificateRequest, parseCertificateRequest } from "@virtual-kubelet/pki";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { UserInfo } from "../http/api-request.ts";
import { certificateSigningRequestKind } from "../kinds/certificates/certificate-signing-request.ts";
import { certificatesGroup, type CsrSpec, hasCondition, requestPem, signerNames } from "../kinds/certificates/csr-fields.ts";
import type { ControllerContext } from "./shared/controller-context.ts";
import { kubeletClientProblem } from "./certificate-signers.ts";
import { followOpenRequests, withTrueCondition } from "./open-certificate-requests.ts";

/**
 * Approves the client certificates that kubelets ask for, if whoever asks may create `certificatesigningrequests` with
 * the sub-resource `selfnodeclient` or `nodeclient`.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/certificates/approver/sarapprove.go.
 */
export function startCertificateApprover(context: ControllerContext, authorizer: Authorizer): Disposable {
  return followOpenRequests(context, ({ spec, status }) => {
    if (hasCondition(status, "Approved")) return undefined;
    const right = rightsFor(spec, parseCertificateRequest(requestPem(spec))).find(({ subresource }) => may(spec, subresource));
    if (right === undefined) return undefined;
    return withTrueCondition(status, { type: "Approved", reason: "AutoApproved", message: right.message }, context.clock.now());
  });

  function may(spec: CsrSpec, subresource: string): boolean {
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

/** The rights of which one is enough. */
function rightsFor(spec: CsrSpec, request: CertificateRequest): { readonly subresource: string; readonly message: string }[] {
  if (spec.signerName !== signerNames.kubeletClient || kubeletClientProblem(request, spec.usages ?? []) !== undefined) return [];
  const forNodes = { subresource: "nodeclient", message: "Auto approving kubelet client certificate after SubjectAccessReview." };
  if (spec.username !== request.commonName) return [forNodes];
  return [
    { subresource: "selfnodeclient", message: "Auto approving self kubelet client certificate after SubjectAccessReview." },
    forNodes,
  ];
}
