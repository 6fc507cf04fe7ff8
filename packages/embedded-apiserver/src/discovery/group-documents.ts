import type { Kind } from "../kinds/kind.ts";
import { type ApiResource, apiResources, type GroupVersion, groupVersionName, groupVersions, versionsOf } from "./api-resources.ts";

/** Document at `/api`. */
export function coreVersions(): unknown {
  return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
}

/** Document at `/apis`. */
export function groupList(kinds: readonly Kind[]): unknown {
  const groups = new Set(groupVersions(kinds).map(({ group }) => group));
  groups.delete("");
  return { kind: "APIGroupList", apiVersion: "v1", groups: [...groups].map((group) => groupBody(group, kinds)) };
}

/** Document at `/apis/GROUP`; `undefined` if the group does not exist. */
export function groupDocument(group: string, kinds: readonly Kind[]): unknown {
  const isKnown = groupVersions(kinds).some((one) => one.group === group && group !== "");
  return isKnown ? { kind: "APIGroup", apiVersion: "v1", ...groupBody(group, kinds) } : undefined;
}

function groupBody(group: string, kinds: readonly Kind[]): object {
  const versions = versionsOf(group, kinds).map((version) => ({ groupVersion: groupVersionName({ group, version }), version }));
  return { name: group, versions, preferredVersion: versions[0] };
}

/** Document at `/api/v1` and `/apis/GROUP/VERSION`; `undefined` if group or version does not exist. */
export function resourceList(groupVersion: GroupVersion, kinds: readonly Kind[]): unknown {
  const resources = apiResources(groupVersion, kinds);
  if (resources.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    ...apiVersionOfList(groupVersion),
    groupVersion: groupVersionName(groupVersion),
    resources: resources.flatMap(entries),
  };
}

/** The core group's list has no `apiVersion`, for clients older than the field. */
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
