import { afterEach, describe, expect, test } from "vitest";
import { customResourceDefinitionKind } from "../../custom-resources/crd-kind.ts";
import { horizontalPodAutoscalerKind } from "../../kinds/plain/autoscaling.ts";
import { serviceKind } from "../../kinds/service/service.ts";
import { deploymentKind } from "../../kinds/workload/deployment.ts";
import type { MetricsSource } from "../../metrics/metrics-source.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

let world: World | undefined;

afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  world = undefined;
});

/** A cluster with the deployment `d`, whose pods run and request 100m each, and its autoscaler `a`. */
async function scaledWorld(metrics: MetricsSource, spec: object, replicas: number = 2): Promise<World> {
  world = await startWorld({ metrics });
  world.addNode("n1", { allocatable: { cpu: "64", memory: "64Gi", pods: "200" } });
  world.playKubelet();
  const labels = { app: "d" };
  world.cluster.create(deploymentKind, {
    metadata: { name: "d", namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "100m", memory: "64Mi" } } }] },
      },
    },
  });
  await world.settle();
  for (const { metadata } of world.pods()) started(world, metadata.name);
  world.cluster.create(horizontalPodAutoscalerKind, {
    metadata: { name: "a", namespace: "default" },
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, minReplicas: 1, maxReplicas: 10, ...spec },
  });
  return world;
}

/** Writes that the pod started long ago, so that its usage counts. */
function started({ cluster }: World, name: string): void {
  const pods = cluster.kinds().find(({ plural, group }) => plural === "pods" && group === "");
  if (pods === undefined) throw new Error("no pods");
  const longAgo = "2020-01-01T00:00:00Z";
  cluster.update(
    pods,
    "default",
    name,
    (pod) => ({
      ...pod,
      status: { ...pod["status"], startTime: longAgo, conditions: [{ type: "Ready", status: "True", lastTransitionTime: longAgo }] },
    }),
    "status",
  );
}

function replicas({ cluster }: World): number {
  return cluster.get(deploymentKind, "default", "d")?.["spec"].replicas as number;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the status of an autoscaler
function status({ cluster }: World): any {
  return cluster.get(horizontalPodAutoscalerKind, "default", "a")?.["status"];
}

function conditions(of: World): Record<string, string> {
  const list = (status(of).conditions ?? []) as { type: string; status: string; reason: string; message: string }[];
  return Object.fromEntries(list.map((one) => [one.type, `${one.status} ${one.reason}: ${one.message}`]));
}

const cpu = (averageUtilization: number): object => ({
  metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } }],
});

describe("usage of resources", () => {
  test("scales up to what the pods use, after the first 15 seconds, and says so", async () => {
    const here = await scaledWorld({ container: () => ({ cpu: "150m", memory: "32Mi" }) }, cpu(50));
    await here.pass(14);
    expect(replicas(here)).toBe(2);
    await here.pass(1);
    expect(replicas(here)).toBe(4);
    expect(here.eventsOf("a")).toEqual(["New size: 4; reason: cpu resource utilization (percentage of request) above target"]);
    expect(conditions(here)).toEqual({
      AbleToScale: "True SucceededRescale: the HPA controller was able to update the target scale to 4",
      ScalingActive:
        "True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)",
      ScalingLimited: "True ScaleUpLimit: the desired replica count is increasing faster than the maximum scale rate",
    });
    expect(status(here)).toMatchObject({
      currentReplicas: 2,
      desiredReplicas: 4,
      currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 150, averageValue: "150m" } } }],
    });
  });

  test("scales down only after five minutes of lower recommendations", async () => {
    let usage = "100m";
    const here = await scaledWorld({ container: () => ({ cpu: usage }) }, cpu(100), 4);
    await here.pass(15);
    expect(conditions(here)["AbleToScale"]).toBe("True ReadyForNewScale: recommended size matches current size");
    usage = "25m";
    await here.pass(290);
    expect(replicas(here)).toBe(4);
    expect(conditions(here)["AbleToScale"]).toBe(
      "True ScaleDownStabilized: recent recommendations were higher than current one, applying the highest recent recommendation",
    );
    await here.pass(30);
    expect(replicas(here)).toBe(1);
    expect(here.eventsOf("a")).toEqual(["New size: 1; reason: All metrics below target"]);
  });

  test("changes nothing within the tolerance, or within one of its own", async () => {
    const here = await scaledWorld({ container: () => ({ cpu: "109m" }) }, cpu(100));
    await here.pass(15);
    expect(replicas(here)).toBe(2);
    expect(status(here)).toMatchObject({ currentReplicas: 2, desiredReplicas: 2 });
    const { cluster } = here;
    cluster.update(horizontalPodAutoscalerKind, "default", "a", (autoscaler) => ({
      ...autoscaler,
      spec: { ...autoscaler["spec"], behavior: { scaleUp: { tolerance: "0.05" } } },
    }));
    await here.pass(15);
    expect(replicas(here)).toBe(3);
  });

  test("policies limit how fast it scales", async () => {
    const behavior = { scaleUp: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } };
    const here = await scaledWorld({ container: () => ({ cpu: "400m" }) }, { ...cpu(50), behavior });
    await here.pass(15);
    expect(replicas(here)).toBe(3);
    await here.pass(30);
    expect(replicas(here)).toBe(3);
    expect(conditions(here)["ScalingLimited"]).toBe(
      "True ScaleUpLimit: the desired replica count is increasing faster than the maximum scale rate",
    );
    await here.pass(45);
    expect(replicas(here)).toBe(4);
  });

  test("says why it cannot compute replicas", async () => {
    const here = await scaledWorld({}, cpu(50));
    await here.pass(15);
    const problem =
      "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
    expect(here.eventsOf("a")).toEqual([
      problem,
      `invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${problem}`,
    ]);
    expect(conditions(here)["ScalingActive"]).toBe(
      `False FailedGetResourceMetric: the HPA was unable to compute the replica count: ${problem}`,
    );
  });

  test("names the container that requests nothing", async () => {
    const metric = { type: "Resource", resource: { name: "ephemeral-storage", target: { type: "Utilization", averageUtilization: 50 } } };
    const here = await scaledWorld({ container: () => ({ "ephemeral-storage": "1Gi" }) }, { metrics: [metric] });
    await here.pass(15);
    expect(here.eventsOf("a")[0]).toMatch(
      /^failed to get ephemeral-storage utilization: missing request for ephemeral-storage in container c of Pod d-/,
    );
  });
});

