import type { Random } from "@virtual-kubelet/clock";
import type { X509Certificate } from "node:crypto";
import { covers, sameNames, type ServingNames } from "./serving-names.ts";

/** A certificate, and when its successor is to be asked for. Times are in milliseconds since the epoch. */
export interface DatedCertificate {
  readonly certificate: X509Certificate;
  readonly rotateAtMs: number;
}

/** What {@link planCertificate} looks at. */
export interface CertificateSituation {
  readonly nowMs: number;
  /** What the node's addresses come to; `undefined` while they are not known. */
  readonly names: ServingNames | undefined;
  /** The signer's certificate, if there is one. */
  readonly issued: DatedCertificate | undefined;
  /** Names of the request under way, if there is one. */
  readonly pendingNames: ServingNames | undefined;
  /** No request is to be made before this time. */
  readonly notBeforeMs: number;
}

/** What is to be done about the signer's certificate. */
export type CertificateAction =
  /** Ask for one, and forget a request under way. */
  | { readonly kind: "request"; readonly names: ServingNames }
  /** Wait for the request under way. */
  | { readonly kind: "await" }
  /** Nothing; a request under way is of no use. */
  | { readonly kind: "rest" };

/**
 * Decides: one request at a time, for the addresses the node has, as soon as there is no certificate, its time has
 * come, or it lacks an address. An open request is kept for as long as it is right: whoever approves it late still does
 * us a favour.
 */
export function planCertificate({ nowMs, names, issued, pendingNames, notBeforeMs }: CertificateSituation): CertificateAction {
  if (names === undefined || (names.dnsNames.length === 0 && names.ips.length === 0)) {
    return pendingNames ? { kind: "await" } : { kind: "rest" };
  }
  if (issued && nowMs < issued.rotateAtMs && covers(issued.certificate, names)) return { kind: "rest" };
  if (pendingNames && sameNames(pendingNames, names)) return { kind: "await" };
  return nowMs < notBeforeMs ? { kind: "rest" } : { kind: "request", names };
}

/**
 * When a certificate's successor is to be asked for: after 70 to 90 % of its life, at random, so that nodes that came
 * together part ways. Source: client-go v0.36.3 util/certificate, jitteryDuration.
 */
export function rotationTimeMs(certificate: X509Certificate, random: Random): number {
  const fromMs = certificate.validFromDate.getTime();
  return fromMs + (certificate.validToDate.getTime() - fromMs) * (0.7 + 0.2 * random.next());
}

/** Whether the certificate's time has come, and is not over. */
export function isValidAt(certificate: X509Certificate, nowMs: number): boolean {
  return certificate.validFromDate.getTime() <= nowMs && nowMs < certificate.validToDate.getTime();
}
