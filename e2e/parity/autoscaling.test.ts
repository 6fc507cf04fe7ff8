import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

const template = { metadata: { labels: { a: "b" } }, spec: { schedulerName: "nobody", containers: [{ name: "c", image: "i" }] } };

function autoscaler(name: string, spec: object): object {
  return {
    metadata: { name },
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name }, minReplicas: 2, maxReplicas: 3, ...spec },
  };
}

interface Status {
  readonly conditions?: readonly Condition[];
}

/** Status of an autoscaler after the controller has looked at it, which it first does after 15 seconds. */
async function statusOf(api: Api, path: string, type: string): Promise<Status> {
  let found: Status = {};
  await eventually(
    async () => {
      found = ((await api.get(path)).body as { status: Status }).status;
      expect(found.conditions?.map((one) => one.type)).toContain(type);
    },
    { timeoutMs: 60_000 },
  );
  return found;
}

function conditionsOf({ conditions = [] }: Status): readonly string[] {
  return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`);
}

/** Events of an autoscaler once one has the reason of the last that is expected; the controller writes them after the condition. */
async function eventsOf(api: Api, core: string, name: string, lastReason: string | undefined): Promise<string[]> {
  let events: string[] = [];
  await eventually(async () => {
    events = await readEvents(api, core, name);
    if (lastReason !== undefined) expect(events.map((text) => text.split(":", 1)[0])).toContain(lastReason);
  });
  return events;
}

async function readEvents(api: Api, core: string, name: string): Promise<string[]> {
  const { items } = (await api.get(`${core}/events`)).body as {
    items: { reason: string; message: string; involvedObject: { kind: string; name: string } }[];
  };
  return items
    .filter(({ involvedObject }) => involvedObject.kind === "HorizontalPodAutoscaler" && involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`)
    .toSorted();
}

test("autoscalers report their targets, bring them within their bounds, and miss the metrics APIs", async ({
  api,
  apps,
  core,
  namespace,
}) => {
  const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
  const deployment = (name: string, replicas: number): object => ({
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { ...template, metadata: { labels: { app: name } } },
    },
  });
  for (const [name, replicas] of [
    ["few", 1],
    ["zero", 0],
    ["plain", 2],
    ["custom", 2],
    ["external", 2],
  ] as const)
    await api.create(`${apps}/deployments`, deployment(name, replicas));
  const pods = { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "1" } };
  const external = { metric: { name: "m" }, target: { type: "Value", value: "1" } };
  await api.create(path, autoscaler("few", {}));
  await api.create(path, autoscaler("zero", {}));
  await api.create(path, autoscaler("plain", {}));
  await api.create(path, autoscaler("custom", { metrics: [{ type: "Pods", pods }] }));
  await api.create(path, autoscaler("external", { metrics: [{ type: "External", external }] }));
  await api.create(path, autoscaler("none", {}));
  await api.create(path, autoscaler("unknown", { scaleTargetRef: { apiVersion: "example.com/v1", kind: "Widget", name: "w" } }));
  await api.create(path, autoscaler("unscalable", { scaleTargetRef: { apiVersion: "batch/v1", kind: "CronJob", name: "c" } }));
  const seen: Record<string, unknown> = {};
  for (const [name, type, lastReason] of [
    ["few", "AbleToScale", "SuccessfulRescale"],
    ["zero", "ScalingActive", undefined],
    ["plain", "ScalingActive", "FailedComputeMetricsReplicas"],
    ["external", "ScalingActive", "FailedComputeMetricsReplicas"],
    ["none", "AbleToScale", "FailedGetScale"],
    ["unknown", "AbleToScale", "FailedGetScale"],
    ["unscalable", "AbleToScale", "FailedGetScale"],
  ] as const) {
    const status = await statusOf(api, `${path}/${name}`, type);
    // 15 seconds later the controller counts the new replica.
    if (name === "few") expect(status).toMatchObject({ currentReplicas: 1, desiredReplicas: 2 });
    seen[name] = { conditions: conditionsOf(status), events: await eventsOf(api, core, name, lastReason) };
  }
  expect(seen).toMatchSnapshot();
  expect(conditionsOf(await statusOf(api, `${path}/custom`, "ScalingActive"))[1]).toMatch(
    /^ScalingActive False FailedGetPodsMetric: the HPA was unable to compute the replica count: unable to get metric m: unable to fetch metrics from custom metrics API: /,
  );
  expect((await api.get(`${apps}/deployments/few/scale`)).body).toMatchObject({ spec: { replicas: 2 } });
});
