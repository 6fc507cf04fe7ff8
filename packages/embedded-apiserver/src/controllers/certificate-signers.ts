import type { CertificateRequest } from "@virtual-kubelet/pki";
import { type CsrSpec, signerNames } from "../kinds/certificates/csr-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/certificates/helpers.go and pkg/controller/certificates/signer/signer.go. */

const clientUsages = ["client auth", "digital signature", "key encipherment"];
const servingUsages = ["digital signature", "key encipherment", "server auth"];

const known: readonly string[] = Object.values(signerNames);

/** Whether a request is for a signer that this server has. */
export function hasSigner({ signerName }: CsrSpec): boolean {
  return known.includes(signerName);
}

/** Why the signer of a request does not give a certificate; `undefined` if it does. */
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

/** Why a request is not one for a kubelet's client certificate; `undefined` if it is. */
export function kubeletClientProblem(request: CertificateRequest, usages: readonly string[]): string | undefined {
  const { dns, email, ip, uri } = request.alternativeNameCounts;
  if (!isOfNodes(request)) return "subject organization is not system:nodes";
  if (dns > 0) return "DNS subjectAltNames are not allowed";
  if (email > 0) return "Email subjectAltNames are not allowed";
  if (ip > 0) return "IP subjectAltNames are not allowed";
  if (uri > 0) return "URI subjectAltNames are not allowed";
  if (!isNode(request)) return "subject common name does not begin with system:node:";
  return usagesProblem(usages, clientUsages);
}

function kubeletServingProblem(request: CertificateRequest, usages: readonly string[]): string | undefined {
  const { dns, email, ip, uri } = request.alternativeNameCounts;
  if (!isOfNodes(request)) return "subject organization is not system:nodes";
  if (dns + ip === 0) return "DNS or IP subjectAltName is required";
  if (email > 0) return "Email subjectAltNames are not allowed";
  if (uri > 0) return "URI subjectAltNames are not allowed";
  return usagesProblem(usages, servingUsages) ?? (isNode(request) ? undefined : "subject common name does not begin with system:node:");
}

function isOfNodes({ organizations }: CertificateRequest): boolean {
  return organizations.length === 1 && organizations[0] === "system:nodes";
}

function isNode({ commonName }: CertificateRequest): boolean {
  return commonName.startsWith("system:node:");
}

/** Keys other than RSA's encipher nothing: that usage may be missing. */
function usagesProblem(usages: readonly string[], wanted: readonly string[]): string | undefined {
  const given = new Set(usages);
  const needed = wanted.filter((usage) => usage !== "key encipherment");
  const isRight = needed.every((usage) => given.has(usage)) && [...given].every((usage) => wanted.includes(usage));
  return isRight ? undefined : `usages did not match [${wanted.join(" ")}]`;
}
