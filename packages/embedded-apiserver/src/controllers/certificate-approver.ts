import type { Authorizer } from "../authorization/authorizer.ts";
import { type CertificateRequest, parseCertificateRequest } from "../certificates/certificate-request.ts";
import { toTimestamp } from "../clock.ts";
import type { UserInfo } from "../http/api-request.ts";
import { certificateSigningRequestKind } from "../kinds/certificates/certificate-signing-request.ts";
import {
  certificatesGroup,
  type CsrSpec,
  type CsrStatus,
  hasCondition,
  requestPem,
  signerNames,
} from "../kinds/certificates/csr-fields.ts";
import type { ControllerDeps } from "./controller-deps.ts";
import { kubeletClientProblem } from "./certificate-signers.ts";
import { createWorkLoop } from "./work-loop.ts";

/**
 * Approves the client certificates that kubelets ask for, if whoever asks may create `certificatesigningrequests` with
 * the sub-resource `selfnodeclient` or `nodeclient`.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/certificates/approver/sarapprove.go.
 */
export function startCertificateApprover(deps: ControllerDeps, authorizer: Authorizer): Disposable {
  const { cluster, clock } = deps;
  const resources = new DisposableStack();
  const loop = resources.use(createWorkLoop({ ...deps, process: sync }));
  resources.use(cluster.watch(certificateSigningRequestKind, ({ type, object }) => type !== "DELETED" && loop.add(object.metadata.name)));
  return resources;

  function sync(name: string): void {
    const csr = cluster.get(certificateSigningRequestKind, undefined, name);
    if (csr === undefined) return;
    const spec: CsrSpec = csr["spec"];
    const status: CsrStatus = csr["status"];
    if (status.certificate !== undefined || hasCondition(status, "Approved") || hasCondition(status, "Denied")) return;
    const right = rightsFor(spec, parseCertificateRequest(requestPem(spec))).find(({ subresource }) => may(spec, subresource));
    if (right === undefined) return;
    const now = toTimestamp(clock.now());
    const approved = {
      type: "Approved",
      status: "True",
      reason: "AutoApproved",
      message: right.message,
      lastUpdateTime: now,
      lastTransitionTime: now,
    };
    const change = (object: typeof csr): typeof csr => ({
      ...object,
      status: { ...object["status"], conditions: [...(object["status"].conditions ?? []), approved] },
    });
    cluster.update(certificateSigningRequestKind, undefined, name, change, "status");
  }

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
