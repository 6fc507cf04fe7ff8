import { expect, test } from "vitest";
import { renderRightsTemplate } from "./rights-template.ts";

const template = renderRightsTemplate();

/** Text of one definition. */
function definition(name: string): string {
  return template.split(`{{- define "virtual-kubelet.rules.${name}" -}}`)[1]?.split("{{- define")[0] ?? "";
}

test("a rule that only a policy needs is below the condition for it", () => {
  expect(definition("pods")).toMatch(
    /\{\{- if \.drains \}\}\n- apiGroups: \[""\]\n {2}resources: \["pods\/eviction"\]\n {2}verbs: \["create"\]\n\{\{- end \}\}/,
  );
  expect(definition("pods").split("{{- if")[0]).not.toContain("eviction");
});

test("rules for the nodes name them, and rules for deletions name only those that are deleted", () => {
  expect(definition("leases")).toContain('resourceNames: {{ toJson .nodes }}\n  verbs: ["get","update"]');
  expect(definition("leases")).toContain('resourceNames: {{ toJson .deletedNodes }}\n  verbs: ["delete"]');
  expect(template).not.toContain("NODE-");
});

test("instances that share nodes have the rights for leases of any name", () => {
  expect(definition("leases")).toMatch(
    /^\n\{\{- if \.sharesNodes \}\}\n.*\n.*\n {2}verbs: \["create","get","list","watch","update","delete"\]\n\{\{- else \}\}/,
  );
});

test("secrets are read with the rights for pods, which can be restricted to namespaces", () => {
  expect(definition("pods")).toContain('"secrets"');
  expect(definition("cluster")).not.toContain("secrets");
});
