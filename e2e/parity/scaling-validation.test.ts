import { expect } from "vitest";
import { test } from "./support/parity-test.ts";
import { refusals, refusedChanges } from "./support/refusals.ts";

const named = (fields: object): object => ({ metadata: { name: "a" }, ...fields });
const quota = (spec: object): object => named({ spec });
const limit = (fields: object): object => named({ spec: { limits: [{ type: "Container", ...fields }] } });
const scoped = (scopeName: string, operator: string, values?: readonly string[]): object =>
  quota({ scopeSelector: { matchExpressions: [{ scopeName, operator, ...(values === undefined ? {} : { values }) }] } });

test("resource quotas are validated", async ({ api, core }) => {
  const path = `${core}/resourcequotas`;
  expect(
    await refusals(api, path, {
      "unknown resource": quota({ hard: { bananas: "1" } }),
      "invalid name": quota({ hard: { "a b": "1" } }),
      "resource of other kinds": quota({ hard: { storage: "1" } }),
      negative: quota({ hard: { cpu: "-1" } }),
      fraction: quota({ hard: { pods: "1500m" } }),
      "fraction of services": quota({ hard: { "services.nodeports": "500m" } }),
      "any object": quota({ hard: { "count/widgets.example.com": "5", "requests.example.com/gpu": "1" } }),
      "unknown scope": quota({ scopes: ["Sometimes"] }),
      "scope without the resource": quota({ hard: { services: "1" }, scopes: ["Terminating"] }),
      "best effort with cpu": quota({ hard: { cpu: "1" }, scopes: ["BestEffort"] }),
      conflict: quota({ scopes: ["BestEffort", "NotBestEffort"] }),
      "other conflict": quota({ scopes: ["Terminating", "NotTerminating"] }),
      "selector: scope": scoped("Sometimes", "Exists"),
      "selector: operator": scoped("PriorityClass", "Is"),
      "selector: no values": scoped("PriorityClass", "In"),
      "selector: values": scoped("PriorityClass", "Exists", ["a"]),
      "selector: only Exists": scoped("BestEffort", "In", ["a"]),
    }),
  ).toMatchSnapshot("create");
  await api.create(path, quota({ hard: { pods: "1" } }));
  expect(
    await refusedChanges(api, `${path}/a`, {
      scopes: { spec: { scopes: ["Terminating"] } },
      amount: { spec: { hard: { pods: "-1" } } },
    }),
  ).toMatchSnapshot("update");
  expect(
    await refusedChanges(api, `${path}/a/status`, {
      used: { status: { used: { pods: "-1" } } },
      hard: { status: { hard: { bananas: "1" } } },
    }),
  ).toMatchSnapshot("status");
});

