import { expect, test } from "vitest";
import type { ApiObject } from "./kind.ts";
import { modernEventKind } from "./event/events-group.ts";
import { olderAutoscalerKind } from "./plain/autoscaling-v1.ts";

const metadata = { name: "a", namespace: "default" };

function object(fields: object): ApiObject {
  return { kind: "", apiVersion: "", metadata, ...fields } as ApiObject;
}

test("an autoscaler survives the way to autoscaling/v1 and back", () => {
  const spec = {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [
      { type: "Pods", pods: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "1" } } },
      { type: "External", external: { metric: { name: "q" }, target: { type: "Value", value: "5" } } },
      { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
    ],
    behavior: { scaleUp: { stabilizationWindowSeconds: 0, policies: [{ type: "Pods", value: 4, periodSeconds: 15 }] } },
  };
  const status = {
    currentReplicas: 2,
    desiredReplicas: 3,
    currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 7, averageValue: "70m" } } }],
    conditions: [{ type: "AbleToScale", status: "True", lastTransitionTime: "2024-01-02T03:04:05Z" }],
  };
  const older = olderAutoscalerKind.conversion?.fromStorage(object({ spec, status }));
  const newer = older === undefined ? undefined : olderAutoscalerKind.conversion?.toStorage(older);

  expect(older?.["status"]).toEqual({ currentReplicas: 2, desiredReplicas: 3, currentCPUUtilizationPercentage: 7 });
  expect(older?.["spec"].targetCPUUtilizationPercentage).toBe(50);
  expect(newer).toMatchObject({ apiVersion: "autoscaling/v2", metadata, spec, status });
  expect(newer?.metadata).not.toHaveProperty("annotations");
});

test.each([
  "{",
  "null",
  '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"NaN"}}]',
  '[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":1.5}}]',
])("annotations of a client that nobody can read are ignored: %s", (text) => {
  const annotations = { "autoscaling.alpha.kubernetes.io/metrics": text, mine: "1" };
  const newer = olderAutoscalerKind.conversion?.toStorage(object({ metadata: { ...metadata, annotations }, spec: { maxReplicas: 1 } }));

  expect(newer?.metadata.annotations).toEqual({ mine: "1" });
  expect(newer?.["spec"].metrics).toEqual([
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
  ]);
});

test("the behaviour of an annotation is read in any case, and rules that are not there are the defaults", () => {
  const annotations = { "autoscaling.alpha.kubernetes.io/behavior": '{"scaleup":{"selectpolicy":"Min"}}' };
  const newer = olderAutoscalerKind.conversion?.toStorage(object({ metadata: { ...metadata, annotations }, spec: { maxReplicas: 1 } }));

  expect(newer?.["spec"].behavior).toEqual({
    scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: "Min" },
    scaleDown: { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
  });
});

test("a metric of an annotation that is null has no type", () => {
  const annotations = { "autoscaling.alpha.kubernetes.io/metrics": "[null]" };
  const newer = olderAutoscalerKind.conversion?.toStorage(object({ metadata: { ...metadata, annotations }, spec: { maxReplicas: 1 } }));

  expect(newer?.["spec"].metrics).toEqual([{ type: "" }]);
});

test("an event has the fields of both groups under their names", () => {
  const core = object({
    involvedObject: { name: "p" },
    message: "m",
    count: 2,
    firstTimestamp: "2024-01-02T03:04:05Z",
    reportingComponent: "c",
  });
  const modern = modernEventKind.conversion?.fromStorage(core);
  const back = modern === undefined ? undefined : modernEventKind.conversion?.toStorage(modern);

  expect(modern).toMatchObject({
    apiVersion: "events.k8s.io/v1",
    regarding: { name: "p" },
    note: "m",
    deprecatedCount: 2,
    deprecatedFirstTimestamp: "2024-01-02T03:04:05Z",
    reportingController: "c",
  });
  expect(back).toMatchObject({ apiVersion: "v1", involvedObject: { name: "p" }, message: "m", count: 2, reportingComponent: "c" });
});
