import { expect } from "vitest";
import { test } from "./support/parity-test.ts";

// Kinds that can be read and written in two versions or groups.

const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "none" };
const event = {
  reason: "Started",
  type: "Normal",
  note: "it started",
  action: "Start",
  eventTime: "2024-02-29T23:59:58.012345Z",
  reportingController: "example.com/controller",
  reportingInstance: "controller-0",
};

test("an autoscaler of autoscaling/v2 is read in v1, with annotations for what v1 lacks", async ({ api, namespace }) => {
  const newer = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
  const older = newer.replace("v2", "v1");
  await api.create(newer, {
    metadata: { name: "a", annotations: { mine: "1" } },
    spec: {
      scaleTargetRef,
      maxReplicas: 3,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
        { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "500Mi" } } },
        {
          type: "Pods",
          pods: {
            metric: { name: "requests", selector: { matchLabels: { a: "b" } } },
            target: { type: "AverageValue", averageValue: "1k" },
          },
        },
        {
          type: "Object",
          object: {
            describedObject: { apiVersion: "v1", kind: "Service", name: "s" },
            metric: { name: "load" },
            target: { type: "Value", value: "10" },
          },
        },
        { type: "External", external: { metric: { name: "queue" }, target: { type: "AverageValue", averageValue: "30" } } },
        {
          type: "ContainerResource",
          containerResource: { name: "cpu", container: "main", target: { type: "Utilization", averageUtilization: 60 } },
        },
      ],
      behavior: { scaleDown: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } },
    },
  });
  const { body } = await api.get(`${older}/a`);

  expect(body).toMatchObject({ apiVersion: "autoscaling/v1", kind: "HorizontalPodAutoscaler" });
  expect([body.metadata.annotations, body.spec, body.status]).toMatchSnapshot();
});

test("an autoscaler of autoscaling/v1 is read in v2 and changed in both", async ({ api, namespace }) => {
  const newer = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
  const older = newer.replace("v2", "v1");
  const created = await api.post(older, {
    metadata: {
      name: "a",
      annotations: {
        "autoscaling.alpha.kubernetes.io/metrics": '[{"type":"Pods","pods":{"metricName":"requests","targetAverageValue":"1k"}}]',
        "autoscaling.alpha.kubernetes.io/behavior": "not JSON",
      },
    },
    spec: { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 70 },
  });
  const plain = await api.create(older, { metadata: { name: "b" }, spec: { scaleTargetRef, maxReplicas: 3 } });
  const inNewer = await api.get(`${newer}/a`);
  const patched = await api.patch("merge", `${older}/a`, { spec: { targetCPUUtilizationPercentage: 60 } });
  const changed = await api.patch("json", `${newer}/a`, [{ op: "remove", path: "/spec/metrics/0" }]);
  const refused = await api.post(older, { metadata: { name: "c" }, spec: { scaleTargetRef, maxReplicas: 0 } });
  const defaulted = await api.get(`${newer}/b`);

  expect([created.status, created.body.metadata.annotations, created.body.spec]).toMatchSnapshot("created");
  expect(plain.spec).toEqual({ scaleTargetRef, minReplicas: 1, maxReplicas: 3, targetCPUUtilizationPercentage: 80 });
  expect([inNewer.body.metadata.annotations, inNewer.body.spec]).toMatchSnapshot("in v2");
  expect(defaulted.body.spec.metrics).toMatchSnapshot("default");
  expect([patched.status, patched.body.spec.targetCPUUtilizationPercentage]).toEqual([200, 60]);
  expect(changed.body.spec.metrics).toEqual([
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
  ]);
  expect([refused.status, refused.body.message]).toMatchSnapshot("refused");
});

test("the metrics of autoscaling/v1 come from its field and from its annotation", async ({ api, namespace }) => {
  const newer = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
  const older = newer.replace("v2", "v1");
  const cpu = (utilization: number): object => ({ type: "Resource", resource: { name: "cpu", targetAverageUtilization: utilization } });
  const memory = { type: "Resource", resource: { name: "memory", targetAverageValue: "5Mi" } };
  const value = { type: "Resource", resource: { name: "cpu", targetAverageValue: "100m" } };
  const cases: Readonly<Record<string, readonly [metrics: readonly object[] | undefined, field: number | undefined]>> = {
    same: [[cpu(50)], 50],
    other: [[cpu(50)], 60],
    "in-annotation": [[cpu(50)], undefined],
    twice: [[cpu(50), cpu(40)], 60],
    "before-others": [[cpu(50), memory], 60],
    "after-others": [[memory, cpu(50)], 60],
    "value-and-field": [[value], 60],
    "only-value": [[value], undefined],
    "only-others": [[memory], undefined],
    "empty-annotation": [[], undefined],
    "empty-annotation-and-field": [[], 60],
    nothing: [undefined, undefined],
  };
  const seen: Record<string, unknown> = {};
  for (const [name, [metrics, targetCPUUtilizationPercentage]] of Object.entries(cases)) {
    const annotations = metrics === undefined ? {} : { "autoscaling.alpha.kubernetes.io/metrics": JSON.stringify(metrics) };
    const spec = { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage };
    const created = await api.post(older, { metadata: { name, annotations }, spec });
    const read = await api.get(`${newer}/${name}`);
    const changed = await api.patch("merge", `${older}/${name}`, { spec: { targetCPUUtilizationPercentage: 70 } });
    const { body } = await api.get(`${newer}/${name}`);
    const replaced = await api.put(`${older}/${name}`, { metadata: { name, annotations }, spec: { ...spec, maxReplicas: 4 } });
    const last = await api.get(`${newer}/${name}`);
    seen[name] = {
      created: created.status === 201 ? [created.body.metadata.annotations, created.body.spec.targetCPUUtilizationPercentage] : created,
      read: [read.body.spec?.metrics, read.body.metadata?.annotations],
      changed: [changed.status, changed.body.spec?.targetCPUUtilizationPercentage, changed.body.metadata?.annotations, body.spec?.metrics],
      replaced: [replaced.status, replaced.body.metadata?.generation, last.body.spec?.metrics, last.body.metadata?.annotations],
    };
  }
  expect(seen).toMatchSnapshot();
});

