import type { Clock } from "@virtual-kubelet/clock";
import { type CertificateAuthority, isKeyUsage, parseCertificateRequest } from "@virtual-kubelet/pki";
import { type CsrSpec, hasCondition, requestPem } from "../kinds/certificates/csr-fields.ts";
import { hasSigner, signerProblem } from "./certificate-signers.ts";
import type { ControllerContext } from "./shared/controller-context.ts";
import { followOpenRequests, withTrueCondition } from "./open-certificate-requests.ts";

const minuteMs = 60_000;
const backdateMs = 5 * minuteMs;
const shortMs = 8 * 60 * minuteMs;
const minMs = 10 * minuteMs;
/** Source: Kubernetes v1.36.3, `--cluster-signing-duration`. */
const defaultMs = 365 * 24 * 60 * minuteMs;

/** What signs. */
export interface Signer {
  readonly authority: CertificateAuthority;
  /** The time that certificates go by: the machine's, for whoever checks one goes by it. */
  readonly clock: Pick<Clock, "now">;
}

/**
 * Gives approved requests for the signers of `kubernetes.io` their certificates.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/certificates/signer/signer.go.
 */
export function startCertificateSigner(context: ControllerContext, signer: Signer): Disposable {
  return followOpenRequests(context, ({ spec, status }) => {
    if (!hasCondition(status, "Approved") || hasCondition(status, "Failed") || !hasSigner(spec)) return undefined;
    const request = parseCertificateRequest(requestPem(spec));
    const message = signerProblem(spec, request);
    if (message !== undefined)
      return withTrueCondition(status, { type: "Failed", reason: "SignerValidationFailure", message }, context.clock.now());
    return { certificate: Buffer.from(signer.authority.sign(request, policyFor(spec))).toString("base64") };
  });

  function policyFor({ usages = [], expirationSeconds }: CsrSpec): Parameters<CertificateAuthority["sign"]>[1] {
    const now = signer.clock.now();
    const validMs = expirationSeconds === undefined ? defaultMs : Math.max(minMs, Math.min(defaultMs, expirationSeconds * 1000));
    const notAfterMs = now + validMs - (validMs < shortMs ? 0 : backdateMs);
    return {
      usages: usages.filter(isKeyUsage),
      validity: { notBeforeMs: now - backdateMs, notAfterMs: Math.min(notAfterMs, signer.authority.validity.notAfterMs) },
    };
  }
}
