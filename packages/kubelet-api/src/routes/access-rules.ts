/** Sub-resources of `nodes` by the first segment of the path. One allowed sub-resource is enough. */
const subresources: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  ["stats", ["stats"]],
  ["metrics", ["metrics"]],
  ["logs", ["log"]],
  ["checkpoint", ["checkpoint"]],
  ["statusz", ["statusz"]],
  ["flagz", ["configz"]],
  ["pods", ["pods", "proxy"]],
  ["runningpods", ["pods", "proxy"]],
  ["healthz", ["healthz", "proxy"]],
  ["configz", ["configz", "proxy"]],
]);

/** Verbs by HTTP method. Other methods have no verb. */
const verbs: ReadonlyMap<string, string> = new Map([
  ["GET", "get"],
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** First path segments of requests that run something in a pod or connect to it. */
const powerful: ReadonlySet<string | undefined> = new Set(["exec", "attach", "run", "portForward"]);

/**
 * Sub-resources of `nodes` that grant access to a path. Source: kubernetes v1.36.3 pkg/kubelet/server/auth.go.
 *
 * @param segments - without `/nodes/NAME`
 */
export function subresourcesOf(segments: readonly string[]): readonly string[] {
  return subresources.get(segments[0]) ?? ["proxy"];
}

/**
 * Verb that the caller must be allowed. A kubelet maps the HTTP method alone, so a WebSocket, which is a GET, runs commands with `get`.
 * Here everything that reaches into a pod needs `create`, whatever the method.
 *
 * @param segments - without `/nodes/NAME`
 */
export function verbOf(method: string, segments: readonly string[]): string {
  return powerful.has(segments[0]) ? "create" : (verbs.get(method) ?? "");
}
