import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { Agent, request } from "undici";
import type { ZunAuthConfig } from "../config/schema.ts";

/** Longer than the 60 s that Zun waits for its compute hosts. Source: oslo.messaging's rpc_response_timeout. */
const answerTimeoutMs = 90_000;
const connectTimeoutMs = 10_000;
/** Less than the minute after which haproxy, in front of cloud services, closes idle connections. */
const keepAliveMs = 30_000;

/** Request with a JSON body or none. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** Answer with any status. */
export interface HttpAnswer {
  readonly status: number;
  /** Headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON, or the text if it is not JSON; `undefined` if it is empty. */
  readonly body: unknown;
}

/** Sends requests to a cloud. */
export interface HttpClient extends AsyncDisposable {
  /** @throws UnavailableError if the server cannot be reached; `signal.reason` when aborted */
  send(request: HttpRequest): Promise<HttpAnswer>;
}

/** Certificates of a cloud, in the form of Node's TLS options. */
export interface CloudCertificates {
  readonly ca?: readonly string[] | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** Reads the certificates. The cloud's authorities are added to the system's. @throws Error if a file cannot be read */
export function readCloudCertificates({ caCert, cert, key, insecure = false }: ZunAuthConfig): CloudCertificates {
  return {
    ...(caCert !== undefined && { ca: [...rootCertificates, readFileSync(caCert, "utf8")] }),
    ...(cert !== undefined && { cert: readFileSync(cert, "utf8") }),
    ...(key !== undefined && { key: readFileSync(key, "utf8") }),
    rejectUnauthorized: !insecure,
  };
}

/** Sends requests over persistent connections. */
export function createHttpClient({ ca, cert, key, rejectUnauthorized }: CloudCertificates): HttpClient {
  const dispatcher = new Agent({
    connect: {
      timeout: connectTimeoutMs,
      rejectUnauthorized,
      ...(ca && { ca: [...ca] }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    },
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
    keepAliveTimeout: keepAliveMs,
  });
  return {
    async send({ method, url, headers = {}, body, signal }) {
      signal.throwIfAborted();
      try {
        const answer = await request(url, {
          method,
          dispatcher,
          signal,
          headers: { accept: "application/json", ...(body !== undefined && { "content-type": "application/json" }), ...headers },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return { status: answer.statusCode, headers: flatHeaders(answer.headers), body: parseBody(await answer.body.text()) };
      } catch (error) {
        signal.throwIfAborted();
        const { origin, pathname } = new URL(url);
        throw new UnavailableError(`${method} ${origin}${pathname}: ${messageOf(error) || "cannot be reached"}`, { cause: error });
      }
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

function flatHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  return flat;
}

/** A proxy in front of a service may answer in HTML. */
function parseBody(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
