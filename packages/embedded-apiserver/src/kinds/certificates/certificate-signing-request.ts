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
      description:
        "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
      cell: (csr, nowMs) => ageOf(csr.metadata.creationTimestamp, nowMs),
    },
    {
      name: "SignerName",
      type: "string",
      description:
        'Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it\'s a kubelet client certificate, it is assigned\n    "kubernetes.io/kube-apiserver-client-kubelet".\n 2. If it\'s a kubelet serving certificate, it is assigned\n    "kubernetes.io/kubelet-serving".\n 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.',
      cell: (csr) => specOf(csr).signerName,
    },
    { name: "Requestor", type: "string", description: "Base64-encoded PKCS#10 CSR data", cell: (csr) => specOf(csr).username ?? "" },
    {
      name: "RequestedDuration",
      type: "string",
      description:
        "expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.\n\nThe v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.\n\nCertificate signers may not honor this field for various reasons:\n\n  1. Old signer that is unaware of the field (such as the in-tree\n     implementations prior to v1.22)\n  2. Signer whose configured maximum is shorter than the requested duration\n  3. Signer whose configured minimum is longer than the requested duration\n\nThe minimum valid value for expirationSeconds is 600, i.e. 10 minutes.",
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
