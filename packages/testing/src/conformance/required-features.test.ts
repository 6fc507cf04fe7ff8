import { expect, test } from "vitest";
import { featureNames, type Feature } from "./features.ts";
import { requiredFeatures } from "./required-features.ts";

// What users of each provider were promised. Add to it with a provider's new feature; take nothing out.
const promised: Readonly<Record<keyof typeof requiredFeatures, string>> = {
  aci:
    "lifecycle identity idempotence inventory ownership adoption status secrets abort update node notifications networks environment " +
    "files init-containers multiple-containers restarts probes logs logs-follow exec exec-exit-code exec-input exec-tty stats",
  mock:
    "lifecycle identity idempotence inventory ownership status secrets abort update node notifications networks environment files " +
    "init-containers sidecar-containers multiple-containers restarts logs logs-follow logs-previous exec exec-exit-code exec-input " +
    "exec-tty attach port-forward stats",
  template:
    "lifecycle identity idempotence inventory ownership status secrets abort update environment logs logs-follow exec exec-exit-code " +
    "exec-input stats",
  docker:
    "lifecycle identity idempotence inventory ownership adoption status secrets abort update node notifications networks environment " +
    "files init-containers sidecar-containers multiple-containers restarts probes logs logs-follow logs-previous exec exec-exit-code " +
    "exec-input exec-tty attach port-forward stats",
  fargate:
    "lifecycle identity idempotence inventory ownership adoption status secrets abort update node notifications networks environment " +
    "files init-containers sidecar-containers multiple-containers restarts probes logs logs-follow logs-previous exec exec-exit-code " +
    "exec-input exec-tty",
  kubernetes:
    "lifecycle identity idempotence inventory ownership adoption status secrets abort update node notifications networks environment " +
    "files init-containers sidecar-containers multiple-containers restarts probes logs logs-follow logs-previous exec exec-exit-code " +
    "exec-input exec-tty attach port-forward stats",
  nomad:
    "lifecycle identity idempotence inventory ownership adoption status secrets abort update node environment files init-containers " +
    "multiple-containers probes logs logs-follow exec exec-exit-code exec-input stats",
  zun:
    "lifecycle identity idempotence inventory ownership adoption status secrets abort update node networks environment files " +
    "multiple-containers probes logs exec exec-exit-code exec-input stats",
};

test.each(Object.entries(promised))("%s must have what its users were promised", (provider, list) => {
  const required: readonly string[] = requiredFeatures[provider as keyof typeof requiredFeatures];

  expect(list.split(" ").filter((feature) => !required.includes(feature))).toEqual([]);
});

test.each(["docker", "kubernetes"] as const)("%s has all there is", (provider) => {
  expect(new Set<Feature>(requiredFeatures[provider])).toEqual(new Set(featureNames));
});
