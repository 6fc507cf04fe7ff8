import type { Random } from "@virtual-kubelet/clock";
import type { X509Certificate } from "node:crypto";
import { covers, sameNames, type ServingNames } from "./serving-names.ts";

/** A certificate, and when it should be renewed. Times are in milliseconds since the epoch. */
export interface DatedCertificate {
  readonly certificate: X509Certificate;
  readonly rotateAtMs: number;
}

export interface CertificateSituation {
  readonly nowMs: number;
  /** Names derived from the node's addresses; `undefined` while these are unknown. */
  readonly names: ServingNames | undefined;
  /** Certificate from the signer; `undefined` if there is none. */
  readonly issued: DatedCertificate | undefined;
  /** Names in the pending request; `undefined` if there is none. */
  readonly pendingNames: ServingNames | undefined;
  /** Earliest time for a new request. */
  readonly notBeforeMs: number;
}

/** Next action for the signer's certificate. */
export type CertificateAction =
  /** Create a request, and forget a pending one. */
  | { readonly kind: "request"; readonly names: ServingNames }
  /** Wait for the pending request. */
  | { readonly kind: "await" }
  /** Do nothing; a pending request is obsolete. */
  | { readonly kind: "rest" };

/**
 * Decides the next action: one request at a time, for the node's current addresses, as soon as there is no certificate, it is due for
 * renewal, or it lacks an address. A pending request is kept as long as its names are right, so that it can still be approved late.
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
 * Decides the next action for a certificate without names: it is requested when it is due for renewal. A pending request is kept, so that it can
 * still be approved late.
 */
export function planRenewal(situation: Pick<CertificateSituation, "nowMs" | "notBeforeMs" | "issued"> & { readonly isPending: boolean }): {
  readonly kind: CertificateAction["kind"];
} {
  const { nowMs, notBeforeMs, issued, isPending } = situation;
  if (isPending) return { kind: "await" };
  const isDue = !issued || nowMs >= issued.rotateAtMs;
  return { kind: isDue && nowMs >= notBeforeMs ? "request" : "rest" };
}

/** A certificate with its renewal time, drawn at random. */
export function dated(certificate: X509Certificate, random: Random): DatedCertificate {
  return { certificate, rotateAtMs: rotationTimeMs(certificate, random) };
}

/**
 * Renewal time of a certificate: after 70 to 90 % of its lifetime, at random, so that nodes that were created together do not renew
 * together. Source: client-go v0.36.3 util/certificate, jitteryDuration.
 */
export function rotationTimeMs(certificate: X509Certificate, random: Random): number {
  const fromMs = certificate.validFromDate.getTime();
  return fromMs + (certificate.validToDate.getTime() - fromMs) * (0.7 + 0.2 * random.next());
}

/** Whether a certificate is valid at a time. */
export function isValidAt(certificate: X509Certificate, nowMs: number): boolean {
  return certificate.validFromDate.getTime() <= nowMs && nowMs < certificate.validToDate.getTime();
}
