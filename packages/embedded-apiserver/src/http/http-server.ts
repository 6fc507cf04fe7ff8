import type { KeyPair } from "@virtual-kubelet/pki";
import { constants, createSecureServer, Http2ServerResponse, type Http2SecureServer, type Http2ServerRequest } from "node:http2";
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { once } from "node:events";
import { tooLarge } from "../errors/api-status-error.ts";
import { abandon, bodyLimitBytes, takenOver, type ApiRequest, type ApiResponse, type RequestHandler } from "./api-request.ts";
import { failure } from "./respond.ts";

/** Options of {@link openHttpServer}. */
export interface HttpServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly serving: KeyPair;
  /** Authorities that sign client certificates, PEM. */
  readonly clientCaPem: readonly string[];
  readonly handle: RequestHandler;
  /** Whether a URL is forwarded to another server, with upgrades; default: none is. */
  readonly isForwarded?: (url: string) => boolean;
}

/** A listening HTTPS server. */
export interface HttpServer extends AsyncDisposable {
  readonly port: number;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
}

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/** Source: k8s.io/apiserver v0.36.3 pkg/server/secure_serving.go, `IdleTimeout`. */
const idleTimeoutMs = 90_000;

/** Limit of the request line and the headers, of HTTP/1.1; source: Go's net/http/server.go, `DefaultMaxHeaderBytes`. */
const headerLimitBytes = 1 << 20;

/** Headers that HTTP/2 forbids. */
const connectionHeaders: ReadonlySet<string> = new Set(["connection", "transfer-encoding", "keep-alive"]);

/**
 * Starts an HTTPS server for HTTP/2 and HTTP/1.1.
 *
 * @throws Error of Node.js, such as EADDRINUSE
 */
export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const server = createSecureServer({
    allowHTTP1: true,
    cert: options.serving.certificate,
    key: options.serving.key,
    ca: [...options.clientCaPem],
    requestCert: true,
    rejectUnauthorized: false,
    settings: { maxConcurrentStreams: 1000 },
  });
  // Read by the HTTP/1.1 side of the server, but missing in the types.
  Object.assign(server, {
    keepAliveTimeout: idleTimeoutMs,
    maxHeaderSize: headerLimitBytes,
    shouldUpgradeCallback: (request: IncomingMessage) => isUpgrade(request, options.isForwarded),
  });
  const sockets = new Set<Socket>();
  server.on("secureConnection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    answerUpgrade(options, { request, socket, head }).catch(() => socket.destroy());
  });
  server.on("request", (request: Request, response: Response) => {
    answer(options, request, response).catch(() => breakOff(response));
  });
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  };
  return { port, close, [Symbol.asyncDispose]: close };
}

async function listen(server: Http2SecureServer, { host, port }: HttpServerOptions): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}

/** Shared by all requests, because capturing a stack can cost more than the response. */
const clientGone = new Error("the client is gone");

async function answer(options: HttpServerOptions, request: Request, response: Response): Promise<void> {
  response.on("error", () => {});
  const gone = new AbortController();
  (response as ServerResponse).once("close", () => gone.abort(clientGone));
  const body = await readBody(request);
  const result =
    body === undefined
      ? failure(tooLarge(`limit is ${bodyLimitBytes}`))
      : await options.handle({ ...toApiRequest(request, body), signal: gone.signal });
  if (gone.signal.aborted) return abandon(result);
  if (body === undefined) discardRest(request, response);
  await send(request, response, result);
  if (body === undefined && response instanceof Http2ServerResponse) request.destroy();
}

/** While the client is still sending, its HTTP/1.1 connection cannot be used again: the rest of the body is in the way. */
function discardRest(request: Request, response: Response): void {
  if (!request.readableEnded && !(response instanceof Http2ServerResponse)) response.setHeader("connection", "close");
  request.resume();
}

/** Whether the connection is handed over. Other upgrade requests are answered as if they had not asked for one. */
function isUpgrade({ url = "", headers }: IncomingMessage, isForwarded: HttpServerOptions["isForwarded"] = () => false): boolean {
  if (isForwarded(url)) return true;
  return /\/(exec|attach|portforward|proxy)([/?]|$)/.test(url) && /websocket|spdy\/3\.1/i.test(headers.upgrade ?? "");
}

