import type { CertifiedKey } from "../certificates/certificate.ts";
import { parseCertificateRequest } from "../certificates/certificate-request.ts";
import { signRequest } from "../certificates/sign-request.ts";
import { type Clock, type Random, toTimestamp } from "../clock.ts";
import { certificateSigningRequestKind } from "../kinds/certificates/certificate-signing-request.ts";
import { type CsrSpec, type CsrStatus, hasCondition, requestPem } from "../kinds/certificates/csr-fields.ts";
import { hasSigner, signerProblem } from "./certificate-signers.ts";
import type { ControllerDeps } from "./controller-deps.ts";
import { createWorkLoop } from "./work-loop.ts";

const minuteMs = 60_000;
const backdateMs = 5 * minuteMs;
const shortMs = 8 * 60 * minuteMs;
const minMs = 10 * minuteMs;
/** Source: Kubernetes v1.36.3, `--cluster-signing-duration`. */
const defaultMs = 365 * 24 * 60 * minuteMs;

/** What signs. */
export interface Signer {
  readonly authority: CertifiedKey;
  /** The time that certificates go by: the machine's, for whoever checks one goes by it. */
  readonly clock: Pick<Clock, "now">;
  /** Serial numbers come from it. */
  readonly random: Random;
}

/**
 * Gives approved requests for the signers of `kubernetes.io` their certificates.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/certificates/signer/signer.go.
 */
export function startCertificateSigner(deps: ControllerDeps, signer: Signer): Disposable {
  const { cluster, clock } = deps;
  const resources = new DisposableStack();
  const loop = resources.use(createWorkLoop({ ...deps, process: sync }));
  resources.use(cluster.watch(certificateSigningRequestKind, ({ type, object }) => type !== "DELETED" && loop.add(object.metadata.name)));
  return resources;

  function sync(name: string): void {
    const csr = cluster.get(certificateSigningRequestKind, undefined, name);
    if (csr === undefined) return;
    const spec: CsrSpec = csr["spec"];
    const status: CsrStatus = csr["status"];
    if (status.certificate !== undefined || !hasCondition(status, "Approved") || hasCondition(status, "Denied")) return;
    if (hasCondition(status, "Failed") || !hasSigner(spec)) return;
    const request = parseCertificateRequest(requestPem(spec));
    const problem = signerProblem(spec, request);
    const now = toTimestamp(clock.now());
    const outcome: CsrStatus =
      problem === undefined
        ? { certificate: Buffer.from(signRequest(request, policyFor(spec), signer.authority)).toString("base64") }
        : { conditions: [...(status.conditions ?? []), failure(problem, now)] };
    const change = (object: typeof csr): typeof csr => ({ ...object, status: { ...object["status"], ...outcome } });
    cluster.update(certificateSigningRequestKind, undefined, name, change, "status");
  }

  function policyFor({ usages = [], expirationSeconds }: CsrSpec): Parameters<typeof signRequest>[1] {
    const now = signer.clock.now();
    const validMs = expirationSeconds === undefined ? defaultMs : Math.max(minMs, Math.min(defaultMs, expirationSeconds * 1000));
    const notAfterMs = now + validMs - (validMs < shortMs ? 0 : backdateMs);
    return {
      usages,
      notBeforeMs: now - backdateMs,
      notAfterMs: Math.min(notAfterMs, signer.authority.spec.notAfterMs),
      serial: Buffer.from(signer.random.uuid().replaceAll("-", ""), "hex"),
    };
  }
}

function failure(message: string, now: string): NonNullable<CsrStatus["conditions"]>[number] {
  return { type: "Failed", status: "True", reason: "SignerValidationFailure", message, lastUpdateTime: now, lastTransitionTime: now };
}
