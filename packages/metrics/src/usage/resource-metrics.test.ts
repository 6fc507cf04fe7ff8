import type { PodStats } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { renderMetrics, renderResourceMetrics } from "../prometheus/exposition.ts";
import type { FullStatsSummary } from "./node-stats.ts";
import { resourceMetrics, resourceScrapeError } from "./resource-metrics.ts";

const time = "2026-01-02T03:04:05Z";
const timestampMs = Date.parse(time);

function summaryOf(container: Partial<PodStats["containers"][number]>): FullStatsSummary {
  return {
    node: { nodeName: "n1", startTime: time, cpu: { time, usageCoreNanoSeconds: 2e9 }, memory: { time, workingSetBytes: 4096 } },
    pods: [
      {
        podRef: { namespace: "default", name: "web", uid: "u1" },
        startTime: time,
        containers: [{ name: "main", startTime: time, ...container }],
        cpu: { time, usageCoreNanoSeconds: 1.5e9 },
        memory: { time, workingSetBytes: 2048 },
      },
    ],
  };
}

test("the text is what a kubelet serves", () => {
  const summary = summaryOf({
    cpu: { time, usageCoreNanoSeconds: 1.5e9 },
    memory: { time, workingSetBytes: 2048 },
    swap: { time, swapUsageBytes: 10, swapAvailableBytes: 30 },
  });

  expect(renderResourceMetrics(resourceMetrics(summary))).toBe(
    `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="main",pod="web",namespace="default"} 1.5 ${timestampMs}
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="main",pod="web",namespace="default"} 2048 ${timestampMs}
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="main",pod="web",namespace="default"} ${timestampMs / 1000}
# HELP container_swap_limit_bytes [ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems
# TYPE container_swap_limit_bytes gauge
container_swap_limit_bytes{container="main",pod="web",namespace="default"} 40 ${timestampMs}
# HELP container_swap_usage_bytes [ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems
# TYPE container_swap_usage_bytes gauge
container_swap_usage_bytes{container="main",pod="web",namespace="default"} 10 ${timestampMs}
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 2 ${timestampMs}
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 4096 ${timestampMs}
# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="default",pod="web"} 1.5 ${timestampMs}
# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="default",pod="web"} 2048 ${timestampMs}
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`,
  );
});

test("a measured zero is shown as the least above it: metrics-server drops a pod that shows 0", () => {
  const families = resourceMetrics(summaryOf({ cpu: { time, usageCoreNanoSeconds: 0 }, memory: { time, workingSetBytes: 0 } }));
  const valueOf = (name: string): number | undefined => families.find((family) => family.name === name)?.samples[0]?.value;

  expect(valueOf("container_cpu_usage_seconds_total")).toBe(1e-9);
  expect(valueOf("container_memory_working_set_bytes")).toBe(1);
});

test("what was not measured is left out", () => {
  const names = resourceMetrics(summaryOf({})).map(({ name }) => name);

  expect(names).not.toContain("container_cpu_usage_seconds_total");
  expect(names).not.toContain("container_swap_usage_bytes");
  expect(names).toContain("container_start_time_seconds");
});

test("a failed scrape says so", () => {
  expect(renderMetrics(resourceScrapeError())).toContain("resource_scrape_error 1\n");
});

test("upstream's importable suite finds the pod: it takes the second label for the pod's name", () => {
  const summary = summaryOf({ cpu: { time, usageCoreNanoSeconds: 1.5e9 }, memory: { time, workingSetBytes: 2048 } });
  const secondLabels = (family: string): (string | undefined)[] =>
    renderResourceMetrics(resourceMetrics(summary))
      .split("\n")
      .filter((line) => line.startsWith(`${family}{`))
      .map((line) => [...line.matchAll(/="([^"]*)"/g)][1]?.[1]);

  expect(secondLabels("pod_cpu_usage_seconds_total")).toEqual(["web"]);
  expect(secondLabels("container_cpu_usage_seconds_total")).toEqual(["web"]);
});

test("figures of an incomplete summary are shown, and it is said that some are missing", () => {
  const summary = { ...summaryOf({ cpu: { time, usageCoreNanoSeconds: 1.5e9 } }), incomplete: "the measurement goes on" };

  const text = renderMetrics(resourceMetrics(summary));

  expect(text).toContain('container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} 1.5');
  expect(text).toContain("resource_scrape_error 1\n");
});

test("of two pods of one name, one of which is still ending, the one that began last is shown: a series stands once", () => {
  const summary = summaryOf({ cpu: { time, usageCoreNanoSeconds: 1.5e9 } });
  const [pod] = summary.pods;
  if (!pod) throw new Error("there is no pod");
  const successor: PodStats = {
    ...pod,
    podRef: { ...pod.podRef, uid: "u2" },
    startTime: "2026-01-02T03:04:06Z",
    cpu: { time, usageCoreNanoSeconds: 7e9 },
  };
  const podSeconds = (...pods: PodStats[]): (number | undefined)[] =>
    resourceMetrics({ ...summary, pods })
      .filter(({ name }) => name === "pod_cpu_usage_seconds_total")
      .flatMap(({ samples }) => samples.map(({ value }) => value));

  expect(podSeconds(pod, successor)).toEqual([7]);
  expect(podSeconds(successor, pod)).toEqual([7]);
});
