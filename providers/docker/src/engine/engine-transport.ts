import { DeadlineExceededError } from "@virtual-kubelet/errdefs";
import type { Clock } from "@virtual-kubelet/core";
import * as http from "node:http";
import * as https from "node:https";
import type { Duplex } from "node:stream";
import type { EngineEndpoint, EngineRequest } from "./docker-engine.ts";
import { toConnectionError, toEngineError } from "./engine-error.ts";

/** Default deadline of a JSON answer, in milliseconds. Source: the default of cri-dockerd, two minutes. */
const defaultTimeoutMs = 120_000;

/**
 * Maximum number of idle connections. Connections in use have no limit, because a busy engine takes seconds for each start, and a ping must
 * not queue.
 */
const maxFreeSockets = 16;

export interface EngineTransportOptions {
  readonly endpoint: EngineEndpoint;
  readonly clock: Clock;
}

/** HTTP to one engine, without API versions: paths are sent unchanged. */
export class EngineTransport implements Disposable {
  readonly #options: EngineTransportOptions;
  readonly #agent: http.Agent;

  constructor(options: EngineTransportOptions) {
    this.#options = options;
    const { endpoint } = options;
    const isTls = endpoint.kind === "tcp" && endpoint.tls !== undefined;
    const pool = { keepAlive: true, maxFreeSockets, scheduling: "lifo" as const };
    this.#agent = isTls ? new https.Agent(pool) : new http.Agent(pool);
  }

  /** Closes idle connections. */
  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /** Reads a JSON answer with its headers. Other text is returned unchanged. */
  async answer(request: EngineRequest, signal: AbortSignal): Promise<EngineJson> {
    const { clock } = this.#options;
    const timeoutMs = request.timeoutMs ?? defaultTimeoutMs;
    const deadline = new AbortController();
    using _timer = clock.setTimer(timeoutMs, () =>
      deadline.abort(new DeadlineExceededError(`${nameOf(request)}: the Docker engine gave no answer within ${timeoutMs / 1000} s`)),
    );
    const both = AbortSignal.any([signal, deadline.signal]);
    const response = await this.#send(request, { signal: both, agent: this.#agent });
    return { headers: response.headers, body: parse(await this.#read(request, response, both)) };
  }

  /** Streams the body of a successful answer. */
  async stream(request: EngineRequest, signal: AbortSignal): Promise<http.IncomingMessage> {
    return this.#send(request, { signal, agent: false });
  }

  /** The raw connection after an upgrade. */
  upgrade(request: EngineRequest, signal: AbortSignal): Promise<Duplex> {
    const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
    const sent = this.#open(request, { signal, agent: false, headers: { connection: "Upgrade", upgrade: "tcp" } });
    sent.on("upgrade", (_response, socket: Duplex, head: Buffer) => {
      if (head.length > 0) socket.unshift(head);
      const onAbort = (): void => void socket.destroy(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
      signal.addEventListener("abort", onAbort, { once: true });
      socket.once("close", () => signal.removeEventListener("abort", onAbort));
      if (signal.aborted) onAbort();
      resolve(socket);
    });
    sent.on("response", (response) => void this.#fail(request, response, signal).catch(reject));
    sent.on("error", (error) => reject(this.#reason(request, error, signal)));
    return promise;
  }

  /** @throws the engine's error, unless the answer is a success; 304 (nothing to do) is one */
  #send(
    request: EngineRequest,
    { signal, agent }: { readonly signal: AbortSignal; readonly agent: http.Agent | false },
  ): Promise<http.IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const sent = this.#open(request, { signal, agent, headers: {} });
    sent.on("response", (response) => {
      const { statusCode = 0 } = response;
      if (statusCode < 400) resolve(response);
      else void this.#fail(request, response, signal).catch(reject);
    });
    sent.on("error", (error) => reject(this.#reason(request, error, signal)));
    return promise;
  }

  #open(
    request: EngineRequest,
    { signal, agent, headers }: { signal: AbortSignal; agent: http.Agent | false; headers: http.OutgoingHttpHeaders },
  ): http.ClientRequest {
    signal.throwIfAborted();
    const { endpoint } = this.#options;
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const options: http.RequestOptions = {
      method: request.method,
      path: `${request.path}${queryOf(request)}`,
      agent,
      signal,
      headers: {
        host: "docker",
        ...headers,
        ...(body === undefined
          ? request.method === "POST" && { "content-length": 0 }
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
        ...request.headers,
      },
    };
    const sent =
      endpoint.kind === "unix"
        ? http.request({ ...options, socketPath: endpoint.socketPath })
        : endpoint.tls === undefined
          ? http.request({ ...options, host: endpoint.host, port: endpoint.port })
          : https.request({ ...options, host: endpoint.host, port: endpoint.port, ...tlsOf(endpoint) });
    sent.end(body);
    return sent;
  }

  async #read(request: EngineRequest, response: http.IncomingMessage, signal: AbortSignal): Promise<string> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks).toString("utf8");
    } catch (error) {
      throw this.#reason(request, error, signal);
    }
  }

  async #fail(request: EngineRequest, response: http.IncomingMessage, signal: AbortSignal): Promise<never> {
    const text = await this.#read(request, response, signal);
    const body = parse(text);
    const said = typeof body === "object" && body !== null && "message" in body ? String(body.message) : text;
    throw toEngineError(nameOf(request), response.statusCode ?? 0, said);
  }

  #reason(request: EngineRequest, error: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? signal.reason : toConnectionError(nameOf(request), this.#options.endpoint, error);
  }
}

/** A JSON answer. */
export interface EngineJson {
  readonly headers: http.IncomingHttpHeaders;
  /** `undefined` if it is empty; a string if it is not JSON. */
  readonly body: unknown;
}

/** Purpose of a request for error messages. */
function nameOf({ what, method, path }: EngineRequest): string {
  return what ?? `${method} ${path}`;
}

function queryOf({ query = {} }: EngineRequest): string {
  const entries = Object.entries(query).flatMap(([key, value]): [string, string][] => (value === undefined ? [] : [[key, String(value)]]));
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries).toString()}`;
}

function tlsOf({ host, tls }: Extract<EngineEndpoint, { kind: "tcp" }>): https.RequestOptions {
  const { ca, cert, key, verify = true } = tls ?? {};
  return {
    rejectUnauthorized: verify,
    servername: /^[\d.]+$|:/.test(host) ? "" : host,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}

function parse(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
