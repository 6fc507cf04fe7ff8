import { expect, test } from "vitest";
import type { ApiObject } from "../kind.ts";
import { dropEmptyLists } from "./empty-lists.ts";

const metadata = { name: "a", uid: "", resourceVersion: "", creationTimestamp: "" };

function dropped(group: string, schema: string, fields: Record<string, unknown>): Record<string, unknown> {
  const object: ApiObject = { apiVersion: "v1", kind: "A", metadata, ...structuredClone(fields) };
  dropEmptyLists({ group, schema }, object);
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...rest } = object;
  return rest;
}

test("an empty list that is always written is null, also in items of lists", () => {
  expect(dropped("rbac.authorization.k8s.io", "io.k8s.api.rbac.v1.ClusterRole", { rules: [] })).toEqual({ rules: null });
  expect(
    dropped("", "io.k8s.api.core.v1.Pod", {
      spec: { containers: [{ args: [] }], volumes: [{ projected: { sources: [] } }, { emptyDir: {} }] },
    }),
  ).toEqual({ spec: { containers: [{ args: [] }], volumes: [{ projected: { sources: null } }, { emptyDir: {} }] } });
});

test("lists with items, and lists that may be absent, stay", () => {
  const rules = [{ verbs: ["get"], resources: [] }];
  expect(dropped("rbac.authorization.k8s.io", "io.k8s.api.rbac.v1.ClusterRole", { rules })).toEqual({ rules });
});

test("definitions of custom resources keep their empty lists", () => {
  const definition = { spec: { versions: [] } };
  const schema = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
  expect(dropped("apiextensions.k8s.io", schema, definition)).toEqual(definition);
});
