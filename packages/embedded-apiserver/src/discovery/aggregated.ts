import type { Kind } from "../kinds/kind.ts";
import { type ApiResource, apiResources, type BodyKind, type GroupVersion, groupVersions, versionsOf } from "./api-resources.ts";

export type AggregatedVersion = "v2" | "v2beta1";

/**
 * Builds the `apidiscovery.k8s.io` document with everything below `/api` or `/apis`.
 *
 * @param isCore - true for `/api`
 */
export function aggregatedDiscovery(isCore: boolean, version: AggregatedVersion, kinds: readonly Kind[]): unknown {
  const groups = [...new Set(groupVersions(kinds).map(({ group }) => group))].filter((group) => (group === "") === isCore);
  const items = groups.map((group) => ({
    metadata: group === "" ? {} : { name: group },
    versions: versionsOf(group, kinds).map((one) => ({
      version: one,
      resources: apiResources({ group, version: one }, kinds).map((resource) => entry(resource, { group, version: one })),
      freshness: "Current",
    })),
  }));
  return { kind: "APIGroupDiscoveryList", apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

function entry({ kind, verbs, subresources }: ApiResource, groupVersion: GroupVersion): object {
  return {
    resource: kind.plural,
    responseKind: responseKind({ ...groupVersion, kind: kind.kind }, groupVersion),
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
            responseKind: responseKind(body, groupVersion),
            verbs: subVerbs,
          })),
        }),
  };
}

/** Group and version are omitted if they equal those of the list. */
function responseKind({ group, version, kind }: BodyKind, list: GroupVersion): object {
  const isSame = group === list.group && version === list.version;
  return { group: isSame ? "" : group, version: isSame ? "" : version, kind };
}
