import { jsonText, parseExactJson } from "../json/exact-json.ts";
import type { IncomingMessage } from "node:http";
import type { Clock } from "@virtual-kubelet/clock";
import { ApiStatusError, type ApiStatus } from "../errors/api-status-error.ts";
import { goJsonError } from "../json/go-json-error.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { GoError, goErrorText } from "./go-error.ts";
import { bodyText, HttpsClient, type HttpsRequest, type HttpsTarget } from "./https-client.ts";
import { unpackedBody, unpackProblem } from "./unpacked-body.ts";
import type { WebhookClientConfig } from "./webhook-client-config.ts";
import type { ServiceAddress, ServiceReference } from "./service-resolver.ts";

/** Options of {@link WebhookClient}. */
export interface WebhookClientOptions {
  /** Measures timeouts. */
  readonly clock: Pick<Clock, "setTimer">;
  readonly resolve: (service: ServiceReference) => ServiceAddress;
}

const redirections: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Source: net/http of Go, `defaultCheckRedirect`. */
const mostRequests = 10;
/** Repetitions of a call whose response has a `Retry-After`; source: k8s.io/client-go v0.36.3 rest/request.go. */
const mostRetries = 10;

/** The configuration of a webhook is not usable. The message is that of the real server. */
export class WebhookConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "WebhookConfigError";
  }
}

/** A call has failed after its first response. The message does not name the address. */
class LateError extends GoError {}

/** Calls webhooks over HTTPS. Source: k8s.io/apiserver v0.36.3 pkg/util/webhook/client.go and k8s.io/client-go v0.36.3 rest/request.go. */
export class WebhookClient implements Disposable {
  readonly #clock: WebhookClientOptions["clock"];
  readonly #resolve: WebhookClientOptions["resolve"];
  readonly #https = new HttpsClient();

  constructor({ clock, resolve }: WebhookClientOptions) {
    this.#clock = clock;
    this.#resolve = resolve;
  }

  /**
   * Posts a body as JSON.
   *
   * @param timeoutSeconds - also sent in the query
   * @returns the JSON of a successful response
   * @throws WebhookConfigError; ApiStatusError for another HTTP status than 2xx; Error with the real server's words if there is no response
   */
  async post(config: WebhookClientConfig, body: JsonObject, timeoutSeconds: number): Promise<JsonValue> {
    const address = `${addressOf(config)}?timeout=${goSeconds(timeoutSeconds)}`;
    const target = { url: new URL(address), caPem: caPemOf(config) };
    const text = await this.#exchange(config, target, { body: Buffer.from(jsonText(body)), timeoutSeconds }).catch((error: unknown) => {
      if (error instanceof ApiStatusError || error instanceof LateError) throw error;
      throw new GoError(`Post ${JSON.stringify(address)}: ${goErrorText(error)}`);
    });
    return parseAnswer(text);
  }

  /** Posts a body and follows redirections, as Go's client does. */
  async #follow(first: HttpsTarget, body: Uint8Array, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = { accept: "application/json, */*", "accept-encoding": "gzip", "user-agent": "kube-apiserver-admission" };
    const post = { method: "POST", body, headers: { ...headers, "content-type": "application/json" } };
    let target = first;
    let sent: HttpsRequest = post;
    for (let requests = 1; ; requests++) {
      const answer = await this.#https.send(target, { ...sent, signal });
      const { statusCode = 0, headers: answered } = answer;
      if (!redirections.has(statusCode) || !answered.location) return answer;
      if (requests === mostRequests)
        throw new LateError(`Post ${JSON.stringify(answered.location)}: stopped after ${mostRequests} redirects`);
      answer.resume();
      const url = new URL(answered.location, target.url);
      target = { ...target, url, address: url.host === target.url.host ? target.address : undefined };
      // Only these keep the method and the body.
      if (statusCode !== 307 && statusCode !== 308) sent = { method: "GET", headers };
    }
  }

  /** Posts a body again as long as the server asks for it. Source: k8s.io/client-go v0.36.3 rest/with_retry.go. */
  async #repeat(
    target: HttpsTarget,
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<{ readonly answer: IncomingMessage; readonly text: string }> {
    for (let retries = 0; ; retries++) {
      const answer = await this.#follow(target, body, signal);
      const text = await completeText(answer, signal);
      const seconds = retryAfterSeconds(answer);
      if (seconds === undefined || retries === mostRetries) return { answer, text };
      await this.#wait(seconds, signal);
    }
  }

  #wait(seconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        timer[Symbol.dispose]();
        reject(deadlineExceeded());
      };
      const timer = this.#clock.setTimer(seconds * 1000, () => {
        signal.removeEventListener("abort", expire);
        resolve();
      });
      if (signal.aborted) expire();
      else signal.addEventListener("abort", expire, { once: true });
    });
  }

  async #exchange(
    { service }: WebhookClientConfig,
    target: HttpsTarget,
    { body, timeoutSeconds }: { readonly body: Uint8Array; readonly timeoutSeconds: number },
  ): Promise<string> {
    const address = service === undefined ? undefined : this.#resolve({ ...service, port: service.port ?? 443 });
    const expired = new AbortController();
    using _timer = this.#clock.setTimer(timeoutSeconds * 1000, () => expired.abort());
    try {
      const { answer, text } = await this.#repeat({ ...target, address }, body, expired.signal);
      const status = answer.statusCode ?? 0;
      const type = answer.headers["content-type"] ?? "";
      if (status < 200 || status > 206) throw statusError(status, text, type === "" || type.startsWith("text/"));
      if (text === "")
        throw new LateError(`0-length response with status code: ${status} and content type: ${type === "" ? "application/json" : type}`);
      return text;
    } catch (error) {
      if (expired.signal.aborted && !(error instanceof ApiStatusError)) throw deadlineExceeded();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#https[Symbol.dispose]();
  }
}

