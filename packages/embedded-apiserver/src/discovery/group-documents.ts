import { createHash } from "node:crypto";
import { apiVersionOf } from "../kinds/api-version.ts";
import { storageFormOf } from "../kinds/kind.ts";
import type { Kind } from "../kinds/kind.ts";
import {
  type AggregatedVersions,
  type ApiResource,
  apiResources,
  type GroupVersion,
  groupsOf,
  type GroupVersions,
} from "./api-resources.ts";

/** Document at `/api`. @param serverAddress - host and port; empty if the server does not listen */
export function coreVersions(serverAddress: string): unknown {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: serverAddress === "" ? [] : [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

/** Document at `/apis`. */
export function groupList(kinds: readonly Kind[], aggregated?: AggregatedVersions): unknown {
  const groups = groupsOf(kinds, aggregated).filter(({ group }) => group !== "");
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupBody) };
}

/** Document at `/apis/GROUP`; `undefined` if the group does not exist. */
export function groupDocument(group: string, kinds: readonly Kind[], aggregated?: AggregatedVersions): unknown {
  const found = group === "" ? undefined : groupsOf(kinds, aggregated).find((one) => one.group === group);
  return found === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...groupBody(found) };
}

function groupBody({ group, versions }: GroupVersions): object {
  const named = versions.map((version) => ({ groupVersion: apiVersionOf({ group, version }), version }));
  return { name: group, versions: named, preferredVersion: named[0] };
}

/** Document at `/api/v1` and `/apis/GROUP/VERSION`; `undefined` if group or version does not exist. */
export function resourceList(groupVersion: GroupVersion, kinds: readonly Kind[]): unknown {
  const resources = apiResources(groupVersion, kinds);
  if (resources.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    ...apiVersionOfList(groupVersion),
    groupVersion: apiVersionOf(groupVersion),
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
      ...storageVersionHash({ kind, verbs }),
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

/** Kinds that the real server stores in an older version than the served ones. */
const olderStorage: Readonly<Record<string, string>> = {
  "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy": "v1beta1",
  "admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding": "v1beta1",
  "apiextensions.k8s.io/v1/CustomResourceDefinition": "v1beta1",
};

/**
 * Hash by which clients see that objects are stored in another version than before; absent for what is not stored, and for the versions of
 * custom resources that are not stored.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/discovery/storageversionhash.go.
 */
function storageVersionHash({ kind, verbs }: Pick<ApiResource, "kind" | "verbs">): { readonly storageVersionHash?: string } {
  const { group, version } = storageFormOf(kind);
  if (!verbs.includes("watch") || (kind.custom !== undefined && version !== kind.version)) return {};
  const stored = `${group}/${version}/${kind.kind}`;
  const text = `${group}/${olderStorage[stored] ?? version}/${kind.kind}`;
  return { storageVersionHash: createHash("sha256").update(text).digest().subarray(0, 8).toString("base64") };
}
