import { expect, test } from "vitest";
import { aggregatedResources } from "./far-discovery.ts";

const verbs = ["get"];

test("subresources are below their resource, even without an entry for it", () => {
  const list = [
    { name: "lonely/scale", namespaced: false, group: "autoscaling", version: "v1", kind: "Scale", verbs },
    { name: "flunders/status", namespaced: true, verbs },
    { name: "flunders", singularName: "flunder", namespaced: true, kind: "Flunder", verbs, categories: ["all"] },
  ];
  expect(aggregatedResources(list)).toEqual([
    {
      resource: "flunders",
      responseKind: { group: "", version: "", kind: "Flunder" },
      scope: "Namespaced",
      singularResource: "flunder",
      verbs,
      categories: ["all"],
      subresources: [{ subresource: "status", responseKind: { group: "", version: "", kind: "" }, verbs }],
    },
    {
      resource: "lonely",
      responseKind: { group: "", version: "", kind: "" },
      scope: "Cluster",
      singularResource: "",
      verbs: null,
      subresources: [{ subresource: "scale", responseKind: { group: "autoscaling", version: "v1", kind: "Scale" }, verbs }],
    },
  ]);
});

test("a subresource with another scope than its resource is an error", () => {
  const list = [
    { name: "flunders", namespaced: true, kind: "Flunder", verbs },
    { name: "flunders/status", namespaced: false, kind: "Flunder", verbs },
  ];
  expect(() => aggregatedResources(list)).toThrow("flunders (scope: Namespaced) and status (scope: Cluster) scope do not match");
});
