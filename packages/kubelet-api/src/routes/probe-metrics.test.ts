import type { MetricFamily } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { fakeNode } from "../test-support/fake-node.ts";
import { probeMetrics } from "./probe-metrics.ts";

const { signal } = new AbortController();

test("the probes of all nodes are shown together; providers without probes add nothing", async () => {
  const counted = (pod: string): readonly MetricFamily[] => [
    { name: "prober_probe_total", help: "h", type: "counter", samples: [{ labels: { pod }, value: 1 }] },
  ];
  const nodes = ["a", "b"].map((name) => fakeNode({ name, provider: { getMetricsProbes: async () => counted(name) } }));

  const families = await probeMetrics([...nodes, fakeNode({ name: "c" })], 5, signal);

  expect(families.map(({ name, samples }) => [name, samples])).toEqual([
    [
      "prober_probe_total",
      [
        { labels: { pod: "a" }, value: 1 },
        { labels: { pod: "b" }, value: 1 },
      ],
    ],
    ["process_start_time_seconds", [{ value: 5 }]],
  ]);
});
