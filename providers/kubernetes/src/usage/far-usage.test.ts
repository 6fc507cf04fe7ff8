import { VirtualClock } from "@virtual-kubelet/clock";
import { isUnsupported } from "@virtual-kubelet/errdefs";
import type { Pod } from "@virtual-kubelet/kube-client";
import { createKubeClient, silentLogger } from "@virtual-kubelet/kube-client";
import { ScriptedTransport, type ScriptedAnswer } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import type { KubernetesConfig } from "../config.ts";
import { namespaceMap } from "../identity/namespaces.ts";
import { farMetadata } from "../test-support/far-metadata.ts";
import { FarFigures } from "./far-figures.ts";
import { FarUsage } from "./far-usage.ts";

const idle = new AbortController().signal;
const owner = { clusterId: "home", nodeName: "vk" };
const time = "2026-03-01T10:00:00Z";
const proxyPath = (node: string): string => `/api/v1/nodes/${node}/proxy/stats/summary`;

/** The far pod of the home pod `default/NAME` with the UID `uid-NAME`, on a far node. */
function farPod(name: string, nodeName: string): Pod {
  return {
    metadata: farMetadata(owner, { namespace: "default", name, uid: `uid-${name}` }),
    spec: { nodeName, containers: [{ name: "main" }] },
    status: {
      phase: "Running",
      startTime: time,
      containerStatuses: [
        {
          name: "main",
          image: "x",
          imageID: "x",
          ready: true,
          restartCount: 0,
          containerID: "c://1",
          state: { running: { startedAt: time } },
        },
      ],
    },
  };
}

/** A kubelet's figures of far pods. */
function summary(...names: readonly string[]): ScriptedAnswer {
  const cpu = { time, usageNanoCores: 5, usageCoreNanoSeconds: 50 };
  const containers = [{ name: "main", startTime: time, cpu, memory: { time, workingSetBytes: 4096 } }];
  const pods = names.map((name) => ({
    podRef: { name, namespace: "far", uid: `far-${name}` },
    startTime: time,
    containers: [...containers],
  }));
  return { body: { node: { nodeName: "n1", startTime: time }, pods } };
}

/** The metrics API's figures of far pods. */
function podMetrics(timestamp: string, cpu: string, ...names: readonly string[]): ScriptedAnswer {
  const items = names.map((name) => ({
    metadata: { namespace: "far", name: farPod(name, "").metadata?.name },
    timestamp,
    window: "15.5s",
    containers: [{ name: "main", usage: { cpu, memory: "4Ki" } }],
  }));
  return { body: { kind: "PodMetricsList", apiVersion: "metrics.k8s.io/v1beta1", items } };
}

const forbidden: ScriptedAnswer = { status: 403, body: { kind: "Status", code: 403, message: "nodes is forbidden" } };

function rig(
  answer: (path: string) => ScriptedAnswer | Promise<ScriptedAnswer>,
  { usage = "auto", pods = [farPod("web", "n1")] }: { readonly usage?: KubernetesConfig["usage"]; readonly pods?: readonly Pod[] } = {},
) {
  const clock = new VirtualClock();
  const events: string[] = [];
  const transport = new ScriptedTransport(({ path }) => answer(path));
  const figures = new FarFigures(createKubeClient(transport, { clock }), clock);
  const node = {
    owner,
    namespaces: namespaceMap({ mode: "one", name: "far" }, undefined),
    config: { usage },
    host: {
      clock,
      logger: silentLogger,
      recordNodeEvent: ({ reason, message }: { readonly reason: string; readonly message: string }) =>
        void events.push(`${reason}: ${message}`),
      findPod: () => ({ spec: { containers: [], volumes: [{ name: "data", persistentVolumeClaim: { claimName: "mine" } }] } }),
    },
    far: { podsOf: () => pods },
  };
  const farUsage = new FarUsage(node, figures);
  return { clock, transport, figures, events, usage: farUsage, paths: () => transport.requests.map(({ path }) => path) };
}

