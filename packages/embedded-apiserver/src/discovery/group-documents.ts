import { type ApiResource, apiResources, type GroupVersion, groupVersionName, groupVersions } from "./api-resources.ts";

/** The document at `/api`. */
export function coreVersions(): unknown {
  return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
}

/** The document at `/apis`. */
export function groupList(): unknown {
  const groups = groupVersions().filter(({ group }) => group !== "");
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupBody) };
}

/** The document at `/apis/GROUP`; `undefined` if there is no such group. */
export function groupDocument(group: string): unknown {
  const known = groupVersions().find((one) => one.group === group && group !== "");
  return known === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...groupBody(known) };
}

function groupBody(groupVersion: GroupVersion): object {
  const version = { groupVersion: groupVersionName(groupVersion), version: groupVersion.version };
  return { name: groupVersion.group, versions: [version], preferredVersion: version };
}

/** The document at `/api/v1` and `/apis/GROUP/VERSION`; `undefined` if there is no such group and version. */
export function resourceList(groupVersion: GroupVersion): unknown {
  const resources = apiResources(groupVersion);
  if (resources.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    ...apiVersionOfList(groupVersion),
    groupVersion: groupVersionName(groupVersion),
    resources: resources.flatMap(entries),
  };
}

/** The list of core has no apiVersion, for clients older than the field. */
function apiVersionOfList({ group }: GroupVersion): object {
  return group === "" ? {} : { apiVersion: "v1" };
}

function entries({ kind, verbs, subresources }: ApiResource): object[] {
  const { plural, singular, namespaced, shortNames, categories } = kind;
  return [
    {
      name: plural,
      singularName: singular,
      namespaced,
      kind: kind.kind,
      verbs,
      ...(shortNames === undefined ? {} : { shortNames }),
      ...(categories === undefined ? {} : { categories }),
    },
    ...subresources.map(({ name, body, verbs: subVerbs }) => ({
      name: `${plural}/${name}`,
      singularName: "",
      namespaced,
      ...(body.group === kind.group ? {} : { group: body.group, version: body.version }),
      kind: body.kind,
      verbs: subVerbs,
    })),
  ];
}
