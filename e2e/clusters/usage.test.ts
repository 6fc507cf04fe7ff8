import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import { startMetricsServer } from "../node-network/support/metrics-server.ts";
import { Cluster, podTimeout } from "./support/cluster.ts";
import { onNode, VirtualNode } from "./support/virtual-node.ts";

const patience = { timeoutMs: 240_000, intervalMs: 1_000 };
const ends = new AsyncDisposableStack();
const home = ends.use(Cluster.home("usage"));
const far = ends.use(Cluster.far("usage"));
const sources = ["kubelets", "metrics-api"] as const;
const nodes = new Map<string, VirtualNode>();

/** A pod that uses its limit of 200m, and at least 20 MB of memory, on the virtual node of this name. */
function busyPod(name: string): object {
  const command = ["sh", "-c", "head -c 20000000 /dev/zero > /memory/file; while :; do :; done"];
  const resources = { requests: { cpu: "50m" }, limits: { cpu: "200m", memory: "128Mi" } };
  const volumeMounts = [{ name: "memory", mountPath: "/memory" }];
  const containers = [{ name: "main", image: "busybox:1.37", command, resources, volumeMounts }];
  const volumes = [{ name: "memory", emptyDir: { medium: "Memory" } }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { ...onNode(name), terminationGracePeriodSeconds: 1, containers, volumes },
  };
}

/** CPU in thousandths of a core and memory in MiB, in a line of `kubectl top`. */
function figuresOf(line: string): readonly [cpu: number, memory: number] {
  const [, cpu, memory] = /\s(\d+)m\s+(?:\d+%\s+)?(\d+)Mi\b/.exec(line) ?? [];
  return [Number(cpu), Number(memory)];
}

beforeAll(async () => {
  ends.use(await startMetricsServer(home.access));
  ends.use(await home.createNamespace());
  ends.use(await far.createNamespace());
  for (const usage of sources) {
    const providerConfig = { namespaces: { mode: "same" }, usage };
    const node = await VirtualNode.start(usage, { home: home.access, farKubeconfig: far.access.kubeconfig.path, providerConfig });
    nodes.set(usage, ends.use(node));
    await home.apply(busyPod(usage));
  }
  for (const usage of sources) await home.say(`wait pod/${usage} --for=condition=Ready ${podTimeout}`);
});

afterAll(() => ends.disposeAsync());

test("without metrics-server in the far cluster a node that needs it shows no figures, and an event says why", async () => {
  nodes.get("metrics-api")?.showLogOnFailure();

  await eventually(async () => {
    const events = await home.say("get events -n default --field-selector reason=FarUsageUnavailable");
    expect(events).toMatch(/metrics-api.*no metrics API: install metrics-server there/);
  }, patience);
  const figures = await home.say("get --raw /api/v1/nodes/metrics-api/proxy/metrics/resource");
  expect(figures).toContain("resource_scrape_error 1");
  expect(figures).not.toMatch(/^(node|pod|container)_(cpu|memory)_/m);
  expect((await home.run("top pod metrics-api")).code).not.toBe(0);
});

test.each(sources)("kubectl top pod and top node show at home what the far cluster measures, with usage: %s", async (usage) => {
  nodes.get(usage)?.showLogOnFailure();
  onTestFailed(async () => console.error(await home.run(`get --raw /api/v1/nodes/${usage}/proxy/stats/summary`)));
  await using _far = usage === "metrics-api" ? await startMetricsServer(far.access) : undefined;

  // A rate needs two measurements.
  await eventually(async () => {
    const [podCpu, podMemory] = figuresOf(await home.say(`top pod ${usage} --no-headers`));
    const [nodeCpu, nodeMemory] = figuresOf(await home.say(`top node ${usage} --no-headers`));
    // Up to its limit of 200m; less on a busy machine, where an idle pod still has 1m at most.
    expect(podCpu).toBeGreaterThan(20);
    expect(podCpu).toBeLessThan(300);
    expect(podMemory).toBeGreaterThanOrEqual(19);
    expect(podMemory).toBeLessThan(60);
    // The node's only pod; the two are measured at different times.
    expect(Math.abs(nodeCpu - podCpu)).toBeLessThan(50);
    expect(Math.abs(nodeMemory - podMemory)).toBeLessThan(10);
  }, patience);
});
