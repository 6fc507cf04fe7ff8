import { labelNames } from "@virtual-kubelet/pod-runtime";
import { apiRequest, eventually } from "@virtual-kubelet/testing";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { replaceRegion } from "../../tools/marked-region.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { DockerNode, podTimeout } from "./support/docker-node.ts";
import { EngineProxy } from "./support/engine-proxy.ts";
import { scrapeTable, timeScrape, type Scrape } from "./support/scrapes.ts";

const api = sharedApi();
const patience = { timeoutMs: 300_000, intervalMs: 1_000 };
const page = join(import.meta.dirname, "../../docs/guides/docker.md");
let proxy: EngineProxy;
let node: DockerNode;

/** Maximum number of pods on a node. */
const podsOfNode = 110;

/** Milliseconds after which a request causes a new measurement, because a summary is cached for ten seconds. */
const keptMs = 11_000;

/** Time-out of metrics-server in milliseconds. */
const hangingMs = 10_000;

/** Together with the maximum replicas of the other Deployment these pods fill the node. */
const others = podsOfNode - 4;

/** Script that keeps one CPU busy until the file /tmp/idle exists. */
const busy = "trap 'exit 0' TERM; while [ ! -e /tmp/idle ]; do :; done; while :; do sleep 1 & wait $!; done";

function deployment(name: string, replicas: number, container: object): object {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "app", ...container }] } },
    },
  };
}

async function readyPods(name: string): Promise<readonly string[]> {
  const jsonpath = "jsonpath={range .items[?(@.status.containerStatuses[0].ready==true)]}{.metadata.name}{' '}{end}";
  const names = await node.say("get", "pods", "-l", `app=${name}`, "-o", jsonpath);
  return names.split(" ").filter((each) => each !== "");
}

beforeAll(async () => {
  proxy = await EngineProxy.start(api);
  node = await DockerNode.start("docker-autoscaling", { providerConfig: { host: proxy.host }, isScraped: false });
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  const ids = await api.containers({ [labelNames.node]: node.name });
  await Promise.all(ids.map((id) => api.remove(id)));
});

test("every scrape of a full node, including the first, measures all pods without the engine", async () => {
  await node.apply(JSON.stringify(deployment("other", podsOfNode, { image: "registry.k8s.io/pause:3.10" })));
  await node.say("rollout", "status", "deployment/other", "--timeout=1500s");
  const get = async (path: string): Promise<string> => {
    const { status, body } = await apiRequest(node.controlPlane.target, "GET", `/api/v1/nodes/${node.name}/proxy${path}`);
    expect(status, body).toBe(200);
    return body;
  };

  const scrapes: Scrape[] = [];
  for (const path of ["/metrics/resource", "/metrics/resource", "/stats/summary", "/metrics/cadvisor"]) {
    if (scrapes.length > 0) await delay(keptMs);
    scrapes.push(await timeScrape(proxy, path, get));
  }

  console.log(`scrapes with ${podsOfNode} pods:\n${scrapeTable(scrapes)}`);
  if (process.env["VK_TEST_WRITE_FIGURES"] === "1")
    await writeFile(page, replaceRegion(await readFile(page, "utf8"), "scrapes", scrapeTable(scrapes)));
  for (const { path, tookMs, measuringCalls, inspections, callsForAll } of scrapes) {
    expect(tookMs, path).toBeLessThan(hangingMs);
    expect(measuringCalls, path).toBe(0);
    // At most the sandbox and the container of each pod.
    expect(inspections, path).toBeLessThanOrEqual(2 * podsOfNode);
    // Sizes on disk, with one call for all objects of a kind.
    expect(callsForAll, path).toBeLessThanOrEqual(6);
  }
  expect(scrapes.map(({ pods }) => pods)).toContain(podsOfNode);
}, 1_800_000);

test("on a full node an autoscaler scales a Deployment to four pods by their usage, and back to one", async () => {
  await node.say("scale", "deployment/other", `--replicas=${others}`);
  await eventually(async () => expect(await readyPods("other")).toHaveLength(others), patience);
  await node.startMetricsServer();
  const resources = { requests: { cpu: "50m" }, limits: { cpu: "100m" } };
  await node.apply(JSON.stringify(deployment("web", 1, { image: "busybox:1.37", command: ["sh", "-c", busy], resources })));
  await node.say("rollout", "status", "deployment/web", `--timeout=${podTimeout}`);
  await node.apply(
    JSON.stringify({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "web" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
        minReplicas: 1,
        maxReplicas: 4,
        metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } }],
        behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
      },
    }),
  );

  await eventually(async () => expect(await readyPods("web")).toHaveLength(4), patience);
  expect(await readyPods("other")).toHaveLength(others);
  // A scrape that was late for one pod shows it the next time.
  await eventually(
    async () => expect((await node.say("top", "pods", "--no-headers", "-l", "app=other")).trim().split("\n")).toHaveLength(others),
    patience,
  );

  for (const pod of await readyPods("web")) await node.say("exec", pod, "--", "touch", "/tmp/idle");
  await eventually(async () => expect(await readyPods("web")).toHaveLength(1), patience);
  expect(await readyPods("other")).toHaveLength(others);
});
