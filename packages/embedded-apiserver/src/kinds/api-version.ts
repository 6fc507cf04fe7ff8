/** `apiVersion` of a group and version, such as `v1` or `apps/v1`. */
export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}

/**
 * Problem with an `apiVersion` that cannot be split into group and version; `undefined` if it can.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/runtime/schema/group_version.go, `ParseGroupVersion`.
 */
export function groupVersionProblem(apiVersion: string): string | undefined {
  return apiVersion.split("/").length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : undefined;
}

/** Go's print of a kind, such as `apps/v1, Kind=Deployment` or `/v1, Kind=Pod`. */
export function goKind(apiVersion: string, kind: string): string {
  return `${apiVersion.includes("/") ? "" : "/"}${apiVersion}, Kind=${kind}`;
}
