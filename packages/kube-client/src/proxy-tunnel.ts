import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { getCACertificates } from "node:tls";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { buildConnector } from "undici";
import type { TlsMaterial } from "./credentials.ts";
import { shownProxy } from "./proxy-url.ts";

/** How tunnels are made. */
export interface ProxyOptions {
  readonly proxy: URL;
  /** What a proxy over TLS is believed by, besides the system's authorities; its own client certificate is not shown to it. */
  readonly tls: TlsMaterial;
  readonly timeoutMs: number;
  /** When the kernel begins to ask whether the other side of a silent connection is still there, in milliseconds. */
  readonly keepAliveDelayMs: number;
}

/**
 * Makes a connector reach its servers through a proxy: every connection is a tunnel of its own, in which the connector does what it
 * would do without. So pools, HTTP/2 and time-outs stay as they are.
 */
export function throughProxy(connect: buildConnector.connector, options: ProxyOptions): buildConnector.connector {
  return (target, callback) => void connectInTunnel(connect, target, callback, options);
}

async function connectInTunnel(
  connect: buildConnector.connector,
  target: buildConnector.Options,
  callback: buildConnector.Callback,
  options: ProxyOptions,
): Promise<void> {
  let socket: Socket;
  try {
    socket = await openTunnel(target, options);
  } catch (error) {
    return callback(new Error(`proxy ${shownProxy(options.proxy)}: ${messageOf(error)}`, { cause: error }), null);
  }
  socket.setNoDelay(true).setKeepAlive(true, options.keepAliveDelayMs);
  if (target.protocol === "https:") connect({ ...target, httpSocket: socket }, callback);
  else callback(null, socket);
}

function openTunnel(target: buildConnector.Options, options: ProxyOptions): Promise<Socket> {
  const host = withoutBrackets(target.hostname);
  const port = Number(target.port) || (target.protocol === "https:" ? 443 : 80);
  return options.proxy.protocol.startsWith("socks") ? openSocksTunnel(host, port, options) : openHttpTunnel(host, port, options);
}

async function openHttpTunnel(host: string, port: number, { proxy, tls, timeoutMs }: ProxyOptions): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const isSecure = proxy.protocol === "https:";
  const address = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const credentials = credentialsOf(proxy);
  const base: RequestOptions = {
    method: "CONNECT",
    host: withoutBrackets(proxy.hostname),
    port: proxy.port || (isSecure ? 443 : 80),
    path: address,
    headers: {
      host: address,
      ...(credentials && { "proxy-authorization": `Basic ${Buffer.from(credentials.join(":")).toString("base64")}` }),
    },
    agent: false,
    timeout: timeoutMs,
  };
  const request = isSecure ? httpsRequest({ ...base, ...proxyTls(proxy, tls) }) : httpRequest(base);
  request.once("connect", (response, socket: Socket, head) => {
    socket.setTimeout(0);
    const { statusCode = 0, statusMessage = "" } = response;
    if (statusCode >= 200 && statusCode < 300) {
      if (head.length > 0) socket.unshift(head);
      return resolve(socket);
    }
    socket.destroy();
    const remedy = statusCode === 407 ? `; ${credentials ? "its user or password is wrong" : "it asks for user:password@ in its URL"}` : "";
    reject(new Error(`it answered CONNECT ${address} with ${`${statusCode} ${statusMessage}`.trim()}, expected 200${remedy}`));
  });
  request.once("timeout", () => request.destroy(new Error(`no answer to CONNECT ${address} in ${timeoutMs / 1000} s`)));
  request.once("error", reject);
  request.end();
  return promise;
}

async function openSocksTunnel(host: string, port: number, { proxy, timeoutMs }: ProxyOptions): Promise<Socket> {
  const { SocksClient } = await import("socks");
  const [userId, password] = credentialsOf(proxy) ?? [];
  const { socket } = await SocksClient.createConnection({
    command: "connect",
    proxy: {
      host: withoutBrackets(proxy.hostname),
      port: Number(proxy.port) || 1080,
      type: 5,
      ...(userId !== undefined && { userId, password: password ?? "" }),
    },
    destination: { host, port },
    timeout: timeoutMs,
  });
  return socket;
}

/** As client-go, it believes the cluster's authority for its proxy, too; as everybody else, the system's. */
function proxyTls(proxy: URL, { ca, insecureSkipVerify }: TlsMaterial): object {
  const name = withoutBrackets(proxy.hostname);
  return {
    ...(ca !== undefined && { ca: [...getCACertificates("default"), ca] }),
    rejectUnauthorized: !insecureSkipVerify,
    // An address is no name that a client may ask for; without any, Node.js would ask for the tunnel's end.
    servername: isIP(name) === 0 ? name : "",
  };
}

function credentialsOf({ username, password }: URL): readonly [string, string] | undefined {
  return username === "" ? undefined : [decodeURIComponent(username), decodeURIComponent(password)];
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
