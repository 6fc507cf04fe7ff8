import { VirtualClock } from "@virtual-kubelet/clock";
import type { Provider, StatsSummary } from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { fakeNode, fakePod, fakeRequest } from "../test-support/fake-node.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { StatsRoutes } from "./stats.ts";

const time = "2026-03-01T10:00:00Z";
const summary: StatsSummary = {
  pods: [
    {
      podRef: { namespace: "default", name: "web", uid: "u1" },
      startTime: time,
      network: { time, rxBytes: 5 },
      containers: [{ name: "main", startTime: time, cpu: { time, usageCoreNanoSeconds: 3_000_000_000 }, rootfs: { time, usedBytes: 7 } }],
    },
  ],
};

/** The stats routes of a node whose provider has these methods. */
function rig(provider: NonNullable<Parameters<typeof fakeNode>[0]>["provider"]) {
  const logger = new RecordingLogger();
  const node = fakeNode({ provider: provider ?? {} });
  const routes = new StatsRoutes({ nodes: [node], clock: new VirtualClock(), logger });
  return { routes, logger, ask: (query = "") => fakeRequest({ node, query }) };
}

const answering = (): ReturnType<typeof rig> => rig({ getStatsSummary: async () => summary });
const failing = (error: Error): ReturnType<typeof rig> => rig({ getStatsSummary: () => Promise.reject(error) });

test("a summary with CPU and memory only is returned if exactly that is requested", async () => {
  const { routes, ask } = answering();
  const has = async (query: string): Promise<boolean[]> => {
    const { body } = (await routes.summary(ask(query))) as { body: string };
    return ["rxBytes", "usedBytes", "usageCoreNanoSeconds"].map((field) => body.includes(field));
  };

  expect(await has("only_cpu_and_memory=true")).toEqual([false, false, true]);
  for (const query of ["", "only_cpu_and_memory=false", "only_cpu_and_memory=true&only_cpu_and_memory=true", "only_cpu_and_memory"])
    expect(await has(query), query).toEqual([true, true, true]);
});

test("resource metrics of the provider take precedence over those computed from its summary", async () => {
  const own = { name: "own_figure", help: "h", type: "gauge", samples: [{ value: 4 }] } as const;
  const { routes, ask } = rig({ getStatsSummary: async () => summary, getMetricsResource: async () => [own] });

  const { body } = (await routes.resource(ask())) as { body: string };

  expect(body).toContain("own_figure 4\n");
  expect(body).not.toContain("container_cpu_usage_seconds_total");
});

test("if the provider fails, the metrics show an error, and the log contains the reason", async () => {
  const { routes, logger, ask } = failing(new UnavailableError("the back end is away"));

  expect(await routes.resource(ask())).toMatchObject({
    status: 200,
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    body: expect.stringContaining("resource_scrape_error 1\n"),
  });
  expect(logger.lines).toEqual(["warn the provider's stats could not be read"]);
  expect(logger.fields).toEqual([{ err: "the back end is away" }]);
  await expect(Promise.resolve(routes.summary(ask()))).rejects.toThrow("the back end is away");
  await expect(Promise.resolve(routes.cadvisor(ask()))).rejects.toThrow("the back end is away");
});

test("if the provider measures nothing, there are no metrics and no error", async () => {
  const { routes, logger, ask } = rig({});

  for (const route of [routes.resource, routes.summary, routes.cadvisor])
    await expect(Promise.resolve(route(ask()))).rejects.toMatchObject({ code: "VK_UNSUPPORTED" });
  expect(logger.lines).toEqual([]);
});

test("a client that disconnects while the stats are read causes no log line", async () => {
  const { routes, logger, ask } = failing(new NotFoundError("none"));
  const request = { ...ask(), signal: AbortSignal.abort(new Error("gone")) };

  await expect(Promise.resolve(routes.resource(request))).rejects.toThrow("gone");
  expect(logger.lines).toEqual([]);
});

test("if several nodes share the port, the path must name one", async () => {
  const { routes } = answering();
  const request = fakeRequest({ path: "/metrics/resource" });

  for (const route of [routes.resource, routes.summary, routes.cadvisor])
    await expect(Promise.resolve(route(request))).rejects.toMatchObject({
      status: 404,
      message: "404: several nodes share this port: ask for /nodes/NAME/metrics/resource",
    });
});

const claimed = fakePod({
  spec: { containers: [{ name: "main" }], volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] },
});
const withVolume: StatsSummary = {
  pods: summary.pods.map((pod) => ({
    ...pod,
    volume: [{ name: "data", pvcRef: { namespace: "default", name: "data" }, time, usedBytes: 9 }],
  })),
};

/** The stats routes of a node with this pod, whose provider returns this summary. */
function volumeRig(pod: Pod, getStatsSummary: NonNullable<Provider["getStatsSummary"]>) {
  const clock = new VirtualClock();
  const logger = new RecordingLogger();
  const routes = new StatsRoutes({ nodes: [fakeNode({ pods: [pod], provider: { getStatsSummary } })], clock, logger });
  return { routes, clock, logger };
}

test("volumes of claims are shown, and a provider is not asked if no pod has a claim", async () => {
  let calls = 0;
  const counting = async (): Promise<StatsSummary> => (calls++, withVolume);
  const { signal } = new AbortController();

  expect(await volumeRig(fakePod(), counting).routes.volumes(signal)).toBe("");
  expect(calls).toBe(0);
  expect(await volumeRig(claimed, counting).routes.volumes(signal)).toContain(
    'kubelet_volume_stats_used_bytes{namespace="default",node="n1",persistentvolumeclaim="data"} 9\n',
  );
  expect(calls).toBe(1);
});

test("if a provider fails or does not answer in time, the other metrics are shown without its volumes", async () => {
  const failing = volumeRig(claimed, () => Promise.reject(new UnavailableError("the back end is away")));
  const { signal } = new AbortController();
  expect(await failing.routes.volumes(signal)).toBe("");
  expect(failing.logger.lines).toEqual(["debug the volumes could not be measured"]);

  const hanging = volumeRig(claimed, () => new Promise(() => {}));
  const shown = hanging.routes.volumes(signal);
  await hanging.clock.advance(5_000);
  expect(await shown).toBe("");

  await expect(hanging.routes.volumes(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});
