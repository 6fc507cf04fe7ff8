import type { Kind } from "../kinds/kind.ts";
import { type AggregatedVersions, type ApiResource, apiResources, type BodyKind, type GroupVersion, groupsOf } from "./api-resources.ts";

/**
 * Builds the `apidiscovery.k8s.io` document with everything below `/api` or `/apis`.
 *
 * @param isCore - true for `/api`
 */
export function aggregatedDiscovery(isCore: boolean, kinds: readonly Kind[], aggregated?: AggregatedVersions): unknown {
  const groups = groupsOf(kinds, aggregated).filter(({ group }) => (group === "") === isCore);
  const items = groups.map(({ group, versions }) => ({
    metadata: group === "" ? {} : { name: group },
    versions: versions.map((one) => aggregated?.describe({ group, version: one }) ?? ownVersion({ group, version: one }, kinds)),
  }));
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
}

function ownVersion(groupVersion: GroupVersion, kinds: readonly Kind[]): object {
  return {
    version: groupVersion.version,
    resources: apiResources(groupVersion, kinds).map((resource) => entry(resource, groupVersion)),
    freshness: "Current",
  };
}

function entry({ kind, verbs, subresources }: ApiResource, groupVersion: GroupVersion): object {
  const list = kind.custom === undefined ? groupVersion : undefined;
  return {
    resource: kind.plural,
    responseKind: responseKind({ ...groupVersion, kind: kind.kind }, list),
    scope: kind.namespaced ? "Namespaced" : "Cluster",
    singularResource: kind.singular,
    verbs,
    ...(kind.shortNames === undefined ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories === undefined ? {} : { categories: kind.categories }),
    ...(subresources.length === 0
      ? {}
      : {
          subresources: subresources.map(({ name, body, verbs: subVerbs }) => ({
            subresource: name,
            responseKind: responseKind(body, list),
            verbs: subVerbs,
          })),
        }),
  };
}

/** Group and version are omitted if they equal those of the list, except for custom resources. */
function responseKind({ group, version, kind }: BodyKind, list: GroupVersion | undefined): object {
  const isSame = group === list?.group && version === list.version;
  return { group: isSame ? "" : group, version: isSame ? "" : version, kind };
}
