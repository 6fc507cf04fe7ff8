import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import { apiError } from "../errors/api-error.ts";
import { checkDeleted, checkedEvent, checkedList, checkedObject } from "./checked-answer.ts";
import type { CallOptions, DeleteQuery, KubeClient, ListQuery, ObjectList, ObjectName, Patch, WatchEvent, WatchQuery } from "./client.ts";
import { DecodeError } from "../errors/decode-error.ts";
import { decodeLines } from "./line-decoder.ts";
import { withoutManagedFields } from "./managed-fields.ts";
import { noMetrics, type Metrics } from "../telemetry/metrics.ts";
import type { KubernetesObject } from "./objects.ts";
import type { Resource } from "./resources.ts";
import type { Transport, TransportRequest, TransportResponse } from "../transport/transport.ts";
import { listQueryString, resourcePath } from "./url.ts";
import { watchEvents } from "./watch-events.ts";

/** Options of {@link createKubeClient}. */
export interface KubeClientOptions {
  /** Default: `virtual-kubelet`. The part before the first `/` is also the field manager of writes. */
  readonly userAgent?: string | undefined;
  /** Counts `rest_client_requests_total` (by `code` and `method`), observes `rest_client_request_duration_seconds` (by `method`) until the answer's headers. */
  readonly metrics?: Metrics | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

/** Returns a {@link KubeClient} that uses JSON over a transport. The caller owns the transport and disposes of it. */
export function createKubeClient(transport: Transport, options: KubeClientOptions = {}): KubeClient {
  return new RestClient(transport, options);
}

/**
 * Maximum length of an answer in bytes: half of the longest string in Node.js. The API server's largest page, 500 objects,
 * can therefore have half a mebibyte for each; real objects have a tenth of that.
 */
const maxAnswerBytes = 256 * 1024 * 1024;

const patchTypes: Readonly<Record<Patch["type"], string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

interface Call {
  readonly method: TransportRequest["method"];
  readonly path: string;
  /** For error messages: `get pods default/web`. */
  readonly operation: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Whether the answer is a list. Default: `false`. */
  readonly isList?: boolean;
}

class RestClient implements KubeClient {
  readonly #transport: Transport;
  readonly #userAgent: string;
  readonly #metrics: Metrics;
  readonly #clock: Clock;

  constructor(transport: Transport, { userAgent = "virtual-kubelet", metrics = noMetrics, clock = systemClock }: KubeClientOptions) {
    this.#transport = transport;
    this.#userAgent = userAgent;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  async get<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, options: CallOptions): Promise<T> {
    return this.#object({ method: "GET", ...target("get", resource, name, options) }, resource, name, options);
  }

  async list<T extends KubernetesObject>(resource: Resource<T>, query: ListQuery, options: CallOptions): Promise<ObjectList<T>> {
    const { path, operation } = target("list", resource, { namespace: query.namespace }, options);
    const answer = await this.#json({ method: "GET", path: path + listQueryString(query), operation, isList: true }, options);
    const metadataOnly = options.answer === "metadata";
    return checkedList(answer, { resource, operation, namespace: query.namespace, metadataOnly }, query.continue);
  }

  async create<T extends KubernetesObject>(resource: Resource<T>, object: T, options: CallOptions): Promise<T> {
    const { namespace, name } = object.metadata ?? {};
    if (resource.namespaced && namespace === undefined)
      throw new InvalidInputError(`create ${resource.plural} "${name ?? ""}": metadata.namespace is missing`);
    // A subresource belongs to an existing object; a new object's name is only in its body.
    const parts = options.subresource === undefined ? { namespace } : { namespace, name: named(resource, object) };
    const call: Call = { method: "POST", ...target("create", resource, parts, options), body: object };
    return this.#object(call, resource, name === undefined ? undefined : { namespace, name }, options);
  }

  async replace<T extends KubernetesObject>(resource: Resource<T>, object: T, options: CallOptions): Promise<T> {
    const parts = { namespace: object.metadata?.namespace, name: named(resource, object) };
    return this.#object({ method: "PUT", ...target("replace", resource, parts, options), body: object }, resource, parts, options);
  }

  async patch<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options: CallOptions): Promise<T> {
    const call: Call = {
      method: "PATCH",
      ...target("patch", resource, name, options),
      body: patch.body,
      contentType: patchTypes[patch.type],
    };
    return this.#object(call, resource, name, options);
  }

