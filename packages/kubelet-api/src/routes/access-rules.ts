/** Sub-resources of `nodes` by a path's first part; the first that is allowed is enough. */
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

/** Verbs by method; other methods have none. */
const verbs: ReadonlyMap<string, string> = new Map([
  ["GET", "get"],
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** First parts of paths that run something in a pod, or reach into it. */
const powerful: ReadonlySet<string | undefined> = new Set(["exec", "attach", "run", "portForward"]);

/**
 * What one must be allowed to have for a path. Source: kubernetes v1.36.3 pkg/kubelet/server/auth.go.
 *
 * @param segments - without `/nodes/NAME`
 */
export function subresourcesOf(segments: readonly string[]): readonly string[] {
  return subresources.get(segments[0]) ?? ["proxy"];
}

/**
 * What one must be allowed to do. A kubelet goes by the method alone, so that a WebSocket, which is a GET, runs commands
 * with the right to read; here what reaches into a pod is `create` by any method.
 *
 * @param segments - without `/nodes/NAME`
 */
export function verbOf(method: string, segments: readonly string[]): string {
  return powerful.has(segments[0]) ? "create" : (verbs.get(method) ?? "");
}