test("each far kubelet is asked once in ten seconds, and its pods have their names of home", async () => {
  const { usage, paths, clock } = rig((path) => (path === proxyPath("n1") ? summary("web", "of-somebody-else") : summary("db")), {
    pods: [farPod("web", "n1"), farPod("db", "n2")],
  });

  const first = await usage.summary(idle);
  await usage.summary(idle);

  expect(first.pods.map(({ podRef }) => podRef)).toEqual([
    { namespace: "default", name: "web", uid: "uid-web" },
    { namespace: "default", name: "db", uid: "uid-db" },
  ]);
  expect(first.pods[0]?.containers[0]).toMatchObject({ cpu: { usageCoreNanoSeconds: 50 }, memory: { workingSetBytes: 4096 } });
  expect([first.incomplete, paths()]).toEqual([undefined, [proxyPath("n1"), proxyPath("n2")]]);
  await clock.advance(10_000);
  await usage.summary(idle);
  expect(paths()).toHaveLength(4);
});

test("a far node that fails leaves only its own pods out, and is named", async () => {
  const { usage } = rig((path) => (path === proxyPath("n1") ? summary("web") : { status: 503, body: {} }), {
    pods: [farPod("web", "n1"), farPod("db", "n2")],
  });

  const { pods, incomplete } = await usage.summary(idle);

  expect(pods.map(({ podRef }) => podRef.name)).toEqual(["web"]);
  expect(incomplete).toMatch(/^far node n2: /);
});

test("a far node that hangs delays nobody for more than five seconds, and its answer is there for the next reader", async () => {
  const late = Promise.withResolvers<ScriptedAnswer>();
  const { usage, clock } = rig(() => late.promise);
  const reading = usage.summary(idle);
  await clock.advance(5_000);

  expect(await reading).toEqual({ pods: [], incomplete: "far node n1: no figures within 5 s" });
  late.resolve(summary("web"));
  await clock.settle();
  expect((await usage.summary(idle)).pods).toHaveLength(1);
});

test.each([
  ["a page of somebody else", "<html>"],
  ["another object", { kind: "Status", status: "Success" }],
  ["pods that are none", { pods: "none" }],
])("%s is no summary", async (_what, body) => {
  const { usage } = rig(() => ({ body }));

  const { pods, incomplete } = await usage.summary(idle);

  expect([pods, incomplete]).toEqual([[], expect.stringContaining("far node n1: ")]);
});

test("of a pod whose figures are no numbers nothing is shown, and of those beside it everything", async () => {
  const { usage } = rig(
    () => {
      const { body } = summary("web", "db") as { body: { pods: { containers: object[] }[] } };
      body.pods[0]?.containers.splice(0, 1, { name: "main", startTime: time, memory: { time, workingSetBytes: "many" } });
      return { body };
    },
    { pods: [farPod("web", "n1"), farPod("db", "n1")] },
  );

  expect((await usage.summary(idle)).pods.map(({ podRef, containers }) => [podRef.name, containers.length])).toEqual([
    ["web", 0],
    ["db", 1],
  ]);
});

test("a pod that is not measured yet has no figures, so that the node does not look idle", async () => {
  const { usage, events } = rig(() => podMetrics(time, "100m"), { usage: "metrics-api" });

  expect(await usage.summary(idle)).toEqual({
    pods: [{ podRef: { namespace: "default", name: "web", uid: "uid-web" }, startTime: time, containers: [] }],
  });
  expect(events).toEqual([]);
});

test("the claim of a volume has its name of home", async () => {
  const { usage } = rig(() => {
    const { body } = summary("web") as { body: { pods: object[] } };
    const volume = [{ name: "data", time, usedBytes: 7, pvcRef: { name: "mine-far", namespace: "far" } }];
    return { body: { pods: body.pods.map((pod) => ({ ...pod, volume })) } };
  });

  expect((await usage.summary(idle)).pods[0]?.volume).toEqual([
    expect.objectContaining({ usedBytes: 7, pvcRef: { name: "mine", namespace: "default" } }),
  ]);
});

