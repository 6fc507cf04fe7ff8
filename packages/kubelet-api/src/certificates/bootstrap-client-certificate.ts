import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import type { KeyPair } from "@virtual-kubelet/pki";
import { isValidAt } from "./certificate-plan.ts";
import { newRequest, nodeUser } from "./certificate-requester.ts";
import type { CertificateStore, PendingRequest } from "./certificate-store.ts";
import { clientCertificateOf } from "./client-certificate.ts";
import { clientPurpose, requestOutcome, submitRequest, type SigningRequestOptions, type SubmittedRequest } from "./signing-request.ts";

/** Options of {@link bootstrapClientCertificate}. */
export interface BootstrapOptions extends SigningRequestOptions {
  readonly nodeName: string;
  readonly store: CertificateStore;
  /**
   * Called when the API server has the request, before its decision.
   *
   * @param isResumed - whether an earlier call had made the request
   */
  readonly onRequested: (request: SubmittedRequest, isResumed: boolean) => void;
}

/**
 * Requests a node's first client certificate, waits for it without a time limit, and saves it. The key is saved before the request is sent, so
 * a call after an interrupted one continues the same request. A certificate that the store already holds is replaced.
 *
 * @throws InvalidInputError if the request was denied or has failed, was deleted, or the certificate cannot be used: the next call makes a
 * new request. `signal.reason` when aborted; the errors of the API server
 */
export async function bootstrapClientCertificate(options: BootstrapOptions, signal: AbortSignal): Promise<KeyPair> {
  const { client, clock, nodeName, onRequested, store } = options;
  const stored = await store.load();
  const earlier = await resumable(stored.pending, nodeName);
  const made = earlier ?? { name: "", uid: "", ...(await newRequest(nodeName, noNames)), names: noNames, madeMs: clock.now() };
  if (!earlier) await store.save({ ...stored, pending: made });
  const submitted = await submitRequest(made.request, clientPurpose, client, signal);
  await store.save({ ...stored, pending: { ...made, name: submitted.name, uid: submitted.uid } });
  onRequested(submitted, earlier !== undefined);
  const outcome = await requestOutcome(submitted, options, signal);
  const fail = async (what: string): Promise<never> => {
    await store.save({ ...stored, pending: undefined });
    throw new InvalidInputError(`${submitted.name}: ${what}; a further attempt makes a new request`);
  };
  if (outcome.kind === "gone") return await fail("the request was deleted before it was decided");
  if (outcome.kind === "refused")
    return await fail(`the request was ${outcome.condition === "Denied" ? "denied" : "refused"}: ${outcome.reason}`);
  const issued = { certificate: outcome.certificate, key: made.key };
  const problem = problemOf(issued, nodeName, clock.now());
  if (problem !== undefined) return await fail(`the certificate cannot be used: ${problem}`);
  await store.save({ ...stored, issued, pending: undefined });
  return issued;
}

const noNames = { dnsNames: [], ips: [] };

/** The pending request if an earlier call made it for the same node. */
async function resumable(
  pending: PendingRequest | undefined,
  nodeName: string,
): Promise<(PendingRequest & { readonly request: string }) | undefined> {
  if (pending?.request === undefined) return undefined;
  const { request } = pending;
  const { parseCertificateRequest } = await import("@virtual-kubelet/pki");
  return parseCertificateRequest(request).commonName === nodeUser(nodeName) ? { ...pending, request } : undefined;
}

function problemOf(pair: KeyPair, nodeName: string, nowMs: number): string | undefined {
  try {
    const certificate = clientCertificateOf(pair, nodeName);
    if (isValidAt(certificate, nowMs)) return undefined;
    const { validFrom, validTo } = certificate;
    return `it is valid from ${validFrom} to ${validTo}, but this machine's clock says ${new Date(nowMs).toUTCString()}: compare the clocks`;
  } catch (error) {
    return messageOf(error);
  }
}
