import type { CertificateRequest } from "@virtual-kubelet/pki";
import { type CsrSpec, signerNames } from "../../kinds/certificates/csr-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/certificates/helpers.go and pkg/controller/certificates/signer/signer.go. */

const clientUsages = ["client auth", "digital signature", "key encipherment"];
const servingUsages = ["digital signature", "key encipherment", "server auth"];

const knownSigners: readonly string[] = Object.values(signerNames);

/** Whether the server has the signer that a request names. */
export function hasSigner({ signerName }: CsrSpec): boolean {
  return knownSigners.includes(signerName);
}

/** Reason for which the request's signer refuses it; `undefined` if the signer signs it. */
export function signerProblem({ signerName, usages = [] }: CsrSpec, request: CertificateRequest): string | undefined {
  switch (signerName) {
    case signerNames.apiServerClient:
      return clientProblem(usages);
    case signerNames.kubeletClient:
      return kubeletClientProblem(request, usages);
    case signerNames.kubeletServing:
      return kubeletServingProblem(request, usages);
    default:
      return `there is no signer ${signerName}`;
  }
}

function clientProblem(usages: readonly string[]): string | undefined {
  const wrong = usages.find((usage) => !clientUsages.includes(usage));
  if (wrong !== undefined) return `invalid usage for client certificate: ${wrong}`;
  return usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth";
}

/** Reason for which a request does not qualify for a kubelet's client certificate; `undefined` if it does. */
export function kubeletClientProblem(request: CertificateRequest, usages: readonly string[]): string | undefined {
  const { dns, email, ip, uri } = request.alternativeNameCounts;
  if (!hasNodesOrganization(request)) return "subject organization is not system:nodes";
  if (dns > 0) return "DNS subjectAltNames are not allowed";
  if (email > 0) return "Email subjectAltNames are not allowed";
  if (ip > 0) return "IP subjectAltNames are not allowed";
  if (uri > 0) return "URI subjectAltNames are not allowed";
  if (!hasNodeName(request)) return "subject common name does not begin with system:node:";
  return usagesProblem(usages, clientUsages);
}

function kubeletServingProblem(request: CertificateRequest, usages: readonly string[]): string | undefined {
  const { dns, email, ip, uri } = request.alternativeNameCounts;
  if (!hasNodesOrganization(request)) return "subject organization is not system:nodes";
  if (dns + ip === 0) return "DNS or IP subjectAltName is required";
  if (email > 0) return "Email subjectAltNames are not allowed";
  if (uri > 0) return "URI subjectAltNames are not allowed";
  return (
    usagesProblem(usages, servingUsages) ?? (hasNodeName(request) ? undefined : "subject common name does not begin with system:node:")
  );
}

function hasNodesOrganization({ organizations }: CertificateRequest): boolean {
  return organizations.length === 1 && organizations[0] === "system:nodes";
}

function hasNodeName({ commonName }: CertificateRequest): boolean {
  return commonName.startsWith("system:node:");
}

/** `key encipherment` is optional, because only RSA keys can encipher keys. */
function usagesProblem(usages: readonly string[], expected: readonly string[]): string | undefined {
  const given = new Set(usages);
  const required = expected.filter((usage) => usage !== "key encipherment");
  const matches = required.every((usage) => given.has(usage)) && [...given].every((usage) => expected.includes(usage));
  return matches ? undefined : `usages did not match [${expected.join(" ")}]`;
}
