import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { type CertificateRequest, parseCertificateRequest } from "@virtual-kubelet/pki";
import { forbidden, invalid } from "../../errors/api-status-error.ts";
import type { Access } from "../../authorization/access-request.ts";
import type { Authorizer } from "../../authorization/authorizer.ts";
import { nodeNameOf } from "../../authorization/node-identity.ts";
import type { UserInfo } from "../../authentication/user-info.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError, Kind } from "../../kinds/kind.ts";
import {
  certificatesGroup,
  type CsrCondition,
  type CsrSpec,
  type CsrStatus,
  requestPem,
  signerNames,
} from "../../kinds/certificates/csr-fields.ts";
import { forbiddenField } from "../../kinds/validation/field-errors.ts";

/** The user who writes a certificate signing request, and the part that is written. */
export interface CsrWriter {
  readonly authorizer: Authorizer;
  readonly user: UserInfo;
  readonly kind: Kind;
  readonly subresource: string;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Records the requesting user, and restricts approval and signing to authorized users.
 *
 * Source: Kubernetes v1.36.3 pkg/registry/certificates/certificates/strategy.go, plugin/pkg/admission/certificates and `admitCSR` of
 * plugin/pkg/admission/noderestriction.
 *
 * @throws ApiStatusError 403 or 422
 */
export function admitCsrWrite(writer: CsrWriter, csr: ApiObject, old: Readonly<ApiObject> | undefined): void {
  if (old === undefined) admitNew(writer, csr);
  else if (writer.subresource === "approval") admitApproval(writer, csr, old);
  else if (writer.subresource === "status") admitStatus(writer, csr, old);
}

function admitNew({ authorizer, user, kind }: CsrWriter, csr: ApiObject): void {
  const { request, signerName, expirationSeconds, usages }: CsrSpec = csr["spec"];
  const spec: CsrSpec = { request, signerName };
  if (expirationSeconds !== undefined) spec.expirationSeconds = expirationSeconds;
  if (usages !== undefined) spec.usages = usages;
  if (user.username !== "") spec.username = user.username;
  if (user.uid !== undefined) spec.uid = user.uid;
  if (user.groups.length > 0) spec.groups = [...user.groups];
  if (user.extra !== undefined) spec.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]));
  csr["spec"] = spec;
  if (authorizer.mode === "AlwaysAllow") return;
  const wanted = tryParse(spec);
  if (wanted === undefined) return;
  const name = csr.metadata.name ?? "";
  if (signerName === signerNames.apiServerClient && wanted.organizations.includes("system:masters"))
    throw forbidden(kind, name, `use of ${signerName} signer with system:masters group is not allowed`);
  const node = nodeNameOf(user);
  const isForNodes = signerName === signerNames.kubeletClient || signerName === signerNames.kubeletServing;
  if (node !== undefined && isForNodes && wanted.commonName !== `system:node:${node}`)
    throw forbidden(kind, name, `can only create a node CSR with CN=system:node:${node}`);
}

/** A malformed request is rejected by validation instead. */
function tryParse(spec: CsrSpec): CertificateRequest | undefined {
  try {
    return parseCertificateRequest(requestPem(spec));
  } catch {
    return undefined;
  }
}

function admitApproval(writer: CsrWriter, csr: ApiObject, old: Readonly<ApiObject>): void {
  const { signerName }: CsrSpec = old["spec"];
  const { conditions }: CsrStatus = csr["status"];
  const before: CsrStatus = old["status"];
  csr["status"] = { ...before, ...(conditions === undefined ? {} : { conditions: dated(conditions, before, writer.nowMs) }) };
  if (conditions === undefined) delete csr["status"].conditions;
  if (maySign(writer, "approve", signerName)) return;
  throw forbidden(writer.kind, old.metadata.name, `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`);
}

function admitStatus(writer: CsrWriter, csr: ApiObject, old: Readonly<ApiObject>): void {
  const { signerName }: CsrSpec = old["spec"];
  const status: CsrStatus = csr["status"];
  const before: CsrStatus = old["status"];
  const errors: FieldError[] = [];
  for (const type of ["Approved", "Denied"]) {
    const known = before.conditions?.find((condition) => condition.type === type);
    const index = (status.conditions ?? []).findIndex((condition) => condition.type === type);
    if (known !== undefined && index >= 0) status.conditions?.splice(index, 1, known);
    else if (index >= 0)
      errors.push(forbiddenField("status.conditions", `updates may not add a condition of type ${JSON.stringify(type)}`));
  }
  if (status.conditions !== undefined) status.conditions = dated(status.conditions, before, writer.nowMs);
  if (errors.length > 0) throw invalid(writer.kind, old.metadata.name, errors);
  const failed = (conditions: readonly CsrCondition[] = []): unknown => conditions.filter(({ type }) => type === "Failed");
  const signs = status.certificate !== before.certificate || !equalJson(failed(status.conditions), failed(before.conditions));
  if (signs && !maySign(writer, "sign", signerName))
    throw forbidden(writer.kind, old.metadata.name, `user not permitted to sign requests with signerName ${JSON.stringify(signerName)}`);
}

/** Sets the missing times of conditions. */
function dated(conditions: readonly CsrCondition[], { conditions: before = [] }: CsrStatus, nowMs: number): CsrCondition[] {
  const now = rfc3339(nowMs);
  return conditions.map((condition) => {
    const known = before.find(({ type, status }) => type === condition.type && status === condition.status);
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? known?.lastTransitionTime ?? now,
    };
  });
}

/** Whether the user has the verb on the signer, or on all signers of its domain. Source: `IsAuthorizedForSignerName` of Kubernetes v1.36.3. */
function maySign({ authorizer, user }: CsrWriter, verb: "approve" | "sign", signerName: string): boolean {
  const domain = signerName.split("/", 1)[0] ?? "";
  return [signerName, `${domain}/*`].some((name) => {
    const access: Access = {
      verb,
      group: certificatesGroup,
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
      fieldValues: new Map(),
    };
    return authorizer.authorize(user, access).isAllowed;
  });
}
