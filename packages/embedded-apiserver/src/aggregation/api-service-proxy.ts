import type { Clock } from "@virtual-kubelet/clock";
import type { KeyPair } from "@virtual-kubelet/pki";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { UserInfo } from "../authentication/user-info.ts";
import { takenOver, type ApiRequest, type ApiResponse } from "../http/api-request.ts";
import { text } from "../http/respond.ts";
import type { ObjectReader } from "../kinds/kind.ts";
import { wholeBodyOf } from "../kubelet-proxy/kubelet-client.ts";
import { GoError, goErrorText } from "../outbound/go-error.ts";
import { endToEndNames, passedAnswer } from "../outbound/hop-headers.ts";
import { bodyText, HttpsClient, serverName, tlsOptions, type HttpsTarget } from "../outbound/https-client.ts";
import { resolveService } from "../outbound/service-resolver.ts";
import { shownHost, type RemoteApiService } from "./remote-api-service.ts";

/** A request to an aggregated API server. */
export interface ForwardedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  /** The user on whose behalf it is sent. */
  readonly user: UserInfo;
}

/** A response that was read. */
export interface ReadAnswer {
  /** HTTP status. */
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** Size of a document of discovery beyond which it is not read. */
const documentLimitBytes = 32 * 1024 * 1024;

/** Options of {@link ApiServiceProxy}. */
export interface ApiServiceProxyOptions {
  readonly cluster: ObjectReader;
  readonly clock: Clock;
  /** Issues the client certificate of the front proxy. Called once, with the first request. */
  readonly issueClient: () => KeyPair;
}

/** Source: k8s.io/apiserver v0.36.3 pkg/util/proxy/proxy.go, `aggregatedDiscoveryTimeout`. */
const discoveryTimeoutMs = 5000;

/**
 * Forwards requests to aggregated API servers, as the front proxy that they trust. The path stays the same.
 *
 * Source: k8s.io/kube-aggregator v0.36.3 pkg/apiserver/handler_proxy.go and k8s.io/apimachinery v0.36.3 pkg/util/proxy.
 */
export class ApiServiceProxy implements Disposable {
  readonly #options: ApiServiceProxyOptions;
  readonly #https = new HttpsClient();
  #client: KeyPair | undefined;

  constructor(options: ApiServiceProxyOptions) {
    this.#options = options;
  }

  /** Answers a client's request. Never rejects: errors become responses. */
  async answer(service: RemoteApiService, request: ApiRequest, user: UserInfo): Promise<ApiResponse> {
    if (!service.isAvailable) return serviceUnavailable();
    const url = withSortedQuery(request.url);
    let target;
    try {
      target = this.#target(service, url);
    } catch {
      return serviceUnavailable();
    }
    if (request.upgrade !== undefined) {
      const { socket } = request.upgrade;
      this.#forwardUpgrade(request.upgrade, target, user).catch(() => socket.destroy());
      return takenOver;
    }
    const isDiscovery = /^\/[^/]+\/[^/]+\/[^/]+\/?(\?|$)/.test(request.url);
    try {
      const expiry = isDiscovery ? discoveryTimeoutMs : undefined;
      const answer = await this.#exchange(target, { ...request, headers: forwardedHeaders(request.headers), url, user }, expiry);
      return toResponse(answer);
    } catch (error) {
      return text(503, `error trying to reach service: ${goErrorText(error)}\n`);
    }
  }

  /**
   * Sends a request of the server itself.
   *
   * @param timeoutMs - by the server's clock, until the head of the response is there
   * @throws Error with the real server's words
   */
  async send(service: RemoteApiService, request: ForwardedRequest, timeoutMs: number): Promise<IncomingMessage> {
    return this.#exchange(this.#target(service, request.url), request, timeoutMs);
  }

  /**
   * Sends a request of the server itself, and reads the whole response.
   *
   * @param timeoutMs - by the server's clock
   * @throws Error if the response does not end in time, or is very large
   */
  async read(service: RemoteApiService, request: ForwardedRequest, timeoutMs: number): Promise<ReadAnswer> {
    const expired = new AbortController();
    using _timer = this.#options.clock.setTimer(timeoutMs, () => expired.abort());
    const answer = await this.send(service, { ...request, signal: expired.signal }, timeoutMs);
    return {
      status: answer.statusCode ?? 0,
      contentType: answer.headers["content-type"],
      body: await bodyText(answer, documentLimitBytes),
    };
  }

