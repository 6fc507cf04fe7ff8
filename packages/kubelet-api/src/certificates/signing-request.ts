import type { Clock, Random } from "@virtual-kubelet/clock";
import { createHash } from "node:crypto";
import { ConflictError, isConflict } from "@virtual-kubelet/errdefs";
import {
  Reflector,
  resources,
  type CertificateSigningRequest,
  type DeepReadonly,
  type KubeClient,
  type Logger,
  type Metrics,
} from "@virtual-kubelet/kube-client";

/** Signer of serving certificates of nodes. */
export const kubeletServingSigner = "kubernetes.io/kubelet-serving";

/** Kind of certificate: its signer, and the usages that the signer demands. */
export interface CertificatePurpose {
  /** Name in log records and errors. */
  readonly name: string;
  readonly signerName: string;
  /** The signers require exactly these usages for an elliptic-curve key. */
  readonly usages: readonly string[];
}

/** Certificate of a node's HTTPS server. */
export const servingPurpose: CertificatePurpose = {
  name: "serving certificate",
  signerName: kubeletServingSigner,
  usages: ["digital signature", "server auth"],
};

/** Certificate with which a node identifies itself to the API server. */
export const clientPurpose: CertificatePurpose = {
  name: "client certificate",
  signerName: "kubernetes.io/kube-apiserver-client-kubelet",
  usages: ["digital signature", "client auth"],
};

/** A request as stored by the API server. */
export interface SubmittedRequest {
  readonly name: string;
  readonly uid: string;
  /** User name of the requester as seen by the API server. */
  readonly username: string;
}

/** Result of a request. */
export type RequestOutcome =
  | { readonly kind: "issued"; readonly certificate: string }
  | { readonly kind: "refused"; readonly condition: "Denied" | "Failed"; readonly reason: string }
  /** The request was deleted; Kubernetes does that after 24 hours, or one hour after the decision. */
  | { readonly kind: "gone" };

/** Options of a certificate signing request. */
export interface SigningRequestOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Requests a certificate from the cluster. The name is derived from the content, so that a repeated call does not create a second request.
 *
 * @param request - PKCS #10, PEM
 * @throws ConflictError if the API server has another request of that name
 */
export async function submitRequest(
  request: string,
  purpose: CertificatePurpose,
  client: KubeClient,
  signal: AbortSignal,
): Promise<SubmittedRequest> {
  const name = `node-csr-${createHash("sha256").update(request).digest("hex").slice(0, 40)}`;
  const { signerName, usages } = purpose;
  const spec = { request: Buffer.from(request).toString("base64"), signerName, usages: [...usages] };
  try {
    return submitted(await client.create(resources.certificateSigningRequests, { metadata: { name }, spec }, { signal }));
  } catch (error) {
    if (!isConflict(error)) throw error;
    const present = await client.get(resources.certificateSigningRequests, { name }, { signal });
    if (present.spec.request === spec.request && present.spec.signerName === signerName) return submitted(present);
    throw new ConflictError(`create certificatesigningrequests ${name}: there is one with other contents; delete it`, { cause: error });
  }
}

/** Waits for the result of a request, without a time limit. @throws `signal.reason` when aborted */
export async function requestOutcome(
  { name, uid }: { readonly name: string; readonly uid: string },
  options: SigningRequestOptions,
  signal: AbortSignal,
): Promise<RequestOutcome> {
  const stop = new AbortController();
  const outcome = Promise.withResolvers<RequestOutcome>();
  const query = { fieldSelector: `metadata.name=${name}` };
  const reflector = new Reflector({ ...options, resource: resources.certificateSigningRequests, query, pool: "quiet" });
  const look = (): void => {
    const object = reflector.store.get(uid);
    const found = object ? outcomeOf(object) : ({ kind: "gone" } as const);
    if (found) outcome.resolve(found);
  };
  using _changes = reflector.store.subscribe(look);
  const running = reflector.run(AbortSignal.any([signal, stop.signal]));
  running.then(() => outcome.reject(signal.reason), outcome.reject);
  reflector.synced.then(look, () => {});
  try {
    return await outcome.promise;
  } finally {
    stop.abort();
    await running.catch(() => {});
  }
}

function submitted({ metadata, spec }: CertificateSigningRequest): SubmittedRequest {
  return { name: metadata?.name ?? "", uid: metadata?.uid ?? "", username: spec.username ?? "" };
}

function outcomeOf({ status }: DeepReadonly<CertificateSigningRequest>): RequestOutcome | undefined {
  if (status?.certificate) return { kind: "issued", certificate: Buffer.from(status.certificate, "base64").toString("utf8") };
  const refusal = status?.conditions?.find((entry) => (entry.type === "Denied" || entry.type === "Failed") && entry.status === "True");
  if (!refusal) return undefined;
  const reason = [refusal.reason, refusal.message].filter(Boolean).join(": ");
  return { kind: "refused", condition: refusal.type === "Denied" ? "Denied" : "Failed", reason };
}