/** Writes the response to the raw connection, unless a handler has taken it over. */
async function answerUpgrade(
  options: HttpServerOptions,
  upgrade: { readonly request: IncomingMessage; readonly socket: Socket; readonly head: Buffer },
): Promise<void> {
  const { request, socket } = upgrade;
  const result = await options.handle({ ...toApiRequest(request, emptyBody), upgrade });
  if (result === takenOver) return;
  const { status, headers, body } = result;
  const bytes = body instanceof Uint8Array ? body : emptyBody;
  abandon(result);
  const lines = Object.entries({ ...headers, "content-length": String(bytes.length), connection: "close" });
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  socket.end(bytes);
}

function toApiRequest(request: Request, body: Uint8Array): ApiRequest {
  return {
    method: request.method ?? "GET",
    url: originForm(request.url ?? "/"),
    headers: request.headers as Readonly<Record<string, string | undefined>>,
    body,
    certificate: clientCertificate(request.socket),
    hasForeignCertificate: hasForeignCertificate(request.socket),
  };
}

/** A target with scheme and host, as clients send it to proxies, names the same path (RFC 9112, section 3.2.2). */
function originForm(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, "") || "/";
}

function hasForeignCertificate(socket: Socket): boolean {
  return socket instanceof TLSSocket && !socket.authorized && Object.keys(socket.getPeerCertificate() ?? {}).length > 0;
}

function clientCertificate(socket: Socket): ApiRequest["certificate"] {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const { subject, fingerprint256 } = socket.getPeerCertificate();
  if (subject === undefined) return undefined;
  const fingerprint = fingerprint256.replaceAll(":", "").toLowerCase();
  return { commonName: String(subject.CN), organizations: [subject.O ?? []].flat(), fingerprint };
}

/** So much of a body is read although it is too large, because many clients read no response before they have sent everything. */
const discardLimitBytes = 16 * bodyLimitBytes;

/** Reads the whole body; `undefined` if it exceeds the limit. */
async function readBody(request: Request): Promise<Uint8Array | undefined> {
  if (request.method === "GET") return emptyBody;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > discardLimitBytes) return undefined;
    if (bytes <= bodyLimitBytes) chunks.push(chunk);
  }
  if (bytes > bodyLimitBytes) return undefined;
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
}

const emptyBody = new Uint8Array(0);

/** Over HTTP/2 only the stream is reset, because the connection carries other requests. */
function breakOff(response: Response): void {
  if (response instanceof Http2ServerResponse) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

async function send(request: Request, response: Response, { status, headers, cookies, body }: ApiResponse): Promise<void> {
  if (cookies !== undefined) response.setHeader("set-cookie", cookies.map(asBytes));
  if (body instanceof Uint8Array) {
    writeHead(response, status, { ...headers, "content-length": String(body.length) });
    if (request.method === "HEAD") response.end();
    else response.end(body);
    return;
  }
  writeHead(response, status, headers);
  flush(response);
  const chunks = body[Symbol.asyncIterator]();
  const writes = new PendingWrites(response as ServerResponse);
  (response as ServerResponse).once("close", () => void chunks.return?.());
  try {
    for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) {
      if (!writes.add(chunk.value)) await drained(response);
    }
  } catch (error) {
    await writes.done();
    throw error;
  }
  response.end();
}

/** Tracks the bytes that have not been sent to the client yet. */
class PendingWrites {
  readonly #response: ServerResponse;
  readonly #onWritten: () => void;
  #count = 0;
  #wake: (() => void) | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#onWritten = () => {
      if (--this.#count === 0) this.#wake?.();
    };
  }

  /** @returns whether more may be written */
  add(chunk: Uint8Array): boolean {
    this.#count++;
    return this.#response.write(chunk, this.#onWritten);
  }

  /** Waits until everything is sent or the client is gone. */
  async done(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#response.once("close", resolve);
    });
  }
}

function writeHead(response: Response, status: number, headers: Readonly<Record<string, string>>): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) if (!connectionHeaders.has(name)) response.setHeader(name, asBytes(value));
}

/** Sends the headers of a watch at once, because its first event may take long. */
function flush(response: Response): void {
  if ("flushHeaders" in response) response.flushHeaders();
}

async function drained(response: Response): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}

/** The UTF-8 bytes of a header, a character each: Node.js refuses other characters, and warnings of webhooks may have any. */
function asBytes(value: string): string {
  return Buffer.from(value, "utf8").toString("latin1");
}
