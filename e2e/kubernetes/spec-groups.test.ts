import { expect, test } from "vitest";
import { whoInsteadOfKubelet } from "./spec-groups.ts";

test("a test that needs no kubelet is recognized by its file and name", () => {
  const file = "common/node/configmap.go";
  expect(whoInsteadOfKubelet({ file, name: "[sig-node] ConfigMap should run through a ConfigMap lifecycle [Conformance]" })).toBe(
    "API server",
  );
  expect(whoInsteadOfKubelet({ file, name: "[sig-node] ConfigMap should be consumable via the environment" })).toBeUndefined();
});
