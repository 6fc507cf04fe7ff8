import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { eventually, RecordingProvider, startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createNamespace, openClient, type OpenClient } from "./support/cluster.ts";
import { nodeToBe, readyCondition, startNode } from "./support/test-node.ts";
import { deploymentOn, instanceIdOf, podOn, Pods, readiness } from "./support/workload.ts";

// A private control plane, because other files share the level's API server.
let controlPlane: ControlPlane;
let opened: OpenClient;
let client: KubeClient;
let namespace = "";
let pods: Pods;

beforeAll(async () => {
  controlPlane = await startControlPlane({
    flags: { "kube-controller-manager": { "node-monitor-period": "1s", "node-monitor-grace-period": "10s" } },
  });
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  namespace = await createNamespace(client, "restart");
  pods = new Pods(client, namespace);
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
  await controlPlane.stop();
});

test("after a kill and restart of the API server no pod restarts, the node is Ready, and pending changes are applied", async () => {
  await using node = await startNode({ kubeconfig: controlPlane.kubeconfig });
  await client.create(resources.deployments, deploymentOn(node.name, "web", namespace, 3), { signal: new AbortController().signal });
  const before = await pods.allReady("app=web", 3);

  await controlPlane.killApiServer();
  // The back end continues to run: a pod's address changes while the API server is down.
  const moved = before[0]?.metadata?.uid ?? "";
  node.recording.backend.setPodIP(moved, "10.200.0.9");
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await controlPlane.startApiServer();

  await eventually(
    async () => expect((await pods.list("app=web")).find(({ metadata }) => metadata?.uid === moved)?.status?.podIP).toBe("10.200.0.9"),
    {
      timeoutMs: 60_000,
    },
  );
  await nodeToBe(client, node.name, "True", 60_000);
  const after = await pods.allReady("app=web", 3);
  expect(new Set(after.map(instanceIdOf))).toEqual(new Set(before.map(instanceIdOf)));
  expect(after.map(({ status }) => status?.containerStatuses?.[0]?.restartCount)).toEqual([0, 0, 0]);
  expect(node.recording.callsOf("createPod")).toHaveLength(3);
  expect(node.recording.callsOf("deletePod")).toEqual([]);
  expect(node.recording.violations).toEqual([]);
});

test("after an outage of the API server that makes the node unknown, node and pods are soon Ready again", async () => {
  await using node = await startNode({ kubeconfig: controlPlane.kubeconfig });
  const created = await pods.create(podOn(node.name, "long", namespace));
  await pods.running("long");

  await controlPlane.killApiServer();
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  await controlPlane.startApiServer();
  const upMs = Date.now();

  await eventually(async () => await pods.get("long"), { timeoutMs: 60_000, describe: "the client to reach the server" });
  // The controllers may or may not mark the node as unknown before it reports again. Both cases are fine.
  await eventually(
    async () => {
      expect((await readyCondition(client, node.name)).status).toBe("True");
      expect(readiness(await pods.get("long"))).toEqual({ phase: "Running", ready: "True" });
      const lease = await client.get(
        resources.leases,
        { namespace: "kube-node-lease", name: node.name },
        { signal: new AbortController().signal },
      );
      expect(Date.parse(lease.spec?.renewTime ?? "")).toBeGreaterThan(upMs);
    },
    { timeoutMs: 60_000 },
  );
  expect(node.recording.creates(created.uid)).toBe(1);
});

test("pods that are deleted or end during an outage of the API server reach their final state", async () => {
  await using node = await startNode({ kubeconfig: controlPlane.kubeconfig, recording: new RecordingProvider({ stopDelayMs: 6_000 }) });
  const ending = await pods.create(podOn(node.name, "ending", namespace, { restartPolicy: "Never" }));
  const deleted = await pods.create(podOn(node.name, "deleted", namespace, { terminationGracePeriodSeconds: 120 }));
  await Promise.all([pods.running("ending"), pods.running("deleted")]);

  await pods.delete("deleted");
  await eventually(() => expect(node.recording.callsOf("deletePod", deleted.uid)).toHaveLength(1));
  await controlPlane.killApiServer();
  node.recording.backend.exit(ending.uid, 0);
  await new Promise((resolve) => setTimeout(resolve, 7_000));
  await controlPlane.startApiServer();

  await eventually(async () => expect((await pods.get("ending")).status?.phase).toBe("Succeeded"), { timeoutMs: 60_000 });
  await pods.gone("deleted");
  expect([ending, deleted].map(({ uid }) => node.recording.creates(uid))).toEqual([1, 1]);
  expect(node.recording.violations).toEqual([]);
});
