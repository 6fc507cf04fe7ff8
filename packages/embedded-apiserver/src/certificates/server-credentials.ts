import type { Clock } from "@virtual-kubelet/clock";
import { type CertificateAuthority, createCertificateAuthority, type KeyPair } from "@virtual-kubelet/pki";

/** The certificates of one server: an authority of its own, and what it signs. */
export interface ServerCredentials {
  readonly authority: CertificateAuthority;
  readonly serving: KeyPair;
  /** Signs a certificate for a user; groups are its organizations. */
  issueClient(user: string, groups: readonly string[]): KeyPair;
}

const dayMs = 86_400_000;
const validityMs = 365 * dayMs;
/** Clients whose clocks are slow must find them valid already. */
const clockSkewMs = dayMs;

/** Makes an authority and a serving certificate for these hosts. */
export function createServerCredentials({
  clock,
  hosts,
}: {
  readonly clock: Pick<Clock, "now">;
  readonly hosts: readonly string[];
}): ServerCredentials {
  const validity = { notBeforeMs: clock.now() - clockSkewMs, notAfterMs: clock.now() + validityMs };
  const authority = createCertificateAuthority("embedded-apiserver-ca", validity);
  return {
    authority,
    serving: authority.issue({ commonName: "kube-apiserver", names: hosts, usages: ["server auth"], validity }),
    issueClient: (user, groups) => authority.issue({ commonName: user, organizations: groups, usages: ["client auth"], validity }),
  };
}
