/** Resource that a path names. */
export interface ResourceTarget {
  readonly group: string;
  readonly version: string;
  /** Plural name of the resource. */
  readonly plural: string;
  /** `undefined` for cluster-scoped resources and for all namespaces. */
  readonly namespace: string | undefined;
  /** `undefined` for the collection. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** Whether the path has the deprecated form `/watch/…`. */
  readonly isWatch: boolean;
}

/**
 * Parses an API path: `/api/v1/…` or `/apis/GROUP/VERSION/…`.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/request/requestinfo.go.
 *
 * @returns `undefined` for a path that names no resource, such as a discovery document
 */
export function parseResourcePath(path: string): ResourceTarget | undefined {
  const segments = decodedPath(path).split("/").slice(1);
  const isCore = segments[0] === "api";
  if (!isCore && segments[0] !== "apis") return undefined;
  const [group = "", version = "", ...below] = isCore ? ["", ...segments.slice(1)] : segments.slice(1);
  const isWatch = below[0] === "watch" && below.length > 1;
  const { namespace, parts } = splitNamespace(isWatch ? below.slice(1) : below);
  const [plural = "", name, subresource, ...surplus] = parts;
  // The path below a proxy belongs to the target server.
  if (plural === "" || version === "" || (surplus.length > 0 && subresource !== "proxy")) return undefined;
  return { group, version, plural, namespace, name: name === "" ? undefined : name, subresource, isWatch };
}

/** `namespaces/x/pods` names pods; `namespaces/x` and `namespaces/x/status` name the namespace. */
function splitNamespace(parts: readonly string[]): { namespace: string | undefined; parts: readonly string[] } {
  const [first, namespace, resource] = parts;
  if (first !== "namespaces" || resource === undefined || resource === "" || resource === "status" || resource === "finalize")
    return { namespace: undefined, parts };
  return { namespace, parts: parts.slice(2) };
}

/**
 * Replaces the escapes of a whole path, so that `%2F` separates segments, as in Go's `URL.Path`. Bytes that are no UTF-8 become U+FFFD.
 *
 * @param path - every `%` is followed by two hexadecimal digits
 */
export function decodedPath(path: string): string {
  return path.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => Buffer.from(escapes.replaceAll("%", ""), "hex").toString("utf8"));
}
