import { request } from "node:https";
import { connect } from "node:tls";

/** Credentials of a caller of a node's server. */
export interface Caller {
  readonly token?: string | undefined;
  /** PEM of a client certificate. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** A request to a node's server. */
export interface KubeletRequest {
  readonly method?: "GET" | "POST" | undefined;
  readonly path: string;
  /** Protocol that the request upgrades the connection to; default: no upgrade. */
  readonly upgrade?: "websocket" | "spdy" | undefined;
}

/** Response of the server. After an accepted upgrade the status is 101, and the connection is closed. */
export interface KubeletAnswer {
  readonly status: number;
  readonly body: string;
}

const upgradeHeaders = {
  websocket: {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": "v4.channel.k8s.io",
  },
  spdy: { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" },
} as const;

/** Sends a request to the server of a node on this machine, on its own connection. The server's certificate is not verified. */
export async function askKubelet(port: number, asked: KubeletRequest, caller: Caller = {}): Promise<KubeletAnswer> {
  const { token, certificate, key } = caller;
  return await new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      method: asked.method ?? "GET",
      path: asked.path,
      headers: {
        ...(asked.upgrade && upgradeHeaders[asked.upgrade]),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(certificate !== undefined && key !== undefined && { cert: certificate, key }),
      rejectUnauthorized: false,
      agent: false,
    });
    outgoing.once("error", reject);
    outgoing.once("upgrade", (_, socket) => {
      socket.destroy();
      resolve({ status: 101, body: "" });
    });
    outgoing.once("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    outgoing.end();
  });
}

/** Issuer and names of the certificate that a server on this machine currently presents. */
export async function servedCertificate(port: number): Promise<{ readonly issuer: string; readonly names: string }> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      resolve({ issuer: certificate?.issuer ?? "", names: certificate?.subjectAltName ?? "" });
    });
    socket.once("error", reject);
  });
}