  async delete<T extends KubernetesObject>(
    resource: Resource<T>,
    name: ObjectName,
    query: DeleteQuery,
    options: CallOptions,
  ): Promise<void> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...query };
    const call: Call = { method: "DELETE", ...target("delete", resource, name, options), body };
    // Only the name of a deleted object matters, and a pod is many times larger than its metadata.
    const answer = await this.#json(call, { ...options, answer: "metadata", managedFields: "drop" });
    checkDeleted(answer, { resource, operation: call.operation, name });
  }

  async watch<T extends KubernetesObject>(
    resource: Resource<T>,
    query: WatchQuery,
    options: CallOptions,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const { path, operation } = target("watch", resource, { namespace: query.namespace }, options);
    const call: Call = { method: "GET", path: path + listQueryString(query, { watch: "true" }), operation };
    const response = await this.#send(call, { pool: "long", ...options });
    const read = options.managedFields === "drop" ? readPruned : tryJson;
    const metadataOnly = options.answer === "metadata";
    const expectation = { resource, operation, namespace: query.namespace, metadataOnly };
    return watchEvents(decodeLines(response.body), (line) => checkedEvent(read(line), line.length, expectation));
  }

  async raw(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body: unknown, options: CallOptions): Promise<unknown> {
    const response = await this.#send({ method, path, operation: `${method} ${path}`, body }, options);
    const text = await readAll(`${method} ${path}`, response.body);
    return response.headers["content-type"]?.startsWith("text/plain") ? text : parseJson(`${method} ${path}`, text);
  }

  /** @param name - name of the object that the answer must hold; `undefined`: any object of the resource */
  async #object<T extends KubernetesObject>(
    call: Call,
    resource: Resource<T>,
    name: ObjectName | undefined,
    options: CallOptions,
  ): Promise<T> {
    const { operation } = call;
    const { answer, subresource } = options;
    return checkedObject(await this.#json(call, options), { resource, operation, name, subresource, metadataOnly: answer === "metadata" });
  }

  async #json(call: Call, options: CallOptions): Promise<unknown> {
    const response = await this.#send(call, options);
    const text = await readAll(call.operation, response.body);
    return parseJson(call.operation, options.managedFields === "drop" ? withoutManagedFields(text) : text);
  }

  /** Sends the request. @throws for a status of 300 and above */
  async #send(call: Call, options: CallOptions): Promise<TransportResponse> {
    options.signal.throwIfAborted();
    const startMs = this.#clock.monotonic();
    const accept = options.answer === "metadata" ? metadataOnly(call.isList ? "List" : "") : "application/json";
    const headers: Record<string, string> = { accept, "user-agent": this.#userAgent };
    if (call.body !== undefined) headers["content-type"] = call.contentType ?? "application/json";
    const response = await this.#transport
      .request({
        method: call.method,
        path: call.path,
        headers,
        ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
        pool: options.pool ?? "short",
        signal: options.signal,
      })
      .catch((error: unknown) => {
        if (!options.signal.aborted) this.#metrics.count("rest_client_requests_total", { code: "<error>", method: call.method });
        throw error;
      });
    this.#metrics.count("rest_client_requests_total", { code: String(response.status), method: call.method });
    this.#metrics.observe("rest_client_request_duration_seconds", (this.#clock.monotonic() - startMs) / 1000, { method: call.method });
    return requireSuccess(call.operation, response);
  }
}

/**
 * Returns an answer of a {@link Transport} if its status is below 300; for callers that read the body as a stream.
 *
 * @param operation - what was asked for, for the error: `get pods/log default/web`
 * @throws otherwise, as the methods of {@link KubeClient} do
 */
export async function requireSuccess(operation: string, response: TransportResponse): Promise<TransportResponse> {
  if (response.status < 300) return response;
  const text = await readAll(operation, response.body);
  throw apiError({ operation, code: response.status, body: tryJson(text), retryAfter: response.headers["retry-after"] });
}

/** Source: kubernetes.io "API concepts", PartialObjectMetadata. */
function metadataOnly(suffix: "List" | ""): string {
  return `application/json;as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1,application/json`;
}

function target(
  verb: string,
  resource: Resource<object>,
  parts: { readonly namespace?: string | undefined; readonly name?: string | undefined },
  { subresource }: CallOptions,
): { readonly path: string; readonly operation: string } {
  const what = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  const whose = [parts.namespace, parts.name].filter((part) => part !== undefined).join("/");
  return { path: resourcePath(resource, { ...parts, subresource }), operation: `${verb} ${what}${whose && ` ${whose}`}` };
}

function named(resource: Resource<object>, object: KubernetesObject): string {
  const name = object.metadata?.name;
  if (name === undefined) throw new InvalidInputError(`write ${resource.plural}: metadata.name is missing`);
  return name;
}

function readPruned(line: string): unknown {
  return tryJson(withoutManagedFields(line));
}

function parseJson(operation: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own error quotes the text, which may hold a secret.
    const cause = new DecodeError("not JSON");
    throw new UnavailableError(
      `${operation}: the answer, ${text.length} characters, is not JSON; is the server's address that of a Kubernetes API server?`,
      { cause },
    );
  }
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function readAll(operation: string, body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    // Leaving the loop frees the connection.
    if (bytes > maxAnswerBytes) throw tooLong(operation);
    chunks.push(chunk);
  }
  const [first] = chunks;
  const whole = chunks.length === 1 && first ? first : Buffer.concat(chunks, bytes);
  return Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString("utf8");
}

function tooLong(operation: string): UnavailableError {
  const problem = `the answer is longer than ${maxAnswerBytes / 1024 / 1024} MiB`;
  return new UnavailableError(
    `${operation}: ${problem}; ask for fewer objects with limit, if the server's address is really that of a Kubernetes API server`,
    { cause: new DecodeError(problem) },
  );
}
