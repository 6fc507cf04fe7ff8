import { afterEach, expect, test } from "vitest";
import { customResourceDefinitionKind } from "../../custom-resources/crd-kind.ts";
import type { Kind } from "../../kinds/kind.ts";
import { horizontalPodAutoscalerKind } from "../../kinds/plain/autoscaling.ts";
import type { MetricsSource } from "../../metrics/metrics-source.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";
import { allow, deny, startWebhookServer, webhookConfiguration, type WebhookServer } from "../../test-support/webhook-server.ts";

let world: World | undefined;
let errors: unknown[] = [];

afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  world = undefined;
  expect(errors).toEqual([]);
  errors = [];
});

function kindOf({ cluster }: World, plural: string): Kind {
  const kind = cluster.kinds().find((one) => one.plural === plural);
  if (kind === undefined) throw new Error(`no ${plural}`);
  return kind;
}

const widgets = (here: World): Kind => kindOf(here, "widgets");

/** A cluster with the custom resource `w`, which no controller looks after, and its autoscaler `a`. */
async function widgetWorld(source: MetricsSource, metrics: readonly object[], fields: object = {}): Promise<World> {
  errors = [];
  world = await startWorld({ metrics: source, onControllerError: (error) => errors.push(error) });
  const { cluster } = world;
  const scale = { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size", labelSelectorPath: ".status.selector" };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  cluster.create(customResourceDefinitionKind, {
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      names: { kind: "Widget", plural: "widgets" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema, subresources: { scale } }],
    },
  });
  await world.settle();
  cluster.create(widgets(world), {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "w", namespace: "default" },
    spec: { size: 2 },
    status: { selector: "app=w" },
    ...fields,
  });
  const scaleTargetRef = { apiVersion: "example.com/v1", kind: "Widget", name: "w" };
  cluster.create(horizontalPodAutoscalerKind, {
    metadata: { name: "a", namespace: "default" },
    spec: { scaleTargetRef, maxReplicas: 5, ...(metrics.length === 0 ? {} : { metrics }) },
  });
  return world;
}

const external = (name: string, averageValue: string): object => ({
  type: "External",
  external: { metric: { name }, target: { type: "AverageValue", averageValue } },
});

// oxlint-disable-next-line typescript/no-explicit-any -- the status of an autoscaler
const status = ({ cluster }: World): any => cluster.get(horizontalPodAutoscalerKind, "default", "a")?.["status"];
const size = (here: World): unknown => here.cluster.get(widgets(here), "default", "w")?.["spec"].size;
const condition = (here: World, wanted: string): string => {
  const { status: is, reason, message } = status(here).conditions.find(({ type }: { type: string }) => type === wanted);
  return `${is} ${reason}: ${message}`;
};

test("a value divided among no replicas has Go's lowest integer as its average", async () => {
  const here = await widgetWorld({ external: () => ["90"] }, [external("queue", "30")]);
  await here.pass(15);
  expect(size(here)).toBe(3);
  expect(status(here).currentMetrics[0].external.current).toEqual({ averageValue: "-9223372036854775808m" });
});

test.each([
  ["NaN", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ["", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ["1e99999", "unable to parse quantity's suffix"],
])("the value %j of a metric is a problem of the metric", async (value, problem) => {
  const here = await widgetWorld({ external: () => [value] }, [external("queue", "30")]);
  await here.pass(15);
  expect(condition(here, "ScalingActive")).toBe(
    `False FailedGetExternalMetric: the HPA was unable to compute the replica count: unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: ${problem}`,
  );
});

test.each([
  ["1e3", 5],
  ["0.0000000001", 1],
  ["-90", 5],
  ["99999999999999999999999", 5],
])("the value %j of a metric is a number", async (value, wanted) => {
  const here = await widgetWorld({ external: () => [value] }, [external("queue", "30")]);
  await here.pass(330);
  expect(size(here)).toBe(wanted);
});

test("a metric that fails beside another does not prevent scaling up", async () => {
  const metrics = [external("broken", "1"), external("queue", "30")];
  const here = await widgetWorld({ external: (name) => (name === "broken" ? ["NaN"] : ["90"]) }, metrics);
  await here.pass(15);
  expect(size(here)).toBe(3);
  expect(status(here).currentMetrics[0]).toEqual({ type: "" });
});

test("an invalid selector of the target is reported", async () => {
  const here = await widgetWorld({ external: () => ["90"] }, [external("queue", "30")], { status: { selector: "app in (" } });
  await here.pass(15);
  expect(condition(here, "AbleToScale")).toMatch(
    /^False FailedGetScale: .*: failed to parse target selector: couldn't parse the selector string "app in \(": unable to parse requirement: /,
  );
});

/** Calls a webhook for the `scale` of the custom resources. */
function admitScales(here: World, hooks: WebhookServer): void {
  const rules = [{ operations: ["UPDATE"], apiGroups: ["example.com"], apiVersions: ["v1"], resources: ["widgets/scale"] }];
  const webhook = { rules, clientConfig: hooks.clientConfig("/") };
  const kind = kindOf(here, "validatingwebhookconfigurations");
  here.cluster.create(kind, webhookConfiguration("ValidatingWebhookConfiguration", "scales", webhook));
}

async function passReal(here: World, until: () => boolean): Promise<void> {
  await here.pass(15);
  await expect.poll(until).toBe(true);
}

test("replicas are written as a scale, whose webhook the autoscaler waits for", async () => {
  await using hooks = await startWebhookServer({ "/": allow() });
  const here = await widgetWorld({ external: () => ["90"] }, [external("queue", "30")]);
  admitScales(here, hooks);
  await passReal(here, () => status(here).desiredReplicas === 3);
  expect(size(here)).toBe(3);
  expect(hooks.received["/"]?.map(({ request }) => [request.kind.kind, request.subResource, request.object.spec])).toEqual([
    ["Scale", "scale", { replicas: 3 }],
  ]);
  expect(here.eventsOf("a")).toEqual(["New size: 3; reason: external metric queue(nil) above target"]);
  expect(status(here)).toMatchObject({ lastScaleTime: expect.any(String) as string, currentReplicas: 2 });
});

test("a scale that a webhook refuses is reported", async () => {
  await using hooks = await startWebhookServer({ "/": deny({ message: "no" }) });
  const here = await widgetWorld({ external: () => ["90"] }, [external("queue", "30")]);
  admitScales(here, hooks);
  await passReal(here, () => here.eventsOf("a").length > 0);
  expect(size(here)).toBe(2);
  expect(condition(here, "AbleToScale")).toBe(
    'False FailedUpdateScale: the HPA controller was unable to update the target scale: admission webhook "scales.example.com" denied the request: no',
  );
});
