import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { TLSSocket } from "node:tls";
import { buildConnector, errors, Pool, type Dispatcher } from "undici";
import { CredentialsError } from "../errors/credentials-error.ts";
import type { Credentials, Identity, TlsMaterial } from "../credentials/credentials.ts";
import { sendRequest, type HttpAnswer } from "./http-exchange.ts";
import { connectOptions, inTunnel } from "./connector.ts";
import type { Transport, TransportPool, TransportRequest, TransportResponse } from "./transport.ts";

/** Shorter than the API server's own 90 s, so that the client closes an idle connection. Source: apiserver `server/secure_serving.go`. */
const keepAliveMs = 75_000;

/** How one pool connects. */
export interface HttpPoolOptions {
  /** Maximum number of connections; `null`: no limit. */
  readonly connections: number | null;
  /** Whether to offer HTTP/2. */
  readonly http2: boolean;
  /** Time limit for an answer's head, in milliseconds; 0: none. */
  readonly headersTimeoutMs: number;
  /** Maximum gap between chunks of an answer's body, in milliseconds; 0: none. */
  readonly bodyTimeoutMs: number;
}

/** Default pools of {@link createHttpTransport}; docs/guides/performance.md has the measurements. */
export const defaultHttpPools: Readonly<Record<TransportPool, HttpPoolOptions>> = {
  short: { connections: 32, http2: false, headersTimeoutMs: 30_000, bodyTimeoutMs: 30_000 },
  // A watch may be silent for long; who reads it has a deadline of its own.
  long: { connections: null, http2: false, headersTimeoutMs: 30_000, bodyTimeoutMs: 0 },
  // Against a real API server two hundred of them cost a fifth of the processor time that they do on connections of
  // their own, and 120 kB less memory each.
  quiet: { connections: null, http2: true, headersTimeoutMs: 30_000, bodyTimeoutMs: 0 },
  // They are opened when all others are busy. Not on HTTP/2: when an API server hangs, hundreds of heartbeats reach their deadlines and reset their
  // streams, and Node.js 24.21 then fills its memory in `Http2Session::SendPendingData` without an end.
  lease: { connections: 20, http2: false, headersTimeoutMs: 10_000, bodyTimeoutMs: 10_000 },
};

/** Options of {@link createHttpTransport}. */
export interface HttpTransportOptions {
  readonly credentials: Credentials;
  /** Default {@link defaultHttpPools}. */
  readonly pools?: Readonly<Partial<Record<TransportPool, Partial<HttpPoolOptions>>>> | undefined;
}

