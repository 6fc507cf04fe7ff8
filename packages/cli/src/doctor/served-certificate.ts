import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:tls";

const unconnected: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "EADDRNOTAVAIL", "EHOSTUNREACH", "ENETUNREACH"]);

/** Whether nothing has accepted a connection; the address may be that of another machine. */
export function isUnconnected(error: unknown): boolean {
  return error instanceof Error && "code" in error && unconnected.has(error.code);
}

/**
 * Returns the certificate of the server at an address, without checking it and without sending a request.
 *
 * @returns `undefined` if nothing listens there
 * @throws Error if a server there does not answer with TLS; `signal.reason` when aborted
 */
export async function readServedCertificate(host: string, port: number, signal: AbortSignal): Promise<X509Certificate | undefined> {
  const socket = connect({ host, port, rejectUnauthorized: false });
  using _closing = { [Symbol.dispose]: () => void socket.destroy() };
  try {
    await once(socket, "secureConnect", { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (isUnconnected(error)) return undefined;
    throw error;
  }
  const { raw } = socket.getPeerCertificate();
  if (raw === undefined) throw new Error(`the server at port ${port} shows no certificate`);
  return new X509Certificate(raw);
}

/**
 * Whether the certificate is one of the node's: issued to `system:node:NAME`, or self-signed by this program. A certificate of a
 * configured file can have any name.
 */
export function isNodeCertificate(certificate: X509Certificate, nodeName: string): boolean {
  return isIssuedTo(certificate, nodeName) || isSelfSigned(certificate, nodeName);
}

function isIssuedTo({ subject }: X509Certificate, nodeName: string): boolean {
  return subject.split("\n").includes(`CN=system:node:${nodeName}`);
}

/** Whether this program has signed the certificate itself: its name is the node's and a time, of which the last 64 characters are kept. */
export function isSelfSigned({ subject, issuer }: X509Certificate, nodeName: string): boolean {
  const [, name = ""] = /^CN=(.+)@\d+$/m.exec(subject) ?? [];
  return subject === issuer && name !== "" && nodeName.endsWith(name);
}
