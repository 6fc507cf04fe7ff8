import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedApi } from "./support/docker-engine.ts";
import { DockerNode, podTimeout } from "./support/docker-node.ts";

const api = sharedApi();
const patience = { timeoutMs: 300_000, intervalMs: 1_000 };
let node: DockerNode;

/** With the most replicas of the other Deployment as many pods as a node takes. */
const others = 106;

/** Keeps one CPU busy until somebody says otherwise. */
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
  node = await DockerNode.start("docker-autoscaling");
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  const ids = await api.containers({ [labelNames.node]: node.name });
  await Promise.all(ids.map((id) => api.remove(id)));
});

test("on a node full of pods an autoscaler makes four of one by what they use, and one again", async () => {
  await node.apply(JSON.stringify(deployment("other", others, { image: "registry.k8s.io/pause:3.10" })));
  await node.say("rollout", "status", "deployment/other", "--timeout=600s");
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
  expect((await node.say("top", "pods", "--no-headers", "-l", "app=other")).trim().split("\n")).toHaveLength(others);

  for (const pod of await readyPods("web")) await node.say("exec", pod, "--", "touch", "/tmp/idle");
  await eventually(async () => expect(await readyPods("web")).toHaveLength(1), patience);
  expect(await readyPods("other")).toHaveLength(others);
});