test("without the right to the kubelets auto reads the metrics API, and tries the kubelets again after five minutes", async () => {
  const { usage, clock, paths } = rig((path) => (path.startsWith("/api/v1/nodes") ? forbidden : podMetrics(time, "100m", "web")));

  const { pods, incomplete } = await usage.summary(idle);
  await usage.summary(idle);

  expect(incomplete).toBeUndefined();
  expect(pods[0]).toMatchObject({
    podRef: { name: "web", namespace: "default", uid: "uid-web" },
    containers: [{ name: "main", startTime: time, cpu: { usageNanoCores: 100_000_000 }, memory: { workingSetBytes: 4096 } }],
  });
  expect(paths()).toEqual([
    proxyPath("n1"),
    "/apis/metrics.k8s.io/v1beta1/namespaces/far/pods?labelSelector=virtual-kubelet.io%2Fcluster%3Dhome",
  ]);
  await clock.advance(300_000);
  await usage.summary(idle);
  expect(paths().slice(2)).toContain(proxyPath("n1"));
});

test("rates of the metrics API add up to the processor time of a counter", async () => {
  let answer = podMetrics("2026-03-01T10:00:00Z", "100m", "web");
  const { usage, clock } = rig(() => answer, { usage: "metrics-api" });
  const used = async (): Promise<number | undefined> => (await usage.summary(idle)).pods[0]?.containers[0]?.cpu?.usageCoreNanoSeconds;

  expect(await used()).toBe(1_550_000_000);
  await clock.advance(10_000);
  expect(await used()).toBe(1_550_000_000);
  answer = podMetrics("2026-03-01T10:00:15Z", "1", "web");
  await clock.advance(10_000);
  expect(await used()).toBe(16_550_000_000);
});

test.each<[what: string, usage: KubernetesConfig["usage"], metricsApi: ScriptedAnswer, why: RegExp]>([
  ["the right to the kubelets", "kubelets", forbidden, /does not allow get nodes\/proxy.*manifests far/],
  ["a metrics API", "metrics-api", { status: 404, body: {} }, /no metrics API: install metrics-server there/],
  ["a metrics API and the right to the kubelets", "auto", { status: 404, body: {} }, /no metrics API: install metrics-server there/],
  ["any right", "auto", forbidden, /does not allow list pods of metrics\.k8s\.io; apply what virtual-kubelet manifests far prints/],
])("without %s there are no figures, and an event of the node says why, once", async (_what, setting, metricsApi, why) => {
  const { usage, clock, events } = rig((path) => (path.startsWith("/api/v1/nodes") ? forbidden : metricsApi), { usage: setting });

  const summary = await usage.summary(idle);
  await clock.advance(10_000);
  await usage.summary(idle);

  expect(summary).toEqual({ pods: [], incomplete: expect.stringMatching(why) });
  expect(events).toEqual([`FarUsageUnavailable: ${summary.incomplete}`]);
});

test("a source that comes and goes is told again", async () => {
  let answer: ScriptedAnswer = { status: 404, body: {} };
  const { usage, clock, events } = rig(() => answer, { usage: "metrics-api" });
  await usage.summary(idle);
  answer = podMetrics(time, "100m", "web");
  await clock.advance(10_000);
  expect((await usage.summary(idle)).incomplete).toBeUndefined();
  answer = { status: 404, body: {} };
  await clock.advance(10_000);

  await usage.summary(idle);

  expect(events).toHaveLength(2);
});

test("a metrics API that is away for a moment is no event", async () => {
  const { usage, events } = rig(() => ({ status: 503, body: {} }), { usage: "metrics-api" });

  expect((await usage.summary(idle)).incomplete).toBeDefined();
  expect(events).toEqual([]);
});

test("none asks nobody, and has no figures", async () => {
  const { usage, paths } = rig(() => forbidden, { usage: "none" });

  await expect(usage.summary(idle)).rejects.toSatisfy(isUnsupported);
  expect(paths()).toEqual([]);
});
