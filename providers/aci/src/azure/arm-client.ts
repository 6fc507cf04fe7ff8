import { getClient, type Client, type ClientOptions } from "@azure-rest/core-client";
import type { Clock } from "@virtual-kubelet/clock";
import { DeadlineExceededError, InvalidInputError, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { BudgetedCall } from "@virtual-kubelet/remote-pods";
import { z } from "zod";
import { armError } from "./arm-error.ts";
import { Connections } from "./connections.ts";
import type { TokenSource } from "./credential.ts";

/** Maximum time of one request, in milliseconds. */
const timeoutMs = 60_000;
/** Maximum number of pages of a list: each has some hundred groups. */
const maxPages = 1_000;

/** Sends requests as the budget of the subscription allows. */
interface Budget {
  run<T>(call: BudgetedCall, signal: AbortSignal, send: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** One request. */
export interface ArmRequest {
  readonly method: "get" | "put" | "post" | "delete";
  /** Path of the resource, from `/subscriptions` on. */
  readonly path: string;
  readonly apiVersion: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  /** Begins messages, such as `create container group vk-shop-web`. */
  readonly attempted: string;
  readonly call: BudgetedCall;
  /** Texts that no message may show. */
  readonly secrets?: readonly string[] | undefined;
}

export interface ArmClientOptions {
  /** Address of Azure Resource Manager. */
  readonly endpoint: string;
  readonly tokens: TokenSource;
  readonly budget: Budget;
  readonly clock: Clock;
  /** All certificate authorities, PEM; default: those that Node.js trusts. */
  readonly authorities?: readonly string[] | undefined;
  readonly userAgent?: string | undefined;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Client of Azure Resource Manager: paths, pages, and typed errors. It is Azure's core client under our own authentication, because a refused token
 * is then renewed once, and under our own retries, because the budget of the subscription decides about them.
 */
export class ArmClient implements Disposable {
  readonly #client: Client;
  readonly #connections: Connections;
  readonly #options: ArmClientOptions;
  #aheadMs = 0;

  constructor(options: ArmClientOptions) {
    const { endpoint, authorities, userAgent } = options;
    this.#connections = new Connections(authorities);
    const clientOptions: ClientOptions = {
      retryOptions: { maxRetries: 0 },
      redirectOptions: { maxRetries: 0 },
      userAgentOptions: { userAgentPrefix: ["virtual-kubelet-aci", userAgent].filter(Boolean).join(" ") },
      allowInsecureConnection: endpoint.startsWith("http://"),
      additionalPolicies: [this.#connections.policy],
    };
    this.#options = options;
    this.#client = getClient(endpoint, clientOptions);
  }

  /** Milliseconds by which Azure's clock was ahead of the node's at the last answer; negative if it was behind. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /**
   * Sends a request and returns the checked body of its answer.
   *
   * @throws the errors of {@link armError}; UnavailableError if Azure cannot be reached or answers in an unknown form; `signal.reason`
   */
  async send<Body>(request: ArmRequest, schema: z.ZodType<Body>, signal: AbortSignal): Promise<Body> {
    const { body } = await this.#send(request, this.#urlOf(request), signal);
    return check(body, schema, request.attempted);
  }

  /**
   * Yields the entries of all pages of a list, unchecked.
   *
   * @throws as {@link send}; UnavailableError if a page is on another host, so that no token leaves the endpoint, or was read before
   */
  async *pages(request: ArmRequest, signal: AbortSignal): AsyncGenerator<readonly unknown[], void, undefined> {
    let url: string | undefined = this.#urlOf(request);
    const read = new Set<string>();
    for (let page = 1; url !== undefined; page++) {
      if (read.has(url)) throw new UnavailableError(`${request.attempted}: the pages of the list go in a circle`);
      read.add(url);
      if (page > maxPages) throw new UnavailableError(`${request.attempted}: the list has more than ${maxPages} pages`);
      const { body } = await this.#send(request, url, signal);
      const { value, nextLink } = check(body, pageSchema, request.attempted);
      yield value;
      url = nextLink ? this.#sameHost(nextLink, request.attempted) : undefined;
    }
  }

  /** Accepts the answer without its body. @throws as {@link send} */
  async accept(request: ArmRequest, signal: AbortSignal): Promise<void> {
    await this.#send(request, this.#urlOf(request), signal);
  }

  /** Closes the connections. */
  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]();
  }

  #urlOf({ path, apiVersion, query = {} }: ArmRequest): string {
    const search = new URLSearchParams({ ...query, "api-version": apiVersion });
    return `${this.#options.endpoint}${path}?${search.toString()}`;
  }

  #sameHost(nextLink: string, attempted: string): string {
    if (URL.canParse(nextLink) && new URL(nextLink).origin === new URL(this.#options.endpoint).origin) return nextLink;
    throw new UnavailableError(`${attempted}: the next page is not at ${this.#options.endpoint}`);
  }

  async #send(request: ArmRequest, url: string, signal: AbortSignal): Promise<Answer> {
    const { attempted, secrets, call } = request;
    const { budget, tokens } = this.#options;
    return budget.run(call, signal, async (attemptSignal) => {
      const token = await tokens.token(attemptSignal);
      let answer = await this.#exchange(request, url, token, attemptSignal);
      if (answer.status === 401) {
        tokens.refused(token);
        answer = await this.#exchange(request, url, await tokens.token(attemptSignal), attemptSignal);
      }
      if (answer.status >= 200 && answer.status < 300) return answer;
      throw armError(answer, attempted, secrets);
    });
  }

  async #exchange(
    { method, body, headers, attempted }: ArmRequest,
    url: string,
    token: string,
    signal: AbortSignal,
  ): Promise<Answer & { readonly retryAfterMs: number | undefined }> {
    const late = new AbortController();
    using _timer = this.#options.clock.setTimer(timeoutMs, () => late.abort());
    try {
      const response = await this.#client.pathUnchecked(url)[method]({
        abortSignal: AbortSignal.any([signal, late.signal]),
        headers: { ...headers, authorization: `Bearer ${token}` },
        ...(body !== undefined && { body, contentType: "application/json" }),
      });
      const { date, "retry-after": retryAfter } = response.headers;
      const dateMs = Date.parse(date ?? "");
      if (!Number.isNaN(dateMs)) this.#aheadMs = dateMs - this.#options.clock.now();
      return {
        status: Number(response.status),
        body: response.body,
        retryAfterMs: retryAfterOf(retryAfter, date),
      };
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted) throw new DeadlineExceededError(`${attempted}: Azure did not answer within ${timeoutMs / 1000} s`);
      throw new UnavailableError(`${attempted}: cannot reach ${this.#options.endpoint}: ${messageOf(error)}`, { cause: causeOf(error) });
    }
  }
}

/** The library's errors hold the request, with its token and the pod's secrets, which no log may show. */
function causeOf(error: unknown): Error {
  const { code } = (typeof error === "object" && error !== null ? error : {}) as { readonly code?: unknown };
  return Object.assign(new Error(messageOf(error)), typeof code === "string" && { code });
}

const pageSchema = z.looseObject({ value: z.array(z.unknown()), nextLink: z.string().nullish() });

function check<Body>(body: unknown, schema: z.ZodType<Body>, attempted: string): Body {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UnavailableError(`${attempted}: Azure's answer is not as expected: ${issue?.path.join(".")}: ${issue?.message}`);
}

/** Reads Retry-After, in seconds or as a date, which is compared with the answer's own date. */
function retryAfterOf(value: string | undefined, date: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const delayMs = Date.parse(value) - Date.parse(date ?? "");
  return Number.isNaN(delayMs) ? undefined : Math.max(0, delayMs);
}

/** Returns a part of a path, encoded. @throws InvalidInputError for a part that would lead elsewhere */
export function segment(text: string): string {
  if (text === "" || text === "." || text === "..") throw new InvalidInputError(`"${text}" is no part of a resource's path`);
  return encodeURIComponent(text);
}