/**
 * Returns a transport that sends requests over persistent HTTP connections: a pool for each kind, so that none starves another. One that
 * does not support HTTP/2 gets quiet watches like other long ones. If the credentials name a proxy, every connection is a
 * tunnel through it, even to a server without TLS, for which client-go sends the request to the proxy itself.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  return new HttpTransport(options);
}

type Pools = Readonly<Record<TransportPool, Pool>>;

class HttpTransport implements Transport {
  readonly #credentials: Credentials;
  readonly #options: Readonly<Record<TransportPool, HttpPoolOptions>>;
  readonly #origin: string;
  readonly #pathPrefix: string;
  readonly #proxy: URL | undefined;
  /** Headers of every request. */
  readonly #headers: Record<string, string | string[]>;
  /** Pools of earlier identities with requests in progress. */
  readonly #retired = new Set<Pool>();
  #connected: { readonly tls: TlsMaterial; readonly pools: Pools } | undefined;
  /** Whether the server, or a proxy before it, supports only HTTP/1.1, on which quiet watches would block each other. */
  #hasNoHttp2: boolean;

  constructor({ credentials, pools = {} }: HttpTransportOptions) {
    const server = new URL(credentials.server);
    this.#credentials = credentials;
    this.#origin = server.origin;
    this.#pathPrefix = server.pathname.replace(/\/+$/, "");
    this.#proxy = credentials.proxy === undefined ? undefined : new URL(credentials.proxy);
    this.#headers = Object.fromEntries(
      Object.entries(credentials.headers ?? {}).map(([name, value]) => [name, typeof value === "string" ? value : [...value]]),
    );
    // Over HTTP/2 undici makes one header of several, and one group named "a, b" of the groups a and b.
    this.#hasNoHttp2 = Object.values(this.#headers).some((value) => typeof value !== "string" && value.length > 1);
    const optionsOf = (kind: TransportPool): HttpPoolOptions => {
      const options = { ...defaultHttpPools[kind], ...pools[kind] };
      return { ...options, http2: options.http2 && !this.#hasNoHttp2 };
    };
    this.#options = { short: optionsOf("short"), long: optionsOf("long"), quiet: optionsOf("quiet"), lease: optionsOf("lease") };
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const { signal } = request;
    const identity = await this.#identify(request, () => this.#credentials.current(signal));
    const response = await this.#send(request, identity);
    if (response.statusCode !== 401) return answerOf(response, request);
    await response.body.drain();
    const renewed = await this.#identify(request, async () => {
      // Of many requests that are refused at once, the first renews the identity for all.
      if ((await this.#credentials.current(signal)) === identity) await this.#credentials.refresh(signal);
      return await this.#credentials.current(signal);
    });
    return answerOf(await this.#send(request, renewed), request);
  }

  async #identify({ method, path, signal }: TransportRequest, read: () => Promise<Identity>): Promise<Identity> {
    try {
      return await read();
    } catch (error) {
      signal.throwIfAborted();
      throw new CredentialsError(`${method} ${path}: no credentials for the API server: ${messageOf(error)}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pools = [...Object.values(this.#connected?.pools ?? {}), ...this.#retired];
    this.#connected = undefined;
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  async #send(request: TransportRequest, identity: Identity): Promise<HttpAnswer> {
    const { method, path, headers, body, signal } = request;
    const pools = this.#pools(identity.tls);
    const options: Dispatcher.DispatchOptions = {
      method,
      path: this.#pathPrefix + path,
      headers: { ...headers, ...this.#headers, ...(identity.authorization !== undefined && { authorization: identity.authorization }) },
      body: body ?? null,
      // undici closes the connection after a DELETE with a body, unless told that the server keeps it.
      reset: false,
    };
    for (let attempt = 1; ; attempt++) {
      const isQuiet = request.pool === "quiet" && !this.#hasNoHttp2;
      const pool = request.pool === "quiet" && !isQuiet ? pools.long : pools[request.pool];
      try {
        return await sendRequest(pool, options, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (isQuiet && isWithoutHttp2(error)) {
          this.#hasNoHttp2 = true;
          continue;
        }
        // The server may close a kept connection just as a request is put on it; a read is safe to put on another.
        if (attempt === 1 && method === "GET" && isConnectionLost(error)) continue;
        throw unreachable(request, this.#credentials.server, error);
      }
    }
  }

  #pools(tls: TlsMaterial): Pools {
    const connected = this.#connected;
    if (connected?.tls === tls) return connected.pools;
    if (connected) for (const pool of Object.values(connected.pools)) this.#retire(pool);
    const pools: Pools = {
      short: this.#open("short", tls),
      long: this.#open("long", tls),
      quiet: this.#open("quiet", tls),
      lease: this.#open("lease", tls),
    };
    this.#connected = { tls, pools };
    return pools;
  }

  #open(kind: TransportPool, tls: TlsMaterial): Pool {
    const options = this.#options[kind];
    const connect = connectOptions(tls);
    return new Pool(this.#origin, {
      connections: options.connections,
      allowH2: options.http2,
      headersTimeout: options.headersTimeoutMs,
      bodyTimeout: options.bodyTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      connect: this.#connector(connect, kind === "quiet" && options.http2, options.http2, tls),
    });
  }

  #connector(
    connect: buildConnector.BuildOptions,
    isHttp2Only: boolean,
    allowH2: boolean,
    tls: TlsMaterial,
  ): buildConnector.connector | buildConnector.BuildOptions {
    if (!this.#proxy) return isHttp2Only ? http2Only(connect) : connect;
    return inTunnel(isHttp2Only ? http2Only(connect) : buildConnector({ ...connect, allowH2 }), this.#proxy, tls);
  }

  /** Closes a pool after its requests in progress; new requests use its successor. */
  #retire(pool: Pool): void {
    this.#retired.add(pool);
    void pool
      .close()
      .catch(() => {})
      .then(() => this.#retired.delete(pool));
  }
}

const noHttp2Code = "VK_NO_HTTP2";

/** Connects, and refuses a connection that is not HTTP/2. */
function http2Only(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector({ ...options, allowH2: true, preferH2: true });
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      if ((socket as Partial<TLSSocket>).alpnProtocol === "h2") return callback(null, socket);
      socket.destroy();
      callback(Object.assign(new Error("the server does not speak HTTP/2"), { code: noHttp2Code }), null);
    });
}

function isWithoutHttp2(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === noHttp2Code;
}

function isConnectionLost(error: unknown): boolean {
  if (error instanceof errors.SocketError) return true;
  return error instanceof Error && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

function answerOf(answer: HttpAnswer, request: TransportRequest): TransportResponse {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return { status: answer.statusCode, headers, body: bodyOf(answer, request) };
}

/** The body's chunks; errors name the request. */
function bodyOf({ body }: HttpAnswer, { method, path, signal }: TransportRequest): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const onError = (error: unknown): never => {
    signal.throwIfAborted();
    throw new UnavailableError(`${method} ${path}: the answer was cut off: ${messageOf(error)}`, { cause: error });
  };
  const iterator: AsyncIterator<Uint8Array, void> = {
    next: () => chunks.next().catch(onError),
    ...(chunks.return && { return: chunks.return.bind(chunks) }),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

function unreachable({ method, path }: TransportRequest, server: string, error: unknown): UnavailableError {
  return new UnavailableError(`${method} ${path}: no answer from the API server at ${server}: ${messageOf(error)}`, { cause: error });
}
