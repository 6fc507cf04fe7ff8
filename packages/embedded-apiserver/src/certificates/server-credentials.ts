import type { Clock } from "@virtual-kubelet/clock";
import { type CertificateAuthority, createCertificateAuthority, type KeyPair } from "@virtual-kubelet/pki";

/** Certificates of one server: its own authority, and certificates that the authority issued. */
export interface ServerCredentials {
  readonly authority: CertificateAuthority;
  readonly serving: KeyPair;
  /** Issues a client certificate for a user; the groups are the organizations of its subject. */
  issueClient(user: string, groups: readonly string[]): KeyPair;
}

const dayMs = 86_400_000;
const validityMs = 365 * dayMs;
/** Certificates become valid this long before they are issued, for clients whose clocks are slow. */
const clockSkewMs = dayMs;

/** Creates an authority and a serving certificate for these hosts. Each is valid for a year. */
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
