/** `apiVersion` of a group and version, such as `v1` or `apps/v1`. */
export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}
