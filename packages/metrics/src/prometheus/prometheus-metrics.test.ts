import perfHooks from "node:perf_hooks";
import { expect, test, vi } from "vitest";
import { PrometheusMetrics } from "./prometheus-metrics.ts";

test("counters add up, gauges hold the last value, histograms fill their buckets", async () => {
  using metrics = new PrometheusMetrics();
  metrics.count("workqueue_adds_total", { name: "pods" });
  metrics.count("workqueue_adds_total", { name: "pods" }, 2);
  metrics.gauge("workqueue_depth", 5, { name: "pods" });
  metrics.gauge("workqueue_depth", 3, { name: "pods" });
  metrics.observe("rest_client_request_duration_seconds", 0.2, { method: "GET" });

  const text = await metrics.render();

  expect(text).toContain('workqueue_adds_total{name="pods"} 3');
  expect(text).toContain('workqueue_depth{name="pods"} 3');
  expect(text).toContain('rest_client_request_duration_seconds_bucket{le="0.1",method="GET"} 0');
  expect(text).toContain('rest_client_request_duration_seconds_bucket{le="0.25",method="GET"} 1');
  expect(text).toContain("# HELP workqueue_depth Items that wait in a work queue");
});

test("a counter without labels is there before its first event, which rate() would miss otherwise", async () => {
  using metrics = new PrometheusMetrics();

  expect(await metrics.render()).toContain("\nvk_mass_loss_suspected_total 0\n");
});

test("a metric nobody has described is shown too", async () => {
  using metrics = new PrometheusMetrics();
  metrics.count("acme_uploads_total", { zone: "a" });

  expect(await metrics.render()).toContain('acme_uploads_total{zone="a"} 1');
});

test.for([
  ["a label that was not there before", (metrics: PrometheusMetrics) => metrics.count("a_total", { other: "x" })],
  ["a counter that goes down", (metrics: PrometheusMetrics) => metrics.count("a_total", { zone: "a" }, -1)],
] as const)("%s is left out, and counted as dropped", async ([, misuse]) => {
  using metrics = new PrometheusMetrics();
  metrics.count("a_total", { zone: "a" });

  misuse(metrics);

  const text = await metrics.render();
  expect(text).toContain('a_total{zone="a"} 1');
  expect(text).toContain('vk_metrics_dropped_total{name="a_total"} 1');
});

test("what changes with time is read when somebody looks, summed up, until it ends", async () => {
  using metrics = new PrometheusMetrics();
  let seconds = 1;
  const first = metrics.sampled("workqueue_unfinished_work_seconds", () => seconds, { name: "pods" });
  using _second = metrics.sampled("workqueue_unfinished_work_seconds", () => 10, { name: "pods" });
  using _other = metrics.sampled("workqueue_unfinished_work_seconds", () => 5, { name: "pod-status" });
  expect(await metrics.render()).toContain('workqueue_unfinished_work_seconds{name="pods"} 11\n');

  seconds = 2;
  const text = await metrics.render();
  expect(text).toContain("# HELP workqueue_unfinished_work_seconds Total time");
  expect(text).toContain('workqueue_unfinished_work_seconds{name="pods"} 12\n');
  expect(text).toContain('workqueue_unfinished_work_seconds{name="pod-status"} 5\n');

  first[Symbol.dispose]();
  expect(await metrics.render()).toContain('workqueue_unfinished_work_seconds{name="pods"} 10\n');
});

test("two of them know nothing of each other", async () => {
  using first = new PrometheusMetrics();
  using second = new PrometheusMetrics();
  first.count("a_total");

  expect(await second.render()).not.toContain("a_total 1");
});

test("a label that the catalogue does not have is left out, and counted as dropped, also at the first use", async () => {
  using metrics = new PrometheusMetrics();
  metrics.count("workqueue_adds_total", { name: "pods", other: "x" });

  const text = await metrics.render();
  expect(text).not.toContain("other=");
  expect(text).toContain('vk_metrics_dropped_total{name="workqueue_adds_total"} 1');
});

test.for([
  ["a b", {}],
  ["a_seconds", { "x-y": "1" }],
  ["a_seconds", { le: "1" }],
] as const)(
  "a histogram of the name %j and the labels %j is left out: Prometheus would take no line of the answer",
  async ([name, labels]) => {
    using metrics = new PrometheusMetrics();
    metrics.observe(name, 1, { ...labels });

    const text = await metrics.render();
    expect(text).toContain(`vk_metrics_dropped_total{name="${name}"} 1`);
    expect(text).not.toContain(`${name}_bucket`);
  },
);

test("the metrics of the process wake it ten times a second", () => {
  const monitor = vi.spyOn(perfHooks, "monitorEventLoopDelay");

  using _metrics = new PrometheusMetrics({ process: true });

  expect(monitor.mock.calls).toEqual([[{ resolution: 100 }]]);
  monitor.mockRestore();
});
