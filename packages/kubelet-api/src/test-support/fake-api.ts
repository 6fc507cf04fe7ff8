import { createKubeClient, resources, type KubeClient, type KubernetesObject } from "@virtual-kubelet/kube-client";
import { OpenBody, ScriptedTransport, type ScriptedAnswer } from "@virtual-kubelet/kube-client/testing";

/** A Kubernetes API in memory: single objects, read, created, and watched by their names. */
export class FakeApi {
  readonly client: KubeClient;
  /** Methods and paths of the requests so far, without queries. */
  readonly requests: string[] = [];
  /** Bodies of the created objects so far. */
  readonly created: KubernetesObject[] = [];
  /** Answers a request before anything else does. */
  override: ((method: string, path: string) => ScriptedAnswer | undefined) | undefined;
  /** Changes a created object before it is stored. */
  onCreate: ((object: KubernetesObject) => KubernetesObject) | undefined;
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #watches = new Map<string, Set<OpenBody>>();
  #version = 0;

  constructor() {
    this.client = createKubeClient(new ScriptedTransport((request) => this.#answer(request.method, request.path, request.body)));
  }

  get(path: string): KubernetesObject | undefined {
    return this.#objects.get(path);
  }

  /** Stores an object under the path of its collection, and notifies its watchers. */
  put(collection: string, object: KubernetesObject): void {
    const path = `${collection}/${object.metadata?.name ?? ""}`;
    const before = this.#objects.get(path);
    const uid = object.metadata?.uid ?? before?.metadata?.uid ?? `uid-${++this.#version}`;
    const stored = { ...typeOf(collection), ...object, metadata: { ...object.metadata, uid, resourceVersion: String(++this.#version) } };
    this.#objects.set(path, stored);
    this.#tell(path, { type: before ? "MODIFIED" : "ADDED", object: stored });
  }

  remove(path: string): void {
    const object = this.#objects.get(path);
    this.#objects.delete(path);
    if (object) this.#tell(path, { type: "DELETED", object });
  }

  #tell(path: string, event: object): void {
    for (const body of this.#watches.get(path) ?? []) body.lines(event);
  }

  #answer(method: string, pathAndQuery: string, body: string | Uint8Array | undefined): ScriptedAnswer {
    const { pathname, searchParams } = new URL(pathAndQuery, "http://api");
    this.requests.push(`${method} ${pathname}`);
    const overridden = this.override?.(method, pathname);
    if (overridden) return overridden;
    if (searchParams.get("watch") === "true") return this.#watch(pathname, searchParams.get("fieldSelector") ?? "");
    if (method === "POST") return this.#create(pathname, JSON.parse(String(body)) as KubernetesObject);
    const found = this.#objects.get(pathname);
    return found ? { body: found } : failure(404, "NotFound");
  }

  #create(collection: string, object: KubernetesObject): ScriptedAnswer {
    this.created.push(object);
    const path = `${collection}/${object.metadata?.name ?? ""}`;
    if (this.#objects.has(path)) return failure(409, "AlreadyExists");
    this.put(collection, this.onCreate?.(object) ?? object);
    return { status: 201, body: this.#objects.get(path) };
  }

  #watch(collection: string, fieldSelector: string): ScriptedAnswer {
    const path = `${collection}/${fieldSelector.replace("metadata.name=", "")}`;
    const body = new OpenBody();
    const object = this.#objects.get(path);
    if (object) body.lines({ type: "ADDED", object });
    const metadata = { resourceVersion: String(this.#version), annotations: { "k8s.io/initial-events-end": "true" } };
    body.lines({ type: "BOOKMARK", object: { ...typeOf(collection), metadata } });
    const watches = this.#watches.get(path) ?? new Set();
    this.#watches.set(path, watches.add(body));
    return { body };
  }
}

/** Version and kind of the objects in a collection, by its path. */
function typeOf(collection: string): Pick<KubernetesObject, "apiVersion" | "kind"> {
  const plural = collection.slice(collection.lastIndexOf("/") + 1);
  const found = Object.values(resources).find((resource) => resource.plural === plural);
  if (!found) throw new TypeError(`the fake knows no kind for ${collection}`);
  return { apiVersion: found.group === "" ? found.version : `${found.group}/${found.version}`, kind: found.kind };
}

function failure(code: number, reason: string): ScriptedAnswer {
  return { status: code, body: { kind: "Status", code, reason, message: reason } };
}
