import { formatResources } from "@virtual-kubelet/kubernetes";
import { expect, test } from "vitest";
import { quota } from "../test-support/far-nodes.ts";
import { quotaResources } from "./quota-resources.ts";

const read = (...quotas: ReturnType<typeof quota>[]): Record<string, string> => formatResources(quotaResources(quotas).capacity);

test("requests, plain names, counts and extended resources become the node's resources", () => {
  const hard = {
    "requests.cpu": "10",
    memory: "20Gi",
    "count/pods": "50",
    "requests.nvidia.com/gpu": "4",
    "requests.ephemeral-storage": "100Gi",
    "hugepages-2Mi": "1Gi",
  };

  expect(read(quota("q", hard))).toEqual({
    cpu: "10",
    memory: "20Gi",
    pods: "50",
    "nvidia.com/gpu": "4",
    "ephemeral-storage": "100Gi",
    "hugepages-2Mi": "1Gi",
  });
});

test("claims, services and other objects are no resources of a node", () => {
  const hard = {
    "requests.storage": "1Ti",
    "gold.storageclass.storage.k8s.io/requests.storage": "1Ti",
    persistentvolumeclaims: "5",
    "services.loadbalancers": "2",
    "count/secrets": "9",
  };

  expect(read(quota("q", hard))).toEqual({});
});

test("of several limits the smallest counts, whichever quota and name it has", () => {
  expect(
    read(quota("a", { "requests.cpu": "10", pods: "100" }), quota("b", { "limits.cpu": "8", "requests.cpu": "12", "count/pods": "20" })),
  ).toEqual({ cpu: "8", pods: "20" });
});

test("the enforced limit counts, which a change of the quota reaches later", () => {
  expect(read({ ...quota("q", { "requests.cpu": "10" }), status: { hard: { "requests.cpu": "6" } } })).toEqual({ cpu: "6" });
  expect(read({ ...quota("q", { "requests.cpu": "10" }), status: undefined })).toEqual({ cpu: "10" });
});

test("a quantity that cannot be read limits nothing", () => {
  expect(read(quota("q", { "requests.cpu": "plenty", pods: "5" }))).toEqual({ pods: "5" });
});

test("a quota for some pods only is not counted, and says why", () => {
  const priority = { scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }] } };
  const quotas = [
    quota("batch", { pods: "1" }, { scopes: ["Terminating"] }),
    quota("best", { pods: "2" }, { scopes: ["BestEffort"] }),
    quota("high", { "requests.cpu": "1" }, priority),
    quota("long", { "requests.cpu": "7" }, { scopes: ["NotTerminating"] }),
    quota("sized", { "requests.cpu": "9", pods: "3" }, { scopes: ["NotBestEffort"] }),
  ];
  const { capacity, ignored } = quotaResources(quotas);

  expect(formatResources(capacity)).toEqual({ cpu: "7" });
  expect(ignored).toEqual([
    "batch: it limits only pods with activeDeadlineSeconds",
    "best: it limits only pods without requests",
    "high: it limits only pods of scope PriorityClass",
    "sized: its number of pods does not limit those without requests",
  ]);
});
