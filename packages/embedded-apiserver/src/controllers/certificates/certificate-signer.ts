import type { Clock } from "@virtual-kubelet/clock";
import { type CertificateAuthority, isKeyUsage, parseCertificateRequest } from "@virtual-kubelet/pki";
import { type CsrSpec, hasCondition, requestPem } from "../../kinds/certificates/csr-fields.ts";
import { hasSigner, signerProblem } from "./signer-rules.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { followOpenRequests, withTrueCondition } from "./open-certificate-requests.ts";

const minuteMs = 60_000;
/** Certificates become valid this long before they are signed, for clients whose clocks are slow. */
const backdateMs = 5 * minuteMs;
/** From this validity on, {@link backdateMs} is subtracted from the end as well. */
const longValidityMs = 8 * 60 * minuteMs;
const minValidityMs = 10 * minuteMs;
/** Default and maximum validity; source: Kubernetes v1.36.3, `--cluster-signing-duration`. */
const maxValidityMs = 365 * 24 * 60 * minuteMs;

/** Dependencies of {@link startCertificateSigner}. */
export interface Signer {
  readonly authority: CertificateAuthority;
  /** Clock for the validity of certificates: the machine's, because clients verify certificates by it. */
  readonly clock: Pick<Clock, "now">;
}

/**
 * Signs approved requests for the server's signers. A request that breaks the rules of its signer gets the condition `Failed` instead.
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
    const validMs =
      expirationSeconds === undefined ? maxValidityMs : Math.max(minValidityMs, Math.min(maxValidityMs, expirationSeconds * 1000));
    const notAfterMs = now + validMs - (validMs < longValidityMs ? 0 : backdateMs);
    return {
      usages: usages.filter(isKeyUsage),
      validity: { notBeforeMs: now - backdateMs, notAfterMs: Math.min(notAfterMs, signer.authority.validity.notAfterMs) },
    };
  }
}
