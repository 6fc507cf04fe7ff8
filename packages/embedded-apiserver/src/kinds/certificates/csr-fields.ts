/** The spec of a CertificateSigningRequest. */
export interface CsrSpec {
  /** PEM, in base64. */
  request: string | null;
  signerName: string;
  expirationSeconds?: number;
  usages?: string[];
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** A condition of a CertificateSigningRequest. */
export interface CsrCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string | null;
  lastTransitionTime?: string | null;
}

/** The status of a CertificateSigningRequest. */
export interface CsrStatus {
  conditions?: CsrCondition[];
  /** PEM, in base64. */
  certificate?: string;
}

/** The group of certificate requests. */
export const certificatesGroup = "certificates.k8s.io";

/** Names of the signers that the server has. */
export const signerNames = {
  apiServerClient: "kubernetes.io/kube-apiserver-client",
  kubeletClient: "kubernetes.io/kube-apiserver-client-kubelet",
  kubeletServing: "kubernetes.io/kubelet-serving",
} as const;

/** The PEM that a request holds. */
export function requestPem({ request }: CsrSpec): string {
  return Buffer.from(request ?? "", "base64").toString();
}

/** Whether a request has a condition. */
export function hasCondition({ conditions = [] }: CsrStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type);
}
