import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { Agent, request } from "undici";
import type { ZunAuthConfig } from "../config/schema.ts";

/** Zun waits up to 60 s for its compute hosts. Source: oslo.messaging's rpc_response_timeout. */
const answerTimeoutMs = 90_000;
const connectTimeoutMs = 10_000;
/** Cloud services behind haproxy close idle connections after a minute at the soonest. */
const keepAliveMs = 30_000;

/** One request, with a body of JSON or none. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** An answer, whatever its status. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON; text where it is none; `undefined` where it is empty. */
  readonly body: unknown;
}

/** Sends requests to a cloud. */
export interface HttpClient extends AsyncDisposable {
  /** @throws UnavailableError if the other side cannot be reached; `signal.reason` when aborted */
  send(request: HttpRequest): Promise<HttpAnswer>;
}

/** Certificates of a cloud, as Node's TLS takes them. */
export interface CloudCertificates {
  readonly ca?: readonly string[] | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** Reads the certificates. Those of the cloud stand beside the system's. @throws Error if a file cannot be read */
export function readCloudCertificates({ caCert, cert, key, insecure = false }: ZunAuthConfig): CloudCertificates {
  return {
    ...(caCert !== undefined && { ca: [...rootCertificates, readFileSync(caCert, "utf8")] }),
    ...(cert !== undefined && { cert: readFileSync(cert, "utf8") }),
    ...(key !== undefined && { key: readFileSync(key, "utf8") }),
    rejectUnauthorized: !insecure,
  };
}

/** Sends requests on kept connections. */
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

/** What stands before a service may answer in HTML. */
function parseBody(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
