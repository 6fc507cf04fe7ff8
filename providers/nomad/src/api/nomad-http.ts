import { Semaphore } from "@virtual-kubelet/async";
import { InvalidInputError, QuotaExceededError, UnavailableError, messageOf } from "@virtual-kubelet/errdefs";
import { errors, Pool, type Dispatcher } from "undici";
import { WebSocket } from "ws";
import { nomadError } from "./errors.ts";
import type { NomadTls } from "./nomad-tls.ts";
import type { TokenSource } from "./token-source.ts";

const connectTimeoutMs = 10_000;
const answerTimeoutMs = 30_000;
/** Connections that following one container takes: one for each of its outputs. */
const streamsOfLog = 2;
/** Maximum size of an answer in bytes. */
const maxAnswerBytes = 256 * 1024 * 1024;

/** Options of {@link NomadHttp}. */
export interface NomadHttpOptions {
  /** `http://`, `https://` or `unix://`. */
  readonly address: string;
  readonly region?: string | undefined;
  readonly tokens: TokenSource;
  /** `user:password` for a proxy in front of Nomad. */
  readonly httpAuth?: string | undefined;
  readonly tls: NomadTls;
  /** Maximum connections for short requests; long ones are counted separately. */
  readonly maxSockets: number;
  /** Maximum connections for users' logs and commands. The last quarter is for tenants that have fewer than `streamsOfLog`. */
  readonly maxStreams: number;
}

/** Query parameters; absent ones are left out. */
type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** A request to Nomad. */
export interface NomadRequest {
  readonly method?: "GET" | "PUT" | "DELETE" | undefined;
  /** Under `/v1`, its parts encoded. */
  readonly path: string;
  readonly query?: Query | undefined;
  /** Namespace of Nomad that the request is about; default: none, for what has no namespace. */
  readonly namespace?: string | undefined;
  readonly body?: unknown;
  /** Action and its object, as in `purge job vk-1`: the beginning of each error message. */
  readonly what: string;
  /** How long the answer may take, in milliseconds; 0 is for ever. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Namespace of Kubernetes whose user has asked for it: its connection counts as one of {@link NomadHttpOptions.maxStreams}. Default: none,
   * for what the node itself asks for.
   */
  readonly tenant?: string | undefined;
}

/** Nomad's answer. */
export interface NomadAnswer<Body> {
  readonly body: Body;
  /** `X-Nomad-Index`; 0 if there is none. */
  readonly index: number;
  /** `X-Nomad-Nexttoken`; `undefined` on the last page. */
  readonly nextToken: string | undefined;
}

/**
 * Speaks HTTP to one Nomad agent. Every method throws `signal.reason` when aborted, UnavailableError where nobody answers, and
 * what {@link nomadError} makes of an answer that says no. A refused token is read anew once where it comes from a file.
 */
export class NomadHttp implements AsyncDisposable {
  readonly #options: NomadHttpOptions;
  readonly #origin: string;
  readonly #socketPath: string | undefined;
  readonly #short: Pool;
  readonly #long: Pool;
  readonly #streams: Semaphore;

  constructor(options: NomadHttpOptions) {
    this.#options = options;
    const url = parseAddress(options.address);
    this.#socketPath = url.protocol === "unix:" ? decodeURIComponent(url.pathname) : undefined;
    this.#origin = this.#socketPath === undefined ? url.origin : "http://localhost";
    this.#streams = new Semaphore(options.maxStreams, { perGroup: streamsOfLog });
    this.#short = this.#open(options.maxSockets, answerTimeoutMs);
    this.#long = this.#open(null, 0);
  }

  /** Where it connects to, as it is configured. */
  get address(): string {
    return this.#options.address;
  }

  /** Sends a request and reads the whole answer as JSON. */
  async json<Body>(request: NomadRequest, signal: AbortSignal): Promise<NomadAnswer<Body>> {
    const { body, headers } = await this.#send(request, request.timeoutMs === undefined ? this.#short : this.#long, signal);
    let text: string;
    try {
      text = await readText(body);
    } catch (error) {
      signal.throwIfAborted();
      throw this.#unreachable(request, error);
    }
    return {
      body: parse<Body>(request, text),
      index: Number(headers["x-nomad-index"] ?? 0),
      nextToken: headerOf(headers, "x-nomad-nexttoken"),
    };
  }