test("annotations of autoscaling/v1 that cannot be decoded are ignored, and others are validated", async ({ api, namespace }) => {
  const path = `/apis/autoscaling/v1/namespaces/${namespace}/horizontalpodautoscalers`;
  const resource = (target: string): string => `[{"type":"Resource","resource":{"name":"cpu",${target}}}]`;
  const seen: Record<string, unknown> = {};
  for (const [name, annotation, text] of [
    ["null", "metrics", "[null]"],
    ["quantity", "metrics", resource(`"targetAverageValue":"NaN"`)],
    ["large", "metrics", resource(`"targetAverageUtilization":9007199254740993`)],
    ["fraction", "metrics", resource(`"targetAverageUtilization":1.5`)],
    ["rules", "behavior", `{"scaleup":{"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}]}}`],
    ["policies", "behavior", `{"scaleUp":{"stabilizationWindowSeconds":5}}`],
    ["list", "behavior", "[]"],
  ] as const) {
    const annotations = { [`autoscaling.alpha.kubernetes.io/${annotation}`]: text };
    const { status, body } = await api.post(path, { metadata: { name, annotations }, spec: { scaleTargetRef, maxReplicas: 3 } });
    seen[name] = status === 201 ? [body.metadata.annotations, body.spec.targetCPUUtilizationPercentage] : [status, body.message];
  }
  expect(seen).toMatchSnapshot();
});

test("events of both groups are the same events", async ({ api, core, namespace }) => {
  const modern = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  using watch = await api.watch(`${core}/events?fieldSelector=involvedObject.name=b&resourceVersion=0`);
  const created = await api.post(modern, {
    ...event,
    metadata: { name: "a" },
    regarding: { kind: "Pod", name: "b", namespace },
    series: { count: 2, lastObservedTime: "2024-02-29T23:59:59.000000Z" },
  });
  await api.create(`${core}/events`, {
    metadata: { name: "c" },
    involvedObject: { kind: "Pod", name: "d", namespace },
    reason: "Old",
    message: "old",
    source: { component: "x", host: "y" },
    firstTimestamp: "2024-01-01T00:00:00Z",
    lastTimestamp: "2024-01-02T00:00:00Z",
    count: 3,
    type: "Warning",
  });
  const [seen] = await watch.take(1);
  const old = await api.get(`${modern}/c`);
  const selected = await api.get(`${modern}?fieldSelector=regarding.name=b,reportingController=example.com/controller`);
  const unknown = await api.get(`${modern}?fieldSelector=involvedObject.name=b`);
  const table = await api.get(`${modern}/c`, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
  const deleted = await api.delete(`${modern}/a`);

  const withoutMetadata = ({ metadata: _metadata, ...fields }: Record<string, unknown>): unknown => fields;
  expect([created.status, withoutMetadata(created.body)]).toMatchSnapshot("created");
  expect(withoutMetadata(seen?.object)).toMatchSnapshot("watched in v1");
  expect(withoutMetadata(old.body)).toMatchSnapshot("old event");
  expect(selected.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(["a"]);
  expect([unknown.status, unknown.body.message]).toMatchSnapshot("unknown selector");
  expect(table.body.rows[0].cells.slice(1, 7)).toMatchSnapshot("table");
  expect([deleted.status, (await api.get(`${core}/events/a`)).status]).toEqual([200, 404]);
});

test("events of events.k8s.io are validated more strictly", async ({ api, core, namespace }) => {
  const modern = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const regarding = { kind: "Pod", name: "b", namespace };
  const post = async (fields: object): Promise<unknown> => {
    const { status, body } = await api.post(modern, { metadata: { name: "x" }, regarding, ...fields });
    return [status, body.message];
  };
  await api.create(modern, { ...event, metadata: { name: "a" }, regarding });
  const change = async (path: string, fields: object): Promise<unknown> => {
    const { status, body } = await api.patch("merge", `${path}/a`, fields);
    return [status, body.message];
  };

  expect(await post({})).toMatchSnapshot("without fields");
  expect(await post({ ...event, type: "Other", deprecatedCount: 1, deprecatedSource: { component: "x" } })).toMatchSnapshot("old fields");
  expect(await post({ ...event, reportingController: "", action: "", series: { count: 1 } })).toMatchSnapshot("missing fields");
  expect(await change(modern, { reason: "Other", note: "other" })).toMatchSnapshot("changed");
  expect(await change(modern, { series: { count: 2, lastObservedTime: "2024-02-29T23:59:59.000000Z" } })).toEqual([200, undefined]);
  expect(await change(`${core}/events`, { reason: "Other" })).toEqual([200, "it started"]);
});
