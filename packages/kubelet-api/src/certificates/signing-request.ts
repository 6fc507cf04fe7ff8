import type { Clock, Random } from "@virtual-kubelet/clock";
import { createHash } from "node:crypto";
import { isConflict } from "@virtual-kubelet/errdefs";
import {
  Reflector,
  resources,
  type CertificateSigningRequest,
  type DeepReadonly,
  type KubeClient,
  type Logger,
  type Metrics,
} from "@virtual-kubelet/kube-client";

/** Who signs kubelets' serving certificates. */
const signerName = "kubernetes.io/kubelet-serving";

/** A request as the API server has it. */
export interface SubmittedRequest {
  readonly name: string;
  readonly uid: string;
  /** Whose request it is, in the API server's eyes. */
  readonly username: string;
}

/** How a request ended. */
export type RequestOutcome =
  | { readonly kind: "issued"; readonly certificate: string }
  | { readonly kind: "refused"; readonly condition: "Denied" | "Failed"; readonly reason: string }
  /** Somebody deleted it; Kubernetes does after 24 hours, or an hour once it was decided. */
  | { readonly kind: "gone" };

/** What requests for certificates need. */
export interface SigningRequestDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Asks the cluster for a serving certificate. The request's name is made of its content, so that the same one is not
 * made twice.
 *
 * @param request - PKCS #10, PEM
 */
export async function submitRequest(request: string, { client }: SigningRequestDeps, signal: AbortSignal): Promise<SubmittedRequest> {
  const name = `node-csr-${createHash("sha256").update(request).digest("hex").slice(0, 40)}`;
  const object: CertificateSigningRequest = {
    metadata: { name },
    // The usages that the signer wants for a key on an elliptic curve: exactly these.
    spec: { request: Buffer.from(request).toString("base64"), signerName, usages: ["digital signature", "server auth"] },
  };
  try {
    return submitted(await client.create(resources.certificateSigningRequests, object, { signal }));
  } catch (error) {
    if (!isConflict(error)) throw error;
    return submitted(await client.get(resources.certificateSigningRequests, { name }, { signal }));
  }
}

/** Waits for a request's end, for as long as it takes. @throws `signal.reason` when aborted */
export async function requestOutcome(
  { name, uid }: { readonly name: string; readonly uid: string },
  deps: SigningRequestDeps,
  signal: AbortSignal,
): Promise<RequestOutcome> {
  const stop = new AbortController();
  const outcome = Promise.withResolvers<RequestOutcome>();
  const query = { fieldSelector: `metadata.name=${name}` };
  const reflector = new Reflector({ ...deps, resource: resources.certificateSigningRequests, query, pool: "quiet" });
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
