import type { Clock } from "@virtual-kubelet/clock";
import { maxHeaderSize, request as httpRequest, type ClientRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { getCACertificates } from "node:tls";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { buildConnector } from "undici";
import type { TlsMaterial } from "../credentials/credentials.ts";
import { shownProxy } from "./proxy-url.ts";

/** Options of tunnels. */
export interface TunnelOptions {
  readonly proxy: URL;
  /** Authorities for a proxy over TLS in addition to the system's; the client certificate is not sent to the proxy. */
  readonly tls: TlsMaterial;
  /** Time limit from the first packet to the proxy's answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Idle time before TCP keep-alive probes begin, in milliseconds. */
  readonly keepAliveDelayMs: number;
  readonly clock: Pick<Clock, "setTimer">;
}

/**
 * Wraps a connector so that it reaches its servers through a proxy: every connection is a separate tunnel, in which the connector works as
 * it would without. Pools, HTTP/2 and time-outs are therefore unchanged.
 */
export function throughProxy(connect: buildConnector.connector, options: TunnelOptions): buildConnector.connector {
  return (target, callback) => void connectInTunnel(connect, target, callback, options);
}

async function connectInTunnel(
  connect: buildConnector.connector,
  target: buildConnector.Options,
  callback: buildConnector.Callback,
  options: TunnelOptions,
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

function openTunnel(target: buildConnector.Options, options: TunnelOptions): Promise<Socket> {
  const host = withoutBrackets(target.hostname);
  const port = Number(target.port) || (target.protocol === "https:" ? 443 : 80);
  return options.proxy.protocol.startsWith("socks") ? openSocksTunnel(host, port, options) : openHttpTunnel(host, port, options);
}

async function openHttpTunnel(host: string, port: number, { proxy, tls, timeoutMs, clock }: TunnelOptions): Promise<Socket> {
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
  };
  const request = isSecure ? httpsRequest({ ...base, ...proxyTls(proxy, tls) }) : httpRequest(base);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  // The socket's own time-out would restart with each byte.
  let open: Socket | ClientRequest = request;
  const timer = clock.setTimer(timeoutMs, () => open.destroy(new Error(`no answer to CONNECT ${address} in ${timeoutMs / 1000} s`)));
  request.once("connect", (response, socket: Socket, head) => {
    open = socket;
    if (head.length > 0) socket.unshift(head);
    const { statusCode = 0, statusMessage = "" } = response;
    finalAnswer({ statusCode, statusMessage }, socket)
      .then((answer) => {
        if (answer.statusCode < 300) return resolve(socket);
        throw refusal(address, answer, credentials !== undefined);
      })
      .catch((error: unknown) => {
        socket.destroy();
        reject(error);
      });
  });
  request.once("error", reject);
  request.end();
  try {
    return await promise;
  } finally {
    timer[Symbol.dispose]();
  }
}

interface ProxyAnswer {
  readonly statusCode: number;
  readonly statusMessage: string;
}

/** Node.js treats an interim answer (1xx) to CONNECT as the final one, which follows it. */
async function finalAnswer(first: ProxyAnswer, socket: Socket): Promise<ProxyAnswer> {
  let answer = first;
  while (answer.statusCode < 200) answer = await readAnswer(socket);
  return answer;
}

/** Reads the head of an answer; later bytes stay in the socket. */
function readAnswer(socket: Socket): Promise<ProxyAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ProxyAnswer>();
  let bytes = Buffer.alloc(0);
  const onReadable = (): void => {
    const chunk: unknown = socket.read();
    if (!Buffer.isBuffer(chunk)) return;
    bytes = Buffer.concat([bytes, chunk]);
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0 && bytes.length <= maxHeaderSize) return;
    const [, statusCode, statusMessage = ""] = /^HTTP\/1\.\d (\d{3})(?: (.*))?\r\n/.exec(bytes.toString("latin1")) ?? [];
    if (end < 0 || statusCode === undefined) return reject(new Error("what follows its interim answer is no answer of HTTP"));
    socket.off("readable", onReadable);
    if (bytes.length > end + 4) socket.unshift(bytes.subarray(end + 4));
    resolve({ statusCode: Number(statusCode), statusMessage });
  };
  const onEnd = (): void => reject(new Error("it hung up after an interim answer"));
  socket.on("readable", onReadable).once("end", onEnd).once("error", reject);
  return promise.finally(() => socket.off("readable", onReadable).off("end", onEnd).off("error", reject));
}

function refusal(address: string, { statusCode, statusMessage }: ProxyAnswer, hasCredentials: boolean): Error {
  const remedy =
    statusCode === 407 ? `; ${hasCredentials ? "its user or password is wrong" : "it asks for user:password@ in its URL"}` : "";
  return new Error(`it answered CONNECT ${address} with ${`${statusCode} ${statusMessage}`.trim()}, expected 200${remedy}`);
}

async function openSocksTunnel(host: string, port: number, { proxy, timeoutMs }: TunnelOptions): Promise<Socket> {
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

/** Trusts the cluster's authority, as client-go does, and the system's for the proxy. */
function proxyTls(proxy: URL, { ca, insecureSkipVerify }: TlsMaterial): object {
  const name = withoutBrackets(proxy.hostname);
  return {
    ...(ca !== undefined && { ca: [...getCACertificates("default"), ca] }),
    rejectUnauthorized: !insecureSkipVerify,
    // An IP address is not allowed as a server name; without any name Node.js would use that of the tunnel's end.
    servername: isIP(name) === 0 ? name : "",
  };
}

function credentialsOf({ username, password }: URL): readonly [string, string] | undefined {
  return username === "" ? undefined : [decodeURIComponent(username), decodeURIComponent(password)];
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