test("limit ranges are validated", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/limitranges`, {
      "no type": limit({ type: "" }),
      type: limit({ type: "Job" }),
      "type twice": named({ spec: { limits: [{ type: "Pod" }, { type: "Pod" }] } }),
      resource: limit({ max: { bananas: "1" } }),
      "resource of other kinds": limit({ max: { storage: "1" } }),
      "any resource for claims": limit({ type: "PersistentVolumeClaim", max: { storage: "1Gi", cpu: "1" } }),
      "claims without storage": limit({ type: "PersistentVolumeClaim", max: { cpu: "1" } }),
      "defaults for pods": limit({ type: "Pod", default: { cpu: "1" }, defaultRequest: { cpu: "1" } }),
      "min above max": limit({ min: { cpu: "2" }, max: { cpu: "1" } }),
      "default above max": limit({ default: { cpu: "2" }, max: { cpu: "1" } }),
      "default below min": limit({ default: { cpu: "1" }, min: { cpu: "2" } }),
      "request above default": limit({ defaultRequest: { cpu: "2" }, default: { cpu: "1" } }),
      "request below min": limit({ defaultRequest: { cpu: "1" }, min: { cpu: "2" } }),
      "ratio below 1": limit({ maxLimitRequestRatio: { cpu: "0.5" } }),
      "ratio above max by min": limit({ min: { memory: "1Gi" }, max: { memory: "2Gi" }, maxLimitRequestRatio: { memory: "3" } }),
      "no overcommitment": limit({ default: { "example.com/gpu": "2" }, defaultRequest: { "example.com/gpu": "1" } }),
      valid: limit({ min: { cpu: "100m" }, max: { cpu: "1" }, default: { cpu: "500m" }, defaultRequest: { cpu: "200m" } }),
    }),
  ).toMatchSnapshot("create");
});

test("autoscalers are validated", async ({ api, namespace }) => {
  const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
  const scaler = (spec: object): object => named({ spec: { scaleTargetRef: target, maxReplicas: 3, ...spec } });
  const metric = (fields: object): object => scaler({ metrics: [fields] });
  const resource = (fields: object): object => metric({ type: "Resource", resource: { name: "cpu", target: fields } });
  const behavior = (fields: object): object => scaler({ behavior: { scaleUp: fields } });
  const policies = [{ type: "Pods", value: 1, periodSeconds: 1 }];
  const half = { type: "Utilization", averageUtilization: 50 };
  expect(
    await refusals(api, path, {
      "no maximum": scaler({ maxReplicas: 0 }),
      "negative maximum": scaler({ maxReplicas: -1 }),
      "minimum 0": scaler({ minReplicas: 0 }),
      "minimum above maximum": scaler({ minReplicas: 4 }),
      "no target": scaler({ scaleTargetRef: { kind: "", name: "" } }),
      "invalid target": scaler({ scaleTargetRef: { apiVersion: "a/b/c", kind: "a/b", name: ".." } }),
      "target of the core group": scaler({ scaleTargetRef: { ...target, apiVersion: "v1" } }),
      "no metric type": metric({ type: "", resource: { name: "cpu", target: half } }),
      "metric type": metric({ type: "Weather" }),
      "no source": metric({ type: "Pods" }),
      "other source": metric({ type: "Pods", resource: { name: "cpu", target: half } }),
      "two sources": metric({
        type: "Resource",
        resource: { name: "cpu", target: half },
        pods: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "1" } },
      }),
      "no resource": metric({ type: "Resource", resource: { name: "", target: half } }),
      "no target value": resource({ type: "Utilization" }),
      "no target type": resource({ type: "", averageUtilization: 50 }),
      "both target values": resource({ type: "Utilization", averageUtilization: 50, averageValue: "1" }),
      "target values": resource({ type: "Share", averageUtilization: 0 }),
      "negative average": resource({ type: "AverageValue", averageValue: "-1" }),
      container: metric({ type: "ContainerResource", containerResource: { name: "storage", container: "A_", target: half } }),
      "no container": metric({ type: "ContainerResource", containerResource: { name: "", container: "", target: half } }),
      pods: metric({ type: "Pods", pods: { metric: { name: "" }, target: { type: "Value", value: "0" } } }),
      object: metric({
        type: "Object",
        object: { describedObject: { kind: "", name: "a/b" }, metric: { name: "a/b" }, target: { type: "Value" } },
      }),
      "object of the core group": metric({
        type: "Object",
        object: {
          describedObject: { kind: "Service", name: "s", apiVersion: "v1" },
          metric: { name: "m" },
          target: { type: "Value", value: "1" },
        },
      }),
      external: metric({ type: "External", external: { metric: { name: "m" }, target: { type: "Value", value: "1", averageValue: "1" } } }),
      "external without a value": metric({ type: "External", external: { metric: { name: "m" }, target: { type: "Value" } } }),
      "negative window": behavior({ stabilizationWindowSeconds: -1, policies }),
      "long window": behavior({ stabilizationWindowSeconds: 3601, policies }),
      "select policy": behavior({ selectPolicy: "Best", policies }),
      policy: behavior({ policies: [{ type: "Nodes", value: 0, periodSeconds: 0 }] }),
      "long period": behavior({ policies: [{ type: "Percent", value: 1, periodSeconds: 1801 }] }),
      "negative tolerance": behavior({ policies, tolerance: "-0.1" }),
    }),
  ).toMatchSnapshot("create");
  await api.create(path, scaler({}));
  expect(
    await refusedChanges(api, `${path}/a`, {
      maximum: { spec: { maxReplicas: 0 } },
      target: { spec: { scaleTargetRef: { apiVersion: "v1" } } },
    }),
  ).toMatchSnapshot("update");
  expect(
    await refusedChanges(api, `${path}/a/status`, { replicas: { status: { currentReplicas: -1, desiredReplicas: -1 } } }),
  ).toMatchSnapshot("status");
});

test("runtime classes and leases are validated", async ({ api, namespace }) => {
  const path = "/apis/node.k8s.io/v1/runtimeclasses";
  const runtime = (fields: object): object => named({ handler: "runc", ...fields });
  expect(
    await refusals(api, path, {
      "no handler": named({}),
      handler: runtime({ handler: "A_" }),
      overhead: runtime({ overhead: { podFixed: { bananas: "-1" } } }),
      "node selector": runtime({ scheduling: { nodeSelector: { "a b": "c d" } } }),
      tolerations: runtime({ scheduling: { tolerations: [{ operator: "Is" }] } }),
      "tolerations twice": runtime({
        scheduling: {
          tolerations: [
            { key: "a", operator: "Exists" },
            { key: "a", operator: "Exists" },
          ],
        },
      }),
    }),
  ).toMatchSnapshot("runtime classes");
  await api.create(path, { metadata: { name: namespace }, handler: "runc" });
  const classPath = `${path}/${namespace}`;
  const { metadata } = (await api.get(classPath)).body;
  const { resourceVersion } = metadata as { resourceVersion: string };
  expect(await refusedChanges(api, classPath, { handler: { metadata: { resourceVersion }, handler: "kata" } })).toMatchSnapshot(
    "update of a runtime class",
  );
  await api.delete(classPath);
  expect(
    await refusals(api, `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
      numbers: named({ spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }),
      "preferred holder": named({ spec: { preferredHolder: "a" } }),
    }),
  ).toMatchSnapshot("leases");
});
