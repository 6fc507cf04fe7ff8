import { eventually, openControlPlane } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { freePort } from "../../packages/testing/src/processes/free-port.ts";
import { Program } from "../support/program.ts";
import { startMetricsServer } from "./support/metrics-server.ts";

const controlPlane = openControlPlane(inject("controlPlane"));
const nodeName = "measured";
const resources = new AsyncDisposableStack();

/** A Deployment with CPU requests so small that any usage exceeds the autoscaler's target. */
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: {
        tolerations: [{ key: "virtual-kubelet.io/provider", operator: "Exists" }],
        nodeSelector: { "kubernetes.io/hostname": nodeName },
        containers: [{ name: "main", image: "nginx", resources: { requests: { cpu: "1m", memory: "1Mi" } } }],
      },
    },
  },
};

async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await controlPlane.kubectl(args);
  expect(code, `kubectl ${args.join(" ")}: ${stderr}`).toBe(0);
  return stdout;
}

beforeAll(async () => {
  resources.use(await startMetricsServer(controlPlane));
  const words = ["--kubeconfig", controlPlane.kubeconfig.path, "--provider", "mock", "--nodename", nodeName];
  const more = [
    "--health-addr",
    "off",
    "--identity",
    "test",
    "--node-ip",
    inject("nodeAddress"),
    "--kubelet-port",
    String(await freePort()),
  ];
  resources.use(new Program([...words, ...more], { cwd: controlPlane.directory }));
  await controlPlane.kubectl(["apply", "-f", "-"], { stdin: JSON.stringify(deployment) });
  await kubectl("wait", `node/${nodeName}`, "--for=create", "--timeout=100s");
  await kubectl("rollout", "status", "deployment/web", "--timeout=100s");
});

afterAll(() => resources.disposeAsync());

/** Numbers in a line of `kubectl top`, such as `12m` and `34Mi`. */
function figuresOf(line: string | undefined): number[] {
  return [...(line ?? "").matchAll(/\s(\d+)(?:m|Mi)\b/g)].map(([, figure]) => Number(figure));
}

test("kubectl top shows the resource usage of the pods and the node", async () => {
  // The two sources measure at different times, and the first figures of either may be late.
  await eventually(
    async () => {
      const pods = await kubectl("top", "pods", "--no-headers");
      const nodes = await kubectl("top", "nodes", nodeName, "--no-headers");

      const [podCpu = 0, podMemory = 0] = figuresOf(pods.split("\n").find((line) => line.startsWith("web-")));
      const [nodeCpu = 0, nodeMemory = 0] = figuresOf(nodes);
      expect(podCpu).toBeGreaterThan(1);
      expect(podMemory).toBeGreaterThan(1);
      expect(nodeCpu).toBeGreaterThanOrEqual(podCpu);
      expect(nodeMemory).toBeGreaterThanOrEqual(podMemory);
    },
    { timeoutMs: 180_000, intervalMs: 500 },
  );
});

test("an autoscaler reads the figures and adds pods", async () => {
  await kubectl("autoscale", "deployment", "web", "--cpu=50%", "--min=1", "--max=3");

  await eventually(async () => expect(await kubectl("get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}")).toBe("3"), {
    timeoutMs: 240_000,
    intervalMs: 500,
  });
});

test("the node's paths can be read through the API server's node proxy", async () => {
  const get = (path: string): Promise<string> => kubectl("get", "--raw", `/api/v1/nodes/${nodeName}/proxy${path}`);

  expect(await get("/healthz")).toBe("ok");
  const { items } = JSON.parse(await get("/pods")) as { items: { metadata: { name: string } }[] };
  expect(items.map(({ metadata }) => metadata.name)).toContainEqual(expect.stringMatching(/^web-/));
  expect(JSON.parse(await get("/runningpods/"))).toMatchObject({ kind: "PodList" });
  expect(JSON.parse(await get("/stats/summary"))).toMatchObject({ node: { nodeName }, pods: expect.any(Array) });
  expect(await get("/metrics")).toContain(`kubelet_node_name{node="${nodeName}"} 1`);
  expect(await get("/metrics")).toContain("workqueue_adds_total");
  expect(await get("/metrics/resource")).toContain("node_cpu_usage_seconds_total");
  expect((await controlPlane.kubectl(["get", "--raw", `/api/v1/nodes/${nodeName}/proxy/no-such-path`])).stderr).toContain("NotFound");
});
