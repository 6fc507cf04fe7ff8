import { messageOf } from "@virtual-kubelet/errdefs";

/** Fields of Node.js' network errors. */
interface NetworkError {
  readonly code?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  /** Of a failed check of the certificate's names. */
  readonly cert?: { readonly subjectaltname?: string };
  readonly host?: string;
  /** Errors of each address that was tried. */
  readonly errors?: readonly unknown[];
}

const systemProblems: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ETIMEDOUT: "connect: connection timed out",
  EADDRNOTAVAIL: "connect: cannot assign requested address",
};

const unknownAuthority: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_SIGNATURE_FAILURE",
]);

/** An error whose message already has the words of the real server. */
export class GoError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "GoError";
  }
}

/** Words of Go's net, crypto/tls and net/http packages for an error of Node.js, because the real server's messages contain them. */
export function goErrorText(error: unknown): string {
  if (error instanceof GoError) return error.message;
  const { code = "", address, port, hostname, errors, host, cert } = (error ?? {}) as NetworkError;
  if (errors?.[0] !== undefined) return goErrorText(errors[0]);
  const problem = systemProblems[code];
  if (problem !== undefined && address !== undefined) return `dial tcp ${hostAndPort(address, port ?? 443)}: ${problem}`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `dial tcp: lookup ${hostname ?? host ?? ""}: no such host`;
  if (code === "ECONNRESET" || code === "EPIPE") return "EOF";
  if (code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER") return "http: server gave HTTP response to HTTPS client";
  const certificate = certificateProblem(code, host, cert?.subjectaltname);
  return certificate === undefined ? messageOf(error) : `tls: failed to verify certificate: x509: ${certificate}`;
}

function certificateProblem(code: string, host: string | undefined, names: string | undefined): string | undefined {
  if (unknownAuthority.has(code)) return "certificate signed by unknown authority";
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") return "certificate has expired or is not yet valid";
  if (code !== "ERR_TLS_CERT_ALTNAME_INVALID") return undefined;
  const isAddress = /^[\d.]+$|:/.test(host ?? "");
  const prefix = isAddress ? "IP Address:" : "DNS:";
  const valid = (names ?? "").split(", ").flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  if (valid.length > 0) return `certificate is valid for ${valid.join(", ")}, not ${host}`;
  return isAddress
    ? `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
    : `certificate is not valid for any names, but wanted to match ${host}`;
}

/** Such as `127.0.0.1:443` or `[::1]:443`. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