describe("other metrics", () => {
  test("an average of a custom metric of the pods", async () => {
    const metric = { type: "Pods", pods: { metric: { name: "requests" }, target: { type: "AverageValue", averageValue: "10" } } };
    const here = await scaledWorld(
      { custom: (name, { kind }) => (name === "requests" && kind === "Pod" ? "15" : undefined) },
      { metrics: [metric] },
    );
    await here.pass(15);
    expect(replicas(here)).toBe(3);
    expect(status(here).currentMetrics).toEqual([
      { type: "Pods", pods: { metric: { name: "requests" }, current: { averageValue: "15" } } },
    ]);
  });

  test("a value of another object", async () => {
    const describedObject = { kind: "Service", name: "s", apiVersion: "v1" };
    const metric = { type: "Object", object: { describedObject, metric: { name: "depth" }, target: { type: "Value", value: "10" } } };
    const here = await scaledWorld({ custom: () => "20" }, { metrics: [metric] });
    here.cluster.create(serviceKind, { metadata: { name: "s", namespace: "default" }, spec: { ports: [{ port: 80 }] } });
    await here.pass(15);
    expect(replicas(here)).toBe(4);
    expect(here.eventsOf("a")).toEqual(["New size: 4; reason: Service metric depth above target"]);
  });

  test("an external metric divided among the pods, and the highest of several demands", async () => {
    const external = { metric: { name: "queue" }, target: { type: "AverageValue", averageValue: "30" } };
    const here = await scaledWorld(
      { container: () => ({ cpu: "100m" }), external: () => ["50", "40"] },
      {
        metrics: [...(cpu(100) as { metrics: object[] }).metrics, { type: "External", external }],
      },
    );
    await here.pass(15);
    expect(replicas(here)).toBe(3);
    expect(here.eventsOf("a")).toEqual(["New size: 3; reason: external metric queue(nil) above target"]);
  });
});

describe("targets", () => {
  test("are brought within their bounds without metrics, and left alone at zero", async () => {
    const here = await scaledWorld({}, { minReplicas: 3 });
    await here.pass(15);
    expect(replicas(here)).toBe(3);
    expect(here.eventsOf("a")).toEqual(["New size: 3; reason: Current number of replicas below Spec.MinReplicas"]);
    here.cluster.update(deploymentKind, "default", "d", (deployment) => ({ ...deployment, spec: { ...deployment["spec"], replicas: 0 } }));
    await here.pass(15);
    expect(replicas(here)).toBe(0);
    expect(conditions(here)["ScalingActive"]).toBe(
      "False ScalingDisabled: scaling is disabled since the replica count of the target is zero",
    );
  });

  test("that do not exist or cannot be scaled are reported", async () => {
    const here = await scaledWorld({}, { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "none" } });
    await here.pass(15);
    expect(conditions(here)["AbleToScale"]).toBe(
      `False FailedGetScale: the HPA controller was unable to get the target's current scale: deployments.apps "none" not found`,
    );
  });

  test("can be custom resources with a scale", async () => {
    world = await startWorld();
    const { cluster } = world;
    cluster.create(customResourceDefinitionKind, {
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        names: { kind: "Widget", plural: "widgets" },
        scope: "Namespaced",
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
            subresources: { status: {}, scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } },
          },
        ],
      },
    });
    await world.settle();
    const widgets = cluster.kinds().find(({ plural }) => plural === "widgets");
    if (widgets === undefined) throw new Error("no widgets");
    cluster.create(widgets, {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "w", namespace: "default" },
      spec: { size: 9 },
    });
    cluster.create(horizontalPodAutoscalerKind, {
      metadata: { name: "a", namespace: "default" },
      spec: { scaleTargetRef: { apiVersion: "example.com/v1", kind: "Widget", name: "w" }, maxReplicas: 5 },
    });
    await world.pass(15);
    expect(cluster.get(widgets, "default", "w")?.["spec"]).toEqual({ size: 5 });
  });

  test("that two autoscalers claim are scaled by neither", async () => {
    const here = await scaledWorld({ container: () => ({ cpu: "50m" }) }, cpu(50));
    here.cluster.create(horizontalPodAutoscalerKind, {
      metadata: { name: "b", namespace: "default" },
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3, ...cpu(50) },
    });
    await here.pass(31);
    expect(here.eventsOf("b")[0]).toBe("pods by selector app=d are controlled by multiple HPAs: [{default a} {default b}]");
  });
});
