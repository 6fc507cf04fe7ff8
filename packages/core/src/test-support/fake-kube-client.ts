import { untilAborted } from "@virtual-kubelet/async";
import { SeededRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import { applyPatch } from "@virtual-kubelet/embedded-apiserver/patch";
import { ConflictError, InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";
import {
  ApiError,
  type CallOptions,
  type DeleteQuery,
  type KubeClient,
  type KubernetesObject,
  type ListQuery,
  type ObjectList,
  type ObjectMeta,
  type ObjectName,
  type Patch,
  type Pod,
  type Resource,
  type WatchEvent,
  type WatchQuery,
} from "@virtual-kubelet/kube-client";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { isDeepStrictEqual } from "node:util";
import { isTerminalPhase } from "../pod/status/pod-phase.ts";

/** A request that was sent to the fake. */
export interface FakeCall {
  readonly verb: "get" | "list" | "create" | "replace" | "patch" | "delete" | "watch" | "raw";
  /** Plural name of the resource; for a raw request, its method and path. */
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Object, patch or query that was sent. */
  readonly body: unknown;
  readonly options: CallOptions;
}

interface Change {
  readonly plural: string;
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubernetesObject;
}

/** Kinds whose status can be written only through the sub-resource `status`. */
const withStatus = new Set(["pods", "nodes"]);

/**
 * Client of a Kubernetes API in memory that records every request and fails on demand.
 *
 * It has what the controllers of this package use: UIDs, resource versions, preconditions, sub-resources, graceful deletion and finalizers
 * of pods, selectors on names and nodes, watches. The embedded API server's code applies patches. Objects are neither validated nor
 * defaulted: a test of what the API server accepts belongs in `e2e`, on the embedded API server.
 */
export class FakeKubeClient implements KubeClient {
  /** Every request, in order. */
  readonly calls: FakeCall[] = [];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #changes: Change[] = [];
  readonly #interceptors = new Set<(call: FakeCall) => void | Promise<void>>();
  readonly #rawHandlers = new Set<(call: FakeCall) => unknown>();
  readonly #withheld = new Set<string>();
  readonly #alterations = new Set<(answer: KubernetesObject, call: FakeCall) => void>();
  #wakers: (() => void)[] = [];
  #version = 100;

  constructor(clock: Clock, random: Random = new SeededRandom(1)) {
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Calls a function before each request is carried out. The request fails if the function throws, and hangs until its promise settles or
   * the request's signal aborts.
   *
   * @returns a handle that removes the interceptor
   */
  intercept(interceptor: (call: FakeCall) => void | Promise<void>): Disposable {
    this.#interceptors.add(interceptor);
    return { [Symbol.dispose]: () => void this.#interceptors.delete(interceptor) };
  }

  /**
   * Changes the responses to creations and replacements, but not the stored objects.
   *
   * @returns a handle that removes the change
   */
  alterAnswers(alter: (answer: KubernetesObject, call: FakeCall) => void): Disposable {
    this.#alterations.add(alter);
    return { [Symbol.dispose]: () => void this.#alterations.delete(alter) };
  }

  /**
   * Answers raw requests. Of several handlers, the first that does not return `undefined` determines the response.
   *
   * @returns a handle that removes the handler
   */
  onRaw(handler: (call: FakeCall) => unknown): Disposable {
    this.#rawHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#rawHandlers.delete(handler) };
  }

  /**
   * Loses all changes of a kind on the way to those who watch it. Lists and new watches begin with the objects as they are.
   *
   * @returns a handle that ends this
   */
  withholdEvents({ plural }: Pick<Resource<KubernetesObject>, "plural">): Disposable {
    this.#withheld.add(plural);
    return { [Symbol.dispose]: () => void this.#withheld.delete(plural) };
  }

  /** Requests with this verb to this resource, in order. */
  callsOf(verb: FakeCall["verb"], resource: string, subresource?: string): FakeCall[] {
    return this.calls.filter((call) => call.verb === verb && call.resource === resource && call.subresource === subresource);
  }

  /** Reads a stored object without recording a request. */
  peek<T extends KubernetesObject>(resource: Resource<T>, name: string, namespace?: string): T | undefined {
    const found = this.#objects.get(keyOf(resource, namespace, name));
    return found && (structuredClone(found) as T);
  }

  /** Reads all objects of a kind without recording a request. */
  all<T extends KubernetesObject>(resource: Resource<T>): readonly T[] {
    return this.#select(resource, {});
  }

  /** Stores an object with its status, like a write of another client. A missing UID and a missing creation time are added. */
  put<T extends KubernetesObject>(resource: Resource<T>, object: T): T {
    const key = keyOf(resource, object.metadata?.namespace, nameOf(object));
    const previous = this.#objects.get(key);
    const metadata: ObjectMeta = {
      ...object.metadata,
      uid: object.metadata?.uid ?? previous?.metadata?.uid ?? this.#random.uuid(),
      creationTimestamp: object.metadata?.creationTimestamp ?? previous?.metadata?.creationTimestamp ?? rfc3339(this.#clock.now()),
    };
    return this.#store(resource, key, { ...object, metadata }, previous ? "MODIFIED" : "ADDED");
  }

  /** Changes a stored object, like a write of another client. */
  edit<T extends KubernetesObject>(resource: Resource<T>, name: string, change: (object: T) => void, namespace?: string): T {
    const object = this.#find(resource, namespace, name);
    change(object);
    return this.#store(resource, keyOf(resource, namespace, name), object, "MODIFIED");
  }

  /** Removes an object at once, like another client's deletion without grace. */
  remove<T extends KubernetesObject>(resource: Resource<T>, name: string, namespace?: string): void {
    const object = this.#find(resource, namespace, name);
    this.#objects.delete(keyOf(resource, namespace, name));
    this.#note(resource, "DELETED", { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } });
  }

  /**
   * Copies all objects.
   *
   * @returns restores them, with their versions. As at a real server, watches go on without an error, and show nothing until the versions have
   * caught up
   */
  backUp(): () => void {
    const [objects, version, changes] = [new Map(this.#objects), this.#version, this.#changes.length];
    return () => {
      this.#objects.clear();
      for (const [key, object] of objects) this.#objects.set(key, object);
      this.#version = version;
      this.#changes.length = changes;
    };
  }

  async get<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, options: CallOptions): Promise<T> {
    await this.#begin("get", resource, name, undefined, options);
    return this.#find(resource, name.namespace, name.name);
  }

  async list<T extends KubernetesObject>(resource: Resource<T>, query: ListQuery, options: CallOptions): Promise<ObjectList<T>> {
    await this.#begin("list", resource, { namespace: query.namespace, name: undefined }, query, options);
    return { items: this.#select(resource, query), resourceVersion: String(this.#version) };
  }

  async create<T extends KubernetesObject>(resource: Resource<T>, object: T, options: CallOptions): Promise<T> {
    const { namespace } = object.metadata ?? {};
    const name = object.metadata?.name ?? `${object.metadata?.generateName ?? ""}${this.#random.uuid().slice(0, 5)}`;
    const call = await this.#begin("create", resource, { namespace, name }, object, options);
    if (options.subresource === "token") return this.#issueToken(object);
    if (this.#objects.has(keyOf(resource, namespace, name))) throw new ConflictError(`${resource.plural} "${name}" already exists`);
    const { uid: _uid, creationTimestamp: _created, resourceVersion: _version, ...metadata } = object.metadata ?? {};
    return this.#altered(this.put(resource, { ...object, metadata: { ...metadata, name } }), call);
  }

  async replace<T extends KubernetesObject>(resource: Resource<T>, object: T, options: CallOptions): Promise<T> {
    const { namespace } = object.metadata ?? {};
    const name = nameOf(object);
    const call = await this.#begin("replace", resource, { namespace, name }, object, options);
    return this.#altered(
      this.#update(resource, { namespace, name }, () => object, options.subresource),
      call,
    );
  }

  async patch<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options: CallOptions): Promise<T> {
    await this.#begin("patch", resource, name, patch, options);
    const changed = (current: T): T => {
      const patched = applyPatch(current, patch, resource);
      if (patched.metadata?.uid !== current.metadata?.uid) throw immutableUid(resource, name);
      if (patched.metadata?.resourceVersion !== current.metadata?.resourceVersion) throw modified(resource, name);
      return patched;
    };
    return this.#update(resource, name, changed, options.subresource);
  }

  async delete<T extends KubernetesObject>(
    resource: Resource<T>,
    name: ObjectName,
    query: DeleteQuery,
    options: CallOptions,
  ): Promise<void> {
    await this.#begin("delete", resource, name, query, options);
    const object = this.#find(resource, name.namespace, name.name);
    this.#checkPreconditions(object, query.preconditions ?? {});
    const { metadata = {} } = object;
    const { deletionTimestamp: marked, deletionGracePeriodSeconds: current } = metadata;
    const graceSeconds = graceOf(object, query);
    // The real server marks a pod before it removes it, so that watchers see two events. The fake sends only the second one.
    if (graceSeconds === 0 && !metadata.finalizers?.length) return this.remove(resource, name.name, name.namespace);
    if (current !== undefined && graceSeconds >= current) return;
    const startMs = marked === undefined || current === undefined ? this.#clock.now() : Date.parse(String(marked)) - current * 1000;
    const deletion = { deletionTimestamp: rfc3339(startMs + graceSeconds * 1000), deletionGracePeriodSeconds: graceSeconds };
    const key = keyOf(resource, name.namespace, name.name);
    this.#store(resource, key, { ...object, metadata: { ...metadata, ...deletion } }, "MODIFIED");
  }

  async watch<T extends KubernetesObject>(
    resource: Resource<T>,
    query: WatchQuery,
    options: CallOptions,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    await this.#begin("watch", resource, { namespace: query.namespace, name: undefined }, query, options);
    return this.#watch(resource, query, options.signal);
  }

  async raw(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body: unknown, options: CallOptions): Promise<unknown> {
    const call = await this.#begin("raw", { plural: `${method} ${path}` }, { namespace: undefined, name: undefined }, body, options);
    for (const handler of this.#rawHandlers) {
      const answer: unknown = await handler(call);
      if (answer !== undefined) return answer;
    }
    throw new NotFoundError(`the server could not find the requested resource: ${method} ${path}`);
  }

  async *#watch<T extends KubernetesObject>(resource: Resource<T>, query: WatchQuery, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    let position = this.#changes.length;
    let sent = Number(query.resourceVersion ?? 0);
    if (query.resourceVersion && !query.sendInitialEvents) {
      position = this.#changes.findIndex((change) => change.version > Number(query.resourceVersion));
      if (position < 0) position = this.#changes.length;
    } else {
      const resourceVersion = String(this.#version);
      sent = this.#version;
      for (const object of this.#select(resource, query)) yield { type: "ADDED", object };
      if (query.sendInitialEvents && query.allowWatchBookmarks) {
        const bookmark: KubernetesObject = {
          kind: resource.kind,
          metadata: { resourceVersion, annotations: { "k8s.io/initial-events-end": "true" } },
        };
        yield { type: "BOOKMARK", object: bookmark as T };
      }
    }
    for (;;) {
      position = Math.min(position, this.#changes.length);
      const change = this.#changes[position];
      if (!change) {
        await this.#nextChange(signal);
        continue;
      }
      position++;
      if (change.version <= sent) continue;
      sent = change.version;
      if (change.plural !== resource.plural || !matches(change.object, query) || this.#withheld.has(change.plural)) continue;
      yield { type: change.type, object: structuredClone(change.object) as T };
    }
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#wakers.push(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
    });
  }

  async #begin(
    verb: FakeCall["verb"],
    resource: { readonly plural: string },
    name: { readonly namespace?: string | undefined; readonly name: string | undefined },
    body: unknown,
    options: CallOptions,
  ): Promise<FakeCall> {
    options.signal.throwIfAborted();
    const call: FakeCall = {
      verb,
      resource: resource.plural,
      subresource: options.subresource,
      namespace: name.namespace,
      name: name.name,
      body: body === undefined ? undefined : JSON.parse(JSON.stringify(body)),
      options,
    };
    this.calls.push(call);
    // As over a network, the response never arrives synchronously, so callers cannot come to rely on that.
    await Promise.resolve();
    for (const interceptor of this.#interceptors) await untilAborted(Promise.resolve(interceptor(call)), options.signal);
    options.signal.throwIfAborted();
    return call;
  }

  #altered<T extends KubernetesObject>(answer: T, call: FakeCall): T {
    for (const alter of this.#alterations) alter(answer, call);
    return answer;
  }

  #update<T extends KubernetesObject>(
    resource: Resource<T>,
    name: ObjectName,
    change: (current: T) => T,
    subresource: string | undefined,
  ): T {
    const key = keyOf(resource, name.namespace, name.name);
    const current = this.#find(resource, name.namespace, name.name);
    const changed = change(structuredClone(current));
    this.#checkPreconditions(current, changed.metadata ?? {});
    const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = current.metadata ?? {};
    const metadata: ObjectMeta = { ...changed.metadata, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds };
    const kept = !withStatus.has(resource.plural) ? {} : subresource === "status" ? pick(current, "spec") : pick(current, "status");
    const next = normalized({ ...changed, ...kept, metadata });
    if (isDeepStrictEqual(next, current)) return current;
    const stored = this.#store(resource, key, next, "MODIFIED");
    if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && !metadata.finalizers?.length)
      this.remove(resource, name.name, name.namespace);
    return stored;
  }

  #store<T extends KubernetesObject>(resource: Resource<T>, key: string, object: T, type: Change["type"]): T {
    const apiVersion = resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
    const stored = normalized({
      ...object,
      apiVersion,
      kind: resource.kind,
      metadata: { ...object.metadata, resourceVersion: String(++this.#version) },
    });
    this.#objects.set(key, stored);
    this.#note(resource, type, stored);
    return structuredClone(stored);
  }

  #note(resource: { readonly plural: string }, type: Change["type"], object: KubernetesObject): void {
    this.#changes.push({ plural: resource.plural, version: this.#version, type, object: structuredClone(object) });
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }

  #find<T extends KubernetesObject>(resource: Resource<T>, namespace: string | undefined, name: string): T {
    const found = this.peek(resource, name, namespace);
    if (!found) throw notFound(resource, name);
    return found;
  }

  #select<T extends KubernetesObject>(resource: Resource<T>, query: ListQuery): T[] {
    return [...this.#objects]
      .filter(([key, object]) => key.startsWith(`${resource.plural}/`) && matches(object, query))
      .map(([, object]) => structuredClone(object) as T);
  }

  #checkPreconditions(
    object: KubernetesObject,
    preconditions: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined },
  ): void {
    for (const field of ["uid", "resourceVersion"] as const) {
      const [expected, actual] = [preconditions[field], object.metadata?.[field]];
      if (expected !== undefined && expected !== "" && expected !== actual) {
        throw new ConflictError(`Precondition failed: ${field} in precondition: ${expected}, ${field} in object meta: ${String(actual)}`);
      }
    }
  }

  /** Answers a TokenRequest with a token that was never issued before. */
  #issueToken<T extends KubernetesObject>(object: T): T {
    const { spec } = object as T & { spec: { expirationSeconds?: number } };
    const { expirationSeconds = 3600 } = spec;
    const expirationTimestamp = rfc3339(this.#clock.now() + expirationSeconds * 1000);
    const status = { token: `token-${this.#random.uuid()}`, expirationTimestamp };
    return { ...object, spec: { ...spec, expirationSeconds }, status };
  }
}

/** Grace period of a deletion, in seconds: 0 unless the object is a pod that may have running containers. */
function graceOf(object: KubernetesObject, { gracePeriodSeconds }: DeleteQuery): number {
  const { kind, spec, status } = object as Pod;
  if (kind !== "Pod" || !spec?.nodeName || isTerminalPhase(status?.phase)) return 0;
  return gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
}

/** Response of a real API server to a patch that changes the UID. It responds to such a PUT with a conflict. */
function immutableUid(resource: { readonly kind: string }, { name }: ObjectName): InvalidInputError {
  const message = `${resource.kind} "${name}" is invalid: metadata.uid: Invalid value: field is immutable`;
  const cause = new ApiError({ code: 422, reason: "Invalid", message, details: { causes: [{ field: "metadata.uid" }] } });
  return new InvalidInputError(message, { cause });
}

/** Response of a real API server to a patch for another resource version. */
function modified(resource: { readonly plural: string }, { name }: ObjectName): ConflictError {
  const message = `Operation cannot be fulfilled on ${resource.plural} "${name}": the object has been modified; please apply your changes to the latest version and try again`;
  return new ConflictError(message, { cause: new ApiError({ code: 409, reason: "Conflict", message }) });
}

/** Response of a real API server if the object does not exist. */
export function notFound(resource: { readonly plural: string }, name: string): NotFoundError {
  const message = `${resource.plural} "${name}" not found`;
  const cause = new ApiError({ kind: "Status", code: 404, reason: "NotFound", message, details: { kind: resource.plural, name } });
  return new NotFoundError(message, { cause });
}

function keyOf(resource: { readonly plural: string; readonly namespaced: boolean }, namespace: string | undefined, name: string): string {
  if (resource.namespaced && !namespace)
    throw new TypeError(`FakeKubeClient: ${resource.plural} "${name}" has no namespace, expected one because the kind is namespaced`);
  return `${resource.plural}/${resource.namespaced ? namespace : ""}/${name}`;
}

function nameOf(object: KubernetesObject): string {
  if (!object.metadata?.name) throw new TypeError("FakeKubeClient: object without metadata.name, expected a name");
  return object.metadata.name;
}

/**
 * Whether a query selects an object. Field selectors can name `metadata.name`, `metadata.namespace` and `spec.nodeName`; label selectors can
 * test for equality.
 *
 * @throws TypeError for any other operator
 */
function matches(object: KubernetesObject, query: ListQuery): boolean {
  const { metadata, spec } = object as KubernetesObject & { spec?: { nodeName?: string } };
  const fields: Record<string, string | undefined> = {
    "metadata.name": metadata?.name,
    "metadata.namespace": metadata?.namespace,
    "spec.nodeName": spec?.nodeName,
  };
  if (query.namespace !== undefined && query.namespace !== "" && metadata?.namespace !== query.namespace) return false;
  return selects(query.fieldSelector, fields) && selects(query.labelSelector, metadata?.labels ?? {});
}

function selects(selector: string | undefined, values: Readonly<Record<string, string | undefined>>): boolean {
  if (!selector) return true;
  return selector.split(",").every((term) => {
    const [, key = "", operator, value = ""] = /^(.*?)(!=|==|=)(.*)$/.exec(term) ?? [];
    if (operator === undefined) throw new TypeError(`FakeKubeClient: selector term "${term}", expected =, == or !=`);
    return ((values[key] ?? "") === value) === (operator !== "!=");
  });
}

function pick<T extends object, K extends string>(object: T, key: K): Partial<T> {
  return { [key]: (object as Record<string, unknown>)[key] } as Partial<T>;
}

/** Copy of a value after a round trip through JSON, which drops members that are `undefined`. */
function normalized<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