  /**
   * Sends a request and hands out the answer as it comes. What is not read to its end is to be destroyed.
   *
   * @throws QuotaExceededError if all connections for users, or all that one tenant may have, are in use
   */
  async stream(request: NomadRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData["body"]> {
    const free = this.#take(request);
    try {
      const { body } = await this.#send(request, this.#long, signal);
      // The caller ends the stream by destroying it, which is not an error.
      body.on("error", () => {});
      if (free) body.once("end", free).once("close", free);
      return body;
    } catch (error) {
      free?.();
      throw error;
    }
  }

  /** Opens a WebSocket; it may not have connected yet. @throws QuotaExceededError as {@link stream} does */
  async webSocket(request: NomadRequest): Promise<WebSocket> {
    const { tls } = this.#options;
    const headers = await this.#headers();
    const base = this.#origin.replace(/^http/, "ws");
    const target = `/v1${request.path}${this.#search(request)}`;
    const url = this.#socketPath === undefined ? `${base}${target}` : `ws+unix:${this.#socketPath}:${target}`;
    const free = this.#take(request);
    const socket = new WebSocket(url, { ...tls, headers, perMessageDeflate: false, handshakeTimeout: connectTimeoutMs });
    if (free) socket.once("close", free);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#short.destroy(), this.#long.destroy()]);
  }

  /** Counts a connection for a user. @returns frees it, once; `undefined` for a connection of the node's own */
  #take({ what, tenant }: NomadRequest): (() => void) | undefined {
    if (tenant === undefined) return undefined;
    const permit = this.#streams.tryAcquire(tenant);
    if (permit) return () => permit[Symbol.dispose]();
    const { maxStreams, address } = this.#options;
    throw new QuotaExceededError(
      `${what}: the connections to Nomad at ${address} for logs and commands that namespace ${tenant} may have are in use: there are ${maxStreams}, the last quarter of them for namespaces with less than two; maxConnections and maxSockets say how many there are`,
    );
  }

  async #send(request: NomadRequest, pool: Pool, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const token = await this.#options.tokens.current();
    const response = await this.#try(request, pool, signal);
    if (response.statusCode < 300) return response;
    const refusal = await this.#refusal(request, response, signal);
    if (response.statusCode !== 403 || !(await this.#options.tokens.renew(token))) throw refusal;
    const second = await this.#try(request, pool, signal);
    if (second.statusCode < 300) return second;
    throw await this.#refusal(request, second, signal);
  }

  async #try(request: NomadRequest, pool: Pool, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { method = "GET", path, body } = request;
    signal.throwIfAborted();
    const options: Dispatcher.RequestOptions = {
      method,
      path: `/v1${path}${this.#search(request)}`,
      headers: await this.#headers(),
      body: body === undefined ? null : JSON.stringify(body),
      // An idle connection after a log would count against the limit for commands.
      reset: request.tenant !== undefined,
      signal,
      ...(request.timeoutMs !== undefined && { headersTimeout: request.timeoutMs }),
    };
    for (let attempt = 1; ; attempt++) {
      try {
        return await pool.request(options);
      } catch (error) {
        signal.throwIfAborted();
        // A kept connection may be closed just as a request is put on it; a read is safe to put on another.
        if (attempt === 1 && method === "GET" && error instanceof errors.SocketError) continue;
        throw this.#unreachable(request, error);
      }
    }
  }

  async #refusal({ what }: NomadRequest, { statusCode, body }: Dispatcher.ResponseData, signal: AbortSignal): Promise<Error> {
    const text = await body.text().catch(() => "");
    signal.throwIfAborted();
    return nomadError(what, statusCode, text);
  }

  async #headers(): Promise<Record<string, string>> {
    const token = await this.#options.tokens.current();
    const { httpAuth } = this.#options;
    return {
      ...(token !== undefined && token !== "" && { "x-nomad-token": token }),
      ...(httpAuth !== undefined && { authorization: `Basic ${Buffer.from(httpAuth).toString("base64")}` }),
    };
  }

  #search({ query = {}, namespace }: Pick<NomadRequest, "query" | "namespace">): string {
    const { region } = this.#options;
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries({ namespace, region, ...query })) {
      if (value === undefined) continue;
      for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
    }
    return `?${search.toString()}`;
  }

  #unreachable({ what }: NomadRequest, cause: unknown): UnavailableError {
    return new UnavailableError(`${what}: Nomad at ${this.#options.address} does not answer: ${messageOf(cause)}`, { cause });
  }

  #open(connections: number | null, timeoutMs: number): Pool {
    const { tls } = this.#options;
    return new Pool(this.#origin, {
      connections,
      pipelining: 1,
      headersTimeout: answerTimeoutMs,
      bodyTimeout: timeoutMs,
      keepAliveTimeout: 30_000,
      connect: {
        timeout: connectTimeoutMs,
        keepAlive: true,
        keepAliveInitialDelay: 30_000,
        ...(this.#socketPath === undefined ? tls : { socketPath: this.#socketPath }),
      },
    });
  }
}

/** A host and port alone, as in the Go provider's documentation, means HTTP. */
function parseAddress(address: string): URL {
  const text = /^(\[[\da-f:]+\]|[\w.-]+):\d+$/i.test(address) ? `http://${address}` : address;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && ["http:", "https:", "unix:"].includes(url.protocol)) return url;
  throw new InvalidInputError(
    `address of the Nomad provider is ${JSON.stringify(address)}; expected a URL such as http://127.0.0.1:4646 or unix:///run/nomad.sock`,
  );
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxAnswerBytes) throw new RangeError(`an answer of more than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Parses JSON. @throws UnavailableError for a truncated or invalid answer */
function parse<Body>({ what }: NomadRequest, text: string): Body {
  try {
    return (text === "" ? undefined : JSON.parse(text)) as Body;
  } catch (cause) {
    throw new UnavailableError(`${what}: Nomad's answer is not JSON, or is cut off after ${text.length} characters`, { cause });
  }
}

function headerOf(headers: Dispatcher.ResponseData["headers"], name: string): string | undefined {
  const value = headers[name];
  const first = Array.isArray(value) ? value[0] : value;
  return first === undefined || first === "" ? undefined : first;
}
