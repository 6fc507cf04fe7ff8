import { expect, test } from "vitest";
import { kubernetesConfigSchema, type KubernetesConfig } from "../config.ts";
import { farServiceRules, homeServiceRights } from "./service-rights.ts";

function configOf(services: object): KubernetesConfig {
  return kubernetesConfigSchema.parse({ services });
}

function verbsOf(rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[]): string[] {
  return rules.map(({ resources, verbs }) => `${resources.join()}: ${verbs.join()}`);
}

test("without the option no rights are needed", () => {
  const config = configOf({});
  expect([homeServiceRights(config), farServiceRules(config)]).toEqual([[], []]);
});

test("towards the far cluster home is only read", () => {
  const config = configOf({ namespaces: ["a", "b", "a"], direction: "toFar" });
  const rights = homeServiceRights(config);
  expect(rights.map(({ namespace }) => namespace)).toEqual(["a", "b"]);
  expect(verbsOf(rights[0]?.rules ?? [])).toEqual(["services: get,list,watch", "endpointslices: get,list,watch", "events: create,patch"]);
  expect(verbsOf(farServiceRules(config))).toEqual([
    "services: get,list,watch,create,update,delete",
    "endpointslices: get,list,watch,create,update,delete",
  ]);
});

test("towards home the far cluster is only read", () => {
  const config = configOf({ namespaces: ["a"], direction: "toHome" });
  expect(verbsOf(homeServiceRights(config)[0]?.rules ?? [])).toContain("services: get,list,watch,create,update,delete");
  expect(verbsOf(farServiceRules(config))).toEqual(["services: get,list,watch", "endpointslices: get,list,watch"]);
});

test("credentials of the mirror's own need no rights of the program's", () => {
  expect(homeServiceRights(configOf({ namespaces: ["a"], home: { kubeconfig: "/home.kubeconfig" } }))).toEqual([]);
});