/** Body of a response, unpacked. @throws LateError if it breaks off or cannot be unpacked */
async function completeText(answer: IncomingMessage, signal: AbortSignal): Promise<string> {
  try {
    return await bodyText(unpackedBody(answer));
  } catch (error) {
    if (signal.aborted) throw error;
    throw new LateError(`unexpected error when reading response body. Please retry. Original error: ${unpackProblem(error)}`);
  }
}

/** Seconds after which a call is to be repeated; `undefined` if it is not. */
function retryAfterSeconds({ statusCode = 0, headers }: IncomingMessage): number | undefined {
  if (statusCode !== 429 && statusCode < 500) return undefined;
  const given = headers["retry-after"] ?? "";
  return /^[+-]?\d+$/.test(given) ? Math.max(0, Number(given)) : undefined;
}

function deadlineExceeded(): GoError {
  return new GoError("context deadline exceeded");
}

function caPemOf({ caBundle }: WebhookClientConfig): string | undefined {
  const caPem = caBundle === undefined || caBundle === "" ? undefined : Buffer.from(caBundle, "base64").toString();
  if (caPem !== undefined && caPem.trim() !== "" && !caPem.includes("-----BEGIN CERTIFICATE-----"))
    throw new WebhookConfigError("unable to load root certificates: unable to parse bytes as PEM block");
  return caPem?.trim() === "" ? undefined : caPem;
}

/** Address without a query. */
function addressOf({ url, service }: WebhookClientConfig): string {
  if (service !== undefined) {
    const { namespace, name, path = "", port = 443 } = service;
    return `https://${name}.${namespace}.svc:${port}${path.startsWith("/") ? path : `/${path}`}`;
  }
  if (url === undefined || url === "") throw new WebhookConfigError("webhook configuration must have either service or URL");
  if (!URL.canParse(url)) throw new WebhookConfigError(`Unparsable URL: parse ${JSON.stringify(url)}: invalid URI for request`);
  return url.replace(/[?#].*$/, "");
}

/** Such as `10s`, as Go prints durations below a minute; `1m30s` above. */
function goSeconds(seconds: number): string {
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function parseAnswer(text: string): JsonValue {
  try {
    return parseExactJson(text);
  } catch {
    throw new GoError(`couldn't get version/kind; json parse error: ${goJsonError(text) ?? ""}`);
  }
}

/** Messages of responses without a Status; source: k8s.io/apimachinery v0.36.3 pkg/api/errors/errors.go, `NewGenericServerResponse`. */
const genericMessages: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ["BadRequest", "the server rejected our request for an unknown reason"],
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  409: ["AlreadyExists", "the server reported a conflict"],
  422: ["Invalid", "the server rejected our request due to an error in our request"],
  429: ["TooManyRequests", "the server has received too many requests and has asked us to try again later"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: ["Timeout", "the server was unable to return a response in the time allotted, but may still be processing the request"],
};

/** @param isText - whether the body is shown if it is no Status */
function statusError(code: number, text: string, isText: boolean): ApiStatusError {
  const sent = tryStatus(text);
  if (sent !== undefined) return new ApiStatusError({ message: sent.message ?? "", code: sent.code ?? code, ...optional(sent) });
  const server = isText ? text.trim() : "unknown";
  const [reason, message] = genericMessages[code] ?? [
    code >= 500 ? "InternalError" : code === 403 ? "Forbidden" : "",
    code >= 500
      ? `an error on the server (${JSON.stringify(server)}) has prevented the request from succeeding`
      : code === 403 || code === 406 || code === 415
        ? server
        : `the server responded with the status code ${code} but did not return more information`,
  ];
  return new ApiStatusError({ code, message, ...(reason === "" ? {} : { reason }) });
}

function optional({ reason, details }: Partial<ApiStatus>): Pick<ApiStatus, "reason" | "details"> {
  return { ...(reason === undefined ? {} : { reason }), ...(details === undefined ? {} : { details }) };
}

function tryStatus(text: string): Partial<ApiStatus> | undefined {
  try {
    const status = JSON.parse(text) as Partial<ApiStatus>;
    return status.kind === "Status" && status.status === "Failure" ? status : undefined;
  } catch {
    return undefined;
  }
}
