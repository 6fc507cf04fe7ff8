import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { sharedApi } from "./support/docker-engine.ts";
import { DockerNode, podTimeout } from "./support/docker-node.ts";

const api = sharedApi();
let node: DockerNode;

beforeAll(async () => {
  node = await DockerNode.start("docker-metrics");
  const command = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"];
  const probe = { exec: { command: ["true"] }, periodSeconds: 1 };
  const container = { image: "busybox:1.37", command, resources: { limits: { cpu: "100m", memory: "32Mi" } } };
  const containers = [
    { ...container, name: "main", readinessProbe: probe, livenessProbe: probe },
    { ...container, name: "crashing", command: ["false"] },
  ];
  const spec = { nodeName: node.name, terminationGracePeriodSeconds: 2, containers, volumes: [{ name: "data", emptyDir: {} }] };
  await node.apply(JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "measured" }, spec }));
  await node.say("wait", "pod/measured", "--for=condition=PodReadyToStartContainers", `--timeout=${podTimeout}`);
});

afterAll(async () => {
  const ids = await api.containers({ [labelNames.node]: node.name });
  await Promise.all(ids.map((id) => api.remove(id)));
  await node[Symbol.asyncDispose]();
});

const show = (path: string): Promise<string> => node.say("get", "--raw", `/api/v1/nodes/${node.name}/proxy${path}`);

/** Number of metric families that Prometheus' parser finds. @throws Error with the parser's message */
async function parse(metrics: string): Promise<number> {
  const program = inject("prometheusParser");
  if (program === "") throw new Error("Prometheus' parser is missing: run make test LEVEL=docker, or set PROMETHEUS_PARSER to its path");
  const parser = spawn(program);
  parser.stdin.end(metrics);
  const [found, problem] = await Promise.all([text(parser.stdout), text(parser.stderr)]);
  if (problem !== "") throw new Error(problem);
  return Number(found);
}

test.for<[path: string, leastFamilies: number, parts: readonly string[]]>([
  ["/metrics", 20, ["kubelet_running_pods"]],
  ["/metrics/resource", 9, ['container_cpu_usage_seconds_total{container="main"', "resource_scrape_error 0"]],
  ["/metrics/cadvisor", 50, ["container_spec_cpu_quota{", "container_cpu_cfs_throttled_periods_total{", "machine_cpu_cores{"]],
  ["/metrics/probes", 3, ['prober_probe_total{container="main"', "prober_probe_duration_seconds_bucket{"]],
  ["/metrics/slis", 2, ["kubernetes_healthcheck{"]],
])("Prometheus' parser reads %s", async ([path, leastFamilies, parts]) => {
  // Sizes on disk are measured in the background, so that their families may come later.
  await eventually(
    async () => {
      const shown = await show(path);
      for (const part of parts) expect(shown).toContain(part);
      expect(await parse(shown)).toBeGreaterThanOrEqual(leastFamilies);
    },
    { timeoutMs: 120_000, intervalMs: 2_000, describe: `${path} to show the pod` },
  );
});

test("the parser reports invalid metrics", async () => {
  const family = "# HELP a h\n# TYPE a gauge\n";

  expect(await parse(`${family}a 1\n`)).toBe(1);
  await expect(parse(`${family}a{b="c"} 1\na{b="c"} 2\n`)).rejects.toThrow("appears twice");
  await expect(parse(`${family}a{b="c} 1\n`)).rejects.toThrow("text format parsing error");
});
