/** A request of the comparison. */
export interface ComparedRequest {
  readonly method: string;
  /** Path with its query. `{ns}` is the group's namespace. */
  readonly path: string;
  /** Sent as JSON, except text, which is sent unchanged. `{ns}` is replaced here, too. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent without credentials. Default: as the administrator. */
  readonly anonymous?: boolean;
}

/** A wait that is not compared: until the request is answered with the status, and `when`, if given, is true of the body. */
export interface Wait {
  readonly wait: ComparedRequest;
  readonly status?: number;
  readonly when?: (body: Readonly<Record<string, unknown>>) => boolean;
}

/** Requests that are sent in this order, in a namespace of their own. */
export interface RequestGroup {
  readonly name: string;
  readonly steps: readonly (ComparedRequest | Wait)[];
}

const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** Accept headers that clients send. */
export const accepts = {
  table: "application/json;as=Table;v=v1;g=meta.k8s.io",
  metadata: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  metadataList: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  discovery: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
  cbor: "application/cbor",
} as const;

export function get(path: string, accept?: string): ComparedRequest {
  return { method: "GET", path, ...(accept === undefined ? {} : { headers: { accept } }) };
}

export function post(path: string, body?: unknown, type?: string): ComparedRequest {
  return {
    method: "POST",
    path,
    ...(body === undefined ? {} : { body }),
    ...(type === undefined ? {} : { headers: { "content-type": type } }),
  };
}

export function put(path: string, body?: unknown): ComparedRequest {
  return { method: "PUT", path, body };
}

export function patch(type: keyof typeof patchTypes, path: string, body: unknown): ComparedRequest {
  return { method: "PATCH", path, body, headers: { "content-type": patchTypes[type] } };
}

export function remove(path: string, body?: unknown): ComparedRequest {
  return { method: "DELETE", path, ...(body === undefined ? {} : { body }) };
}

export function wait(path: string, when?: Wait["when"]): Wait {
  return waitFor(get(path), { ...(when === undefined ? {} : { when }) });
}

export function waitGone(path: string): Wait {
  return waitFor(get(path), { status: 404 });
}

/** Waits for an answer that depends on what a server has in a cache. */
export function waitFor(request: ComparedRequest, until: Omit<Wait, "wait"> = {}): Wait {
  return { wait: request, ...until };
}
