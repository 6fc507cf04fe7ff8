import { compareVersions } from "../discovery/api-resources.ts";
import type { CrdSpec, CrdVersion } from "./crd-fields.ts";

/**
 * Warning of requests for a version of a custom resource; `undefined` if the version is not deprecated.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/customresource_handler.go, `defaultDeprecationWarning`.
 */
export function deprecationOf({ group, names, versions }: CrdSpec, version: CrdVersion): string | undefined {
  if (version.deprecated !== true) return undefined;
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const type = (name: string): string => `${group}/${name} ${names.kind}`;
  const [successor] = (versions ?? [])
    .filter(({ name, served, deprecated }) => served && deprecated !== true && compareVersions(name, version.name) < 0)
    .map(({ name }) => name)
    .toSorted(compareVersions);
  return `${type(version.name)} is deprecated${successor === undefined ? "" : `; use ${type(successor)}`}`;
}
