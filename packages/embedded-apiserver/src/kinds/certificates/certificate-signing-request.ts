import type { ApiObject, Kind } from "../kind.ts";
import { ageOf, humanDuration } from "../columns/human-duration.ts";
import { nameColumn } from "../columns/columns.ts";
import { certificatesGroup, type CsrSpec, type CsrStatus, hasCondition } from "./csr-fields.ts";
import { csrErrors } from "./validate-csr.ts";

/** Source: Kubernetes v1.36.3 pkg/registry/certificates/certificates/strategy.go. */
export const certificateSigningRequestKind: Kind = {
  group: certificatesGroup,
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  singular: "certificatesigningrequest",
  shortNames: ["csr"],
  namespaced: false,
  schema: "io.k8s.api.certificates.v1.CertificateSigningRequest",
  hasStatus: true,
  nameProblems: () => [],
  prepareForCreate(csr) {
    csr["status"] = {};
  },
  prepareForUpdate(csr, old) {
    csr["spec"] = old["spec"];
  },
  fieldSelectors: { "spec.signerName": (csr) => csr["spec"].signerName },
  validate: csrErrors,
  columns: [
    nameColumn,
    {
      name: "Age",
      type: "string",
      description: "CreationTimestamp is a timestamp representing the server time when this object was created.",
      cell: (csr, nowMs) => ageOf(csr.metadata.creationTimestamp, nowMs),
    },
    { name: "SignerName", type: "string", description: "Requested signer for the request.", cell: (csr) => specOf(csr).signerName },
    { name: "Requestor", type: "string", description: "Base64-encoded PKCS#10 CSR data", cell: (csr) => specOf(csr).username ?? "" },
    {
      name: "RequestedDuration",
      type: "string",
      description: "expirationSeconds is the requested duration of validity of the issued certificate.",
      cell(csr) {
        const { expirationSeconds: seconds } = specOf(csr);
        return seconds === undefined ? "<none>" : humanDuration(seconds * 1000);
      },
    },
    {
      name: "Condition",
      type: "string",
      description: "Conditions applied to the request, such as approval or denial.",
      cell: (csr) => condition(csr["status"]),
    },
  ],
};

function specOf(csr: ApiObject): CsrSpec {
  return csr["spec"];
}

function condition(status: CsrStatus): string {
  const decision = hasCondition(status, "Denied") ? "Denied" : hasCondition(status, "Approved") ? "Approved" : "Pending";
  return `${decision}${hasCondition(status, "Failed") ? ",Failed" : ""}${status.certificate === undefined ? "" : ",Issued"}`;
}
