import type { Clock, Random } from "@virtual-kubelet/clock";
import { issueCertificate, type CertifiedKey } from "./certificate.ts";

/** The certificates of one server: an authority of its own, and what it signs. */
export interface ServerCredentials {
  readonly authority: CertifiedKey;
  readonly serving: CertifiedKey;
  /** Signs a certificate for a user; groups are its organizations. */
  issueClient(user: string, groups: readonly string[]): CertifiedKey;
}

const dayMs = 86_400_000;
const validityMs = 365 * dayMs;
/** Clients whose clocks are slow must find them valid already. */
const clockSkewMs = dayMs;

/** Makes an authority and a serving certificate for these hosts. */
export function createServerCredentials({
  clock,
  random,
  hosts,
}: {
  readonly clock: Clock;
  readonly random: Random;
  readonly hosts: readonly string[];
}): ServerCredentials {
  const validity = { notBeforeMs: clock.now() - clockSkewMs, notAfterMs: clock.now() + validityMs };
  const serial = (): Buffer => Buffer.from(random.uuid().replaceAll("-", ""), "hex");
  const authority = issueCertificate({ commonName: "embedded-apiserver-ca", usage: "authority", ...validity, serial: serial() });
  const serving = issueCertificate({ commonName: "kube-apiserver", usage: "server", hosts, ...validity, serial: serial() }, authority);
  return {
    authority,
    serving,
    issueClient: (user, groups) =>
      issueCertificate({ commonName: user, organizations: groups, usage: "client", ...validity, serial: serial() }, authority),
  };
}