  /** Why the real server would not even connect to the service. Without endpoints the cluster IP refuses connections. */
  routeProblem({ service }: RemoteApiService): string | undefined {
    try {
      resolveService(this.#options.cluster, service);
      return undefined;
    } catch (error) {
      const problem = goErrorText(error);
      return problem.startsWith("dial tcp") ? undefined : problem;
    }
  }

  /** URL that the real server's messages show. */
  shownUrl(service: RemoteApiService, path: string): string {
    return `https://${shownHost(this.#options.cluster, service)}${path}`;
  }

  [Symbol.dispose](): void {
    this.#https[Symbol.dispose]();
  }

  async #exchange(target: HttpsTarget, request: ForwardedRequest, timeoutMs: number | undefined): Promise<IncomingMessage> {
    const { method, headers, body, signal, user } = request;
    const expired = new AbortController();
    using _timer = timeoutMs === undefined ? undefined : this.#options.clock.setTimer(timeoutMs, () => expired.abort());
    const signals = [expired.signal, ...(signal === undefined ? [] : [signal])];
    try {
      return await this.#https.send(target, {
        method,
        headers: { ...headers, ...userHeaders(user), ...forwardingHeaders(target), host: hostOfTarget(target) },
        body,
        signal: AbortSignal.any(signals),
      });
    } catch (error) {
      throw expired.signal.aborted ? new GoError("context deadline exceeded") : error;
    }
  }

  /** @throws GoError if the service has no address */
  #target({ service, caPem, insecure }: RemoteApiService, path: string): HttpsTarget {
    const { certificate, key } = (this.#client ??= this.#options.issueClient());
    return {
      url: new URL(path, `https://${service.name}.${service.namespace}.svc`),
      caPem,
      insecure,
      address: resolveService(this.#options.cluster, service),
      client: { certificate, key },
    };
  }

  /** Loads streaming on first use. */
  async #forwardUpgrade(upgrade: NonNullable<ApiRequest["upgrade"]>, target: HttpsTarget, user: UserInfo): Promise<void> {
    const { proxyUpgrade } = await import("@virtual-kubelet/streaming");
    const url = new URL(target.url.pathname + target.url.search, `https://${hostOfTarget(target)}`);
    const { request } = upgrade;
    const raw = (request.rawHeaders ?? []).flatMap((name, index, all) =>
      index % 2 === 0 && !isIdentity(name.toLowerCase()) ? [name, all[index + 1] ?? ""] : [],
    );
    const tls = { ...tlsOptions(target), ...serverName(target.url) };
    await proxyUpgrade(
      { ...upgrade, request: { method: request.method, url: request.url, headers: request.headers, rawHeaders: raw } },
      { url, tls, headers: { ...userHeaders(user), host: url.host } },
      { clock: this.#options.clock, refusal: (error) => ({ statusCode: 503, text: `${goErrorText(error)}\n` }) },
    );
  }
}

function serviceUnavailable(): ApiResponse {
  return text(503, "service unavailable\n");
}

function hostOfTarget({ address, url }: HttpsTarget): string {
  return address === undefined ? url.host : `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
}

/** The query sorted by name, as Go's `url.Values.Encode` writes it. */
function withSortedQuery(url: string): string {
  const mark = url.indexOf("?");
  if (mark < 0) return url;
  const query = new URLSearchParams(url.slice(mark + 1));
  query.sort();
  return query.size === 0 ? url.slice(0, mark) : `${url.slice(0, mark)}?${query.toString()}`;
}

/** Whether a header says who the client is, which only the server itself may tell. */
function isIdentity(name: string): boolean {
  return (
    name === "authorization" ||
    name === "x-remote-user" ||
    name === "x-remote-uid" ||
    name === "x-remote-group" ||
    name.startsWith("x-remote-extra-") ||
    name.startsWith("impersonate-")
  );
}

function forwardedHeaders(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const names = endToEndNames(headers).filter((name) => name !== "host" && name !== "content-length" && !isIdentity(name));
  return Object.fromEntries(names.map((name) => [name, headers[name] ?? ""]));
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/util/proxy/transport.go, `RoundTrip`. */
function forwardingHeaders(target: HttpsTarget): Record<string, string> {
  return { "X-Forwarded-Uri": target.url.pathname, "X-Forwarded-Host": hostOfTarget(target), "X-Forwarded-Proto": "https" };
}

/** Source: k8s.io/client-go v0.36.3 transport/round_trippers.go, `SetAuthProxyHeaders`. */
function userHeaders({ username, uid = "", groups, extra = {} }: UserInfo): OutgoingHttpHeaders {
  return {
    "X-Remote-User": username,
    ...(uid === "" ? {} : { "X-Remote-Uid": uid }),
    ...(groups.length === 0 ? {} : { "X-Remote-Group": [...groups] }),
    ...Object.fromEntries(Object.entries(extra).map(([key, values]) => [`X-Remote-Extra-${escapedKey(key)}`, [...values]])),
  };
}

/** Percent-encodes what a header name cannot contain, and `%`. */
function escapedKey(key: string): string {
  const legal = /[!#$&'*+\-.0-9A-Za-z^_`|~]/;
  return Array.from(Buffer.from(key), (byte) => {
    const character = String.fromCharCode(byte);
    return legal.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

/** Redirects are refused, because they would lead the client past the server. */
function toResponse(answer: IncomingMessage): ApiResponse {
  const status = answer.statusCode ?? 502;
  if (status >= 300 && status <= 399 && answer.headers.location !== undefined) {
    answer.destroy();
    const body = Buffer.from("the backend attempted to redirect this request, which is not permitted");
    return { status: 502, headers: { "cache-control": "no-cache, private", "content-type": "text/plain; charset=utf-8" }, body };
  }
  const { headers, cookies } = passedAnswer(answer.headers);
  return {
    status,
    headers: { "cache-control": "no-cache, private", ...headers },
    ...(cookies === undefined ? {} : { cookies }),
    body: wholeBodyOf(answer),
  };
}
