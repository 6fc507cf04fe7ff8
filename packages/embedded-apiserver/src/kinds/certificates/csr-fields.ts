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

export interface CsrCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string | null;
  lastTransitionTime?: string | null;
}

export interface CsrStatus {
  conditions?: CsrCondition[];
  /** PEM, in base64. */
  certificate?: string;
}

export const certificatesGroup = "certificates.k8s.io";

/** Signers of this server. */
export const signerNames = {
  apiServerClient: "kubernetes.io/kube-apiserver-client",
  kubeletClient: "kubernetes.io/kube-apiserver-client-kubelet",
  kubeletServing: "kubernetes.io/kubelet-serving",
} as const;

/** Decodes `request` to PEM. */
export function requestPem({ request }: CsrSpec): string {
  return Buffer.from(request ?? "", "base64").toString();
}

export function hasCondition({ conditions = [] }: CsrStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type);
}
