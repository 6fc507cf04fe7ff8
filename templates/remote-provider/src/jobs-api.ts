import type { Clock } from "@virtual-kubelet/core";
import {
  ConflictError,
  DeadlineExceededError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  UnauthorizedError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { ThrottledError, type CallBudget } from "@virtual-kubelet/remote-pods";
import { readFile } from "node:fs/promises";
import { z } from "zod";

/** Request for a job. */
export interface JobSpec {
  /** Unique in the API: a second job of the same name is rejected with 409. */
  readonly name: string;
  readonly region: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Stored unchanged; lists can be filtered by them. */
  readonly tags: Readonly<Record<string, string>>;
}

/** A job as the API describes it. All times are RFC 3339. */
export interface Job {
  /** Chosen by the API. */
  readonly id: string;
  readonly image: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: string;
  /** `undefined` while the job is queued. */
  readonly startedAt?: string | undefined;
  readonly address?: string | undefined;
  /** `undefined` until the job has ended. */
  readonly ended?: { readonly exitCode: number; readonly finishedAt: string } | undefined;
}

/** Jobs that match a filter. */
export interface JobList {
  readonly jobs: readonly Job[];
  /** Why the list may be incomplete: a region that did not answer, or a malformed entry. Empty if it is complete. */
  readonly problems: readonly string[];
}

const time = z.iso.datetime({ offset: true });
const jobSchema: z.ZodType<Job> = z.object({
  id: z.string().min(1),
  image: z.string(),
  tags: z.record(z.string(), z.string()),
  createdAt: time,
  startedAt: time.optional(),
  address: z.union([z.ipv4(), z.ipv6()]).optional(),
  ended: z.object({ exitCode: z.int().min(0).max(255), finishedAt: time }).optional(),
});
const pageSchema = z.object({ jobs: z.array(z.unknown()), unreachable: z.array(z.string()), next: z.string().optional() });

/** Body of the API's own errors. */
const errorSchema = z.object({ error: z.string() });

export interface JobsApiOptions {
  /** Base address, such as `https://jobs.example.com`. */
  readonly address: string;
  /** File with the token. It is read for each request, because tokens are rotated. `undefined` sends no token. */
  readonly tokenFile: string | undefined;
  /** Timeout of a request, in milliseconds. */
  readonly timeoutMs: number;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  /** Sets the pace of all requests, and repeats those that may be repeated. */
  readonly budget: Pick<CallBudget, "run">;
}

/**
 * Client of the remote API, without any knowledge of Kubernetes. Every method throws `signal.reason` when aborted, and otherwise errdefs
 * errors. After DeadlineExceededError and UnavailableError it is unknown whether the request took effect.
 */
export class JobsApi {
  readonly #options: JobsApiOptions;

  constructor(options: JobsApiOptions) {
    this.#options = options;
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#send("GET", "/health", signal);
  }

  /** @throws ConflictError if a job of that name exists */
  async create(spec: JobSpec, signal: AbortSignal): Promise<Job> {
    const { data: job, error } = jobSchema.safeParse(parseJson(await this.#send("POST", "/jobs", signal, spec)));
    if (!job) throw new UnavailableError(`POST /jobs: the response is not a job: ${z.prettifyError(error)}`);
    return job;
  }

  /** @throws NotFoundError; UnavailableError if the API's answer is malformed */
  async get(id: string, signal: AbortSignal): Promise<Job> {
    const path = `/jobs/${encodeURIComponent(id)}`;
    const { data: job, error } = jobSchema.safeParse(parseJson(await this.#send("GET", path, signal)));
    if (!job) throw new UnavailableError(`GET ${path}: the response is not a job: ${z.prettifyError(error)}`);
    return job;
  }

  /** Stops a job within its grace period and then removes it. Returns when the API has accepted that. @throws NotFoundError */
  async stop(id: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
    await this.#send("DELETE", `/jobs/${encodeURIComponent(id)}?graceSeconds=${graceSeconds}`, signal);
  }

  /** Output of a job so far. @throws NotFoundError */
  async output(id: string, signal: AbortSignal): Promise<string> {
    return new TextDecoder().decode(await this.#send("GET", `/jobs/${encodeURIComponent(id)}/output?from=0`, signal));
  }

  /** All jobs that have these tags, from all pages. */
  async list(tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<JobList> {
    const filter = Object.entries(tags).map(([key, value]): [string, string] => ["tag", `${key}=${value}`]);
    const jobs: Job[] = [];
    const problems: string[] = [];
    const seen = new Set<string>();
    let next: string | undefined = "";
    do {
      seen.add(next);
      const query = new URLSearchParams([...filter, ["page", next]]).toString();
      const page = pageSchema.safeParse(parseJson(await this.#send("GET", `/jobs?${query}`, signal)));
      if (!page.success) throw new UnavailableError(`GET /jobs: the response is not a list of jobs: ${z.prettifyError(page.error)}`);
      for (const entry of page.data.jobs) {
        const { data: job, error } = jobSchema.safeParse(entry);
        if (job) jobs.push(job);
        else problems.push(`a job is malformed: ${z.prettifyError(error)}`);
      }
      problems.push(...page.data.unreachable.map((region) => `region ${region} does not answer`));
      next = page.data.next;
      if (next !== undefined && seen.has(next)) problems.push("the pages of the list repeat");
    } while (next !== undefined && !seen.has(next));
    return { jobs, problems };
  }

  #send(method: string, path: string, signal: AbortSignal, body?: object): Promise<Uint8Array> {
    const [operation = "", , part] = path.split(/[/?]/).slice(1);
    const call = {
      class: method === "GET" ? "read" : "write",
      operation: `${method} ${operation}${part === "output" ? "/output" : ""}`,
      // The name of a job makes a repeated create harmless, but its answer would be a conflict.
      isIdempotent: method !== "POST",
      // The node is not ready while this one waits.
      ...(operation === "health" && { priority: "urgent" as const, waitsForPause: false }),
    };
    return this.#options.budget.run(call, signal, (limited) => this.#request(method, path, limited, body));
  }

  async #request(method: string, path: string, signal: AbortSignal, body?: object): Promise<Uint8Array> {
    const { address, tokenFile, timeoutMs, fetch, clock } = this.#options;
    const what = `${method} ${path.replace(/\?.*/, "")} at ${address}`;
    const overdue = new AbortController();
    const timer = clock.setTimer(timeoutMs, () => overdue.abort());
    try {
      signal.throwIfAborted();
      const response = await fetch(`${address.replace(/\/$/, "")}${path}`, {
        method,
        headers: {
          ...(body && { "content-type": "application/json" }),
          ...(tokenFile !== undefined && { authorization: `Bearer ${(await readFile(tokenFile, "utf8")).trim()}` }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, overdue.signal]),
      });
      const answer = new Uint8Array(await response.arrayBuffer());
      if (response.ok) return answer;
      throw toError(what, response, answer);
    } catch (error) {
      signal.throwIfAborted();
      if (overdue.signal.aborted) throw new DeadlineExceededError(`${what}: no answer within ${timeoutMs} ms`, { cause: error });
      // fetch throws a TypeError if no complete response arrived.
      if (error instanceof TypeError) throw new UnavailableError(`${what}: cannot be reached; is the address right?`, { cause: error });
      throw error;
    } finally {
      timer[Symbol.dispose]();
    }
  }
}

/** Leaves out the body, because an API may repeat the request with its secrets in it. */
function toError(what: string, { status, headers }: Response, answer: Uint8Array): Error {
  const message = `${what}: answered with status ${status}`;
  if (status === 401) return new UnauthorizedError(`${message}; is the token right?`);
  if (status === 403) return new ForbiddenError(`${message}; does the token allow this?`);
  // The 404 of a proxy, or of a wrong address, says nothing about a job.
  if (status === 404 && !errorSchema.safeParse(parseJson(answer)).success)
    return new UnavailableError(`${message} by something else than the API; is the address right?`);
  if (status === 404) return new NotFoundError(message);
  if (status === 409) return new ConflictError(message);
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
  if (status === 429) return new ThrottledError(message, { retryAfterMs });
  if (status >= 500) return new UnavailableError(message, { retryAfterMs });
  return new InvalidInputError(message);
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
