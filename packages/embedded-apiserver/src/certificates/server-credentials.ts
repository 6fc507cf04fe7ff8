import type { Clock } from "@virtual-kubelet/clock";
import { type CertificateAuthority, createCertificateAuthority, type KeyPair } from "@virtual-kubelet/pki";

/** Certificates of one server: its own authority, and certificates that the authority issued or that were given. */
export interface ServerCredentials {
  readonly authority: CertificateAuthority;
  readonly serving: KeyPair;
  /** What clients verify the serving certificate with, PEM: the authority, or a given certificate itself. */
  readonly caPem: string;
  /** Authorities of client certificates, PEM. */
  readonly clientCaPem: readonly string[];
  /** The one of them that is published for other servers. */
  readonly publishedClientCaPem: string;
  /** Authority of {@link issueFrontProxy}, PEM, by which aggregated API servers recognize this server. */
  readonly frontProxyCaPem: string;
  /** Issues the client certificate for aggregated API servers. */
  issueFrontProxy(): KeyPair;
  /** Issues a client certificate for a user; the groups are the organizations of its subject. */
  issueClient(user: string, groups: readonly string[]): KeyPair;
}

/** Name in the client certificate for aggregated API servers, as kubeadm calls it. */
export const frontProxyName = "front-proxy-client";

const dayMs = 86_400_000;
const validityMs = 365 * dayMs;
/** Certificates become valid this long before they are issued, for clients whose clocks are slow. */
const clockSkewMs = dayMs;

/** Options of {@link createServerCredentials}. */
export interface ServerCredentialsOptions {
  readonly clock: Pick<Clock, "now">;
  /** Address that the server listens on. */
  readonly host: string;
  /** Additional names and addresses of the serving certificate. */
  readonly certificateHosts: readonly string[] | undefined;
  /** Default: the authority issues one. */
  readonly serving: KeyPair | undefined;
  /** Authorities of client certificates besides the own one, PEM. Default: none. */
  readonly clientCaPem: string | undefined;
}

/** Creates an authority and, unless one is given, a serving certificate. Each is valid for a year. */
export function createServerCredentials({
  clock,
  host,
  certificateHosts = [],
  serving,
  clientCaPem,
}: ServerCredentialsOptions): ServerCredentials {
  const names = new Set([
    host,
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    ...certificateHosts,
  ]);
  const validity = { notBeforeMs: clock.now() - clockSkewMs, notAfterMs: clock.now() + validityMs };
  const authority = createCertificateAuthority("embedded-apiserver-ca", validity);
  const frontProxy = createCertificateAuthority("front-proxy-ca", validity);
  return {
    authority,
    serving: serving ?? authority.issue({ commonName: "kube-apiserver", names: [...names], usages: ["server auth"], validity }),
    caPem: serving?.certificate ?? authority.certificate,
    clientCaPem: clientCaPem === undefined ? [authority.certificate] : [authority.certificate, clientCaPem],
    publishedClientCaPem: clientCaPem ?? authority.certificate,
    frontProxyCaPem: frontProxy.certificate,
    issueFrontProxy: () => frontProxy.issue({ commonName: frontProxyName, usages: ["client auth"], validity }),
    issueClient: (user, groups) => authority.issue({ commonName: user, organizations: groups, usages: ["client auth"], validity }),
  };
}
