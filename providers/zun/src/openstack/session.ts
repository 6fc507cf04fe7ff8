import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/core";
import { UnauthorizedError } from "@virtual-kubelet/errdefs";
import type { Credentials } from "../config/credentials.ts";
import { toApiError } from "./api-error.ts";
import { endpointOf, type EndpointChoice, type Service } from "./catalogue.ts";
import type { HttpAnswer, HttpClient, HttpRequest } from "./http-client.ts";
import { requestToken, type Token } from "./keystone.ts";

/** Remaining lifetime at which a token is renewed. */
const renewBeforeMs = 120_000;

/** Request to a service of the cloud. */
export interface ServiceRequest {
  readonly service: Service;
  readonly method: HttpRequest["method"];
  /** Path and query below the service's version, starting with `/`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  /** Operation, for the start of error messages, such as `create a container`. */
  readonly what: string;
  readonly signal: AbortSignal;
}

export interface SessionOptions {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly credentials: Credentials;
  readonly choice: EndpointChoice;
  /** URLs that replace the catalog's. */
  readonly endpoints: Readonly<Partial<Record<Service, string>>>;
}

interface HeldToken {
  readonly token: Token;
  readonly renewAtMs: number;
}

/** Suffixes of the services' URLs. */
const versions: Readonly<Record<Service, string>> = { container: "/v1", network: "/v2.0" };

/**
 * Sends authenticated requests to a cloud's services. Only one token request runs at a time. The token is renewed before it expires, and when a
 * service refuses it; the refused request is then repeated once.
 */
export class Session implements AsyncDisposable {
  readonly #options: SessionOptions;
  readonly #disposal = new AbortController();
  #held: HeldToken | undefined;
  #hasSignedIn = false;
  #asking: Promise<HeldToken> | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Sends a request. @throws the error for an answer with status 400 or more; UnavailableError; `signal.reason` */
  async send(request: ServiceRequest): Promise<HttpAnswer> {
    const first = await this.#token(request.signal);
    const answer = await this.#sendWith(first, request);
    if (answer.status !== 401) return ok(request, answer);
    if (this.#held === first) this.#held = undefined;
    const second = await this.#token(request.signal);
    return ok(request, await this.#sendWith(second, request));
  }

  /** URL of the service, including the version. @throws UnavailableError if the catalog has none */
  async endpoint(service: Service, signal: AbortSignal): Promise<string> {
    return this.#urlOf(service, await this.#token(signal));
  }

  /** Id of the token's project. */
  async projectId(signal: AbortSignal): Promise<string> {
    return (await this.#token(signal)).token.projectId;
  }

  /** Sends a request without a token to an absolute URL. @throws as {@link Session.send} */
  async sendPublic({
    url,
    what,
    signal,
  }: {
    readonly url: string;
    readonly what: string;
    readonly signal: AbortSignal;
  }): Promise<HttpAnswer> {
    const answer = await this.#options.http.send({ method: "GET", url, signal });
    // Some releases of Zun answer the list of versions with status 300.
    if (answer.status >= 400) throw toApiError(what, answer);
    return answer;
  }

  /** Aborts requests in progress, and closes the connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await this.#asking?.catch(() => {});
    await this.#options.http[Symbol.asyncDispose]();
  }

  async #sendWith(held: HeldToken, { service, method, path, headers = {}, body, signal }: ServiceRequest): Promise<HttpAnswer> {
    const { token } = held;
    const url = `${this.#urlOf(service, held)}${path}`;
    return this.#options.http.send({ method, url, headers: { ...headers, "x-auth-token": token.value }, body, signal });
  }

  /** Discards a token whose catalog lacks the service, because the next token's catalog may have it. @throws UnavailableError */
  #urlOf(service: Service, held: HeldToken): string {
    try {
      return this.#url(service, held.token);
    } catch (error) {
      if (this.#held === held) this.#held = undefined;
      throw error;
    }
  }

  #url(service: Service, token: Token): string {
    const url = (this.#options.endpoints[service] ?? endpointOf(token.catalogue, service, this.#options.choice)).replace(/\/+$/, "");
    const version = versions[service];
    return url.endsWith(version) ? url : `${url}${version}`;
  }

  async #token(signal: AbortSignal): Promise<HeldToken> {
    signal.throwIfAborted();
    if (this.#held && this.#options.clock.monotonic() < this.#held.renewAtMs) return this.#held;
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return untilAborted(this.#asking, signal);
  }

  async #ask(): Promise<HeldToken> {
    const { http, clock, credentials, logger } = this.#options;
    const token = await requestToken(http, credentials, this.#disposal.signal);
    const { lifetimeMs = Number.POSITIVE_INFINITY } = token;
    if (credentials.method === "token" && lifetimeMs <= 0)
      throw new UnauthorizedError(
        `sign in at ${credentials.authUrl}: the token has expired, and a token cannot be renewed; set a new one, or a password`,
      );
    // A short-lived token is used for at least half of its lifetime.
    this.#held = { token, renewAtMs: clock.monotonic() + Math.max(lifetimeMs / 2, lifetimeMs - renewBeforeMs) };
    const { authUrl, method } = credentials;
    // Logged once, so that people know which of their credentials are used.
    if (this.#hasSignedIn) logger.debug({ authUrl, method, lifetimeMs }, "signed in to OpenStack again");
    else logger.info({ authUrl, method, lifetimeMs }, "signed in to OpenStack");
    this.#hasSignedIn = true;
    return this.#held;
  }
}

function ok({ what }: ServiceRequest, answer: HttpAnswer): HttpAnswer {
  if (answer.status >= 400) throw toApiError(what, answer);
  return answer;
}
