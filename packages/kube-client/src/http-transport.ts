import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { Agent, errors, type Dispatcher } from "undici";
import type { Credentials, Identity, TlsMaterial } from "./credentials.ts";
import type { Transport, TransportPool, TransportRequest, TransportResponse } from "./transport.ts";

const connectTimeoutMs = 10_000;
/** Above the API server's own minute, so that a connection is not closed while a request is on its way to it. */
const keepAliveMs = 90_000;
/** When the kernel begins to ask whether the other side of a silent connection is still there. */
const tcpKeepAliveMs = 30_000;

/** How one pool connects. */
export interface HttpPoolOptions {
  /** Most connections at once; `null` is no limit. */
  readonly connections: number | null;
  /** Offer HTTP/2. */
  readonly http2: boolean;
  /** How long an answer's head may take, in milliseconds; 0 is for ever. */
  readonly headersTimeoutMs: number;
}

/** The pools of {@link createHttpTransport} unless told otherwise; docs/guides/performance.md says why. */
export const defaultHttpPools: Readonly<Record<TransportPool, HttpPoolOptions>> = {
  short: { connections: 32, http2: false, headersTimeoutMs: 30_000 },
  long: { connections: null, http2: false, headersTimeoutMs: 30_000 },
  lease: { connections: 1, http2: false, headersTimeoutMs: 10_000 },
};

/** Options of {@link createHttpTransport}. */
export interface HttpTransportOptions {
  readonly credentials: Credentials;
  /** Default {@link defaultHttpPools}. */
  readonly pools?: Readonly<Partial<Record<TransportPool, Partial<HttpPoolOptions>>>> | undefined;
}

/** Carries requests over HTTP, on kept connections: three pools, so that no kind of request starves another. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  return new HttpTransport(options);
}

type Agents = Readonly<Record<TransportPool, Agent>>;

class HttpTransport implements Transport {
  readonly #credentials: Credentials;
  readonly #pools: Readonly<Record<TransportPool, HttpPoolOptions>>;
  readonly #retired = new Set<Promise<unknown>>();
  #connected: { readonly tls: TlsMaterial; readonly agents: Agents } | undefined;

  constructor({ credentials, pools = {} }: HttpTransportOptions) {
    this.#credentials = credentials;
    this.#pools = {
      short: { ...defaultHttpPools.short, ...pools.short },
      long: { ...defaultHttpPools.long, ...pools.long },
      lease: { ...defaultHttpPools.lease, ...pools.lease },
    };
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const { signal } = request;
    const response = await this.#send(request, await this.#credentials.current(signal));
    if (response.statusCode !== 401) return answerOf(response, request);
    await response.body.dump();
    await this.#credentials.refresh(signal);
    return answerOf(await this.#send(request, await this.#credentials.current(signal)), request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const agents = Object.values(this.#connected?.agents ?? {});
    this.#connected = undefined;
    await Promise.all([...agents.map((agent) => agent.destroy()), ...this.#retired]);
  }

  async #send(request: TransportRequest, identity: Identity): Promise<Dispatcher.ResponseData> {
    const { method, path, headers, body, pool, signal } = request;
    const agent = this.#agents(identity.tls)[pool];
    const options: Dispatcher.RequestOptions & { readonly origin: string } = {
      origin: this.#credentials.server,
      method,
      path,
      headers: identity.authorization === undefined ? { ...headers } : { ...headers, authorization: identity.authorization },
      body: body ?? null,
      signal,
    };
    for (let attempt = 1; ; attempt++) {
      try {
        return await agent.request(options);
      } catch (error) {
        signal.throwIfAborted();
        // The server may close a kept connection just as a request is put on it; a read is safe to put on another.
        if (attempt === 1 && method === "GET" && error instanceof errors.SocketError) continue;
        throw unreachable(request, this.#credentials.server, error);
      }
    }
  }

  #agents(tls: TlsMaterial): Agents {
    const connected = this.#connected;
    if (connected?.tls === tls) return connected.agents;
    if (connected) for (const agent of Object.values(connected.agents)) this.#retire(agent);
    const agents: Agents = {
      short: this.#agent(this.#pools.short, tls),
      long: this.#agent(this.#pools.long, tls),
      lease: this.#agent(this.#pools.lease, tls),
    };
    this.#connected = { tls, agents };
    return agents;
  }

  #agent(pool: HttpPoolOptions, tls: TlsMaterial): Agent {
    return new Agent({
      connections: pool.connections,
      allowH2: pool.http2,
      pipelining: pool.http2 ? 100 : 1,
      headersTimeout: pool.headersTimeoutMs,
      // A watch may be silent for long; who reads it has a deadline of its own.
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      connect: {
        timeout: connectTimeoutMs,
        keepAlive: true,
        keepAliveInitialDelay: tcpKeepAliveMs,
        rejectUnauthorized: !tls.insecureSkipVerify,
        ...(tls.ca !== undefined && { ca: tls.ca }),
        ...(tls.certificate !== undefined && { cert: tls.certificate }),
        ...(tls.key !== undefined && { key: tls.key }),
        ...(tls.serverName !== undefined && { servername: tls.serverName }),
      },
    });
  }

  /** Lets an agent's requests end; new ones go to its successor. */
  #retire(agent: Agent): void {
    const closed = agent.close().catch(() => {});
    this.#retired.add(closed);
    void closed.then(() => this.#retired.delete(closed));
  }
}

function answerOf(response: Dispatcher.ResponseData, request: TransportRequest): TransportResponse {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return { status: response.statusCode, headers, body: bodyOf(response, request) };
}

/** The body's chunks. Leaving early destroys the stream, and with it the connection. */
async function* bodyOf(response: Dispatcher.ResponseData, request: TransportRequest): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response.body) yield chunk;
  } catch (error) {
    request.signal.throwIfAborted();
    throw new UnavailableError(`${request.method} ${request.path}: the answer broke off: ${messageOf(error)}`, { cause: error });
  }
}

function unreachable({ method, path }: TransportRequest, server: string, error: unknown): UnavailableError {
  return new UnavailableError(`${method} ${path}: no answer from the API server at ${server}: ${messageOf(error)}`, { cause: error });
}
