import { resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { eventually, RecordingProvider, type Instance } from "@virtual-kubelet/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createNamespace, openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { forgetNode, startNode, type TestNode, type TestNodeOptions } from "./support/test-node.ts";
import { deploymentOn, instanceIdOf, podOn, Pods } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
let client: KubeClient;
let namespace = "";
let pods: Pods;
let started: TestNode[] = [];

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
});

beforeEach(async () => {
  namespace = await createNamespace(client, "pods");
  pods = new Pods(client, namespace);
});

afterEach(async () => {
  for (const node of started) {
    await node.stop();
    await forgetNode(controlPlane, node.name);
    expect(node.recording.violations).toEqual([]);
  }
  started = [];
  await controlPlane.kubectl(["delete", "namespace", namespace, "--wait=false"]);
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

test("a Deployment with three replicas is scheduled to the node, runs, and is removed when it is deleted", async () => {
  const node = await start();
  await client.create(resources.deployments, deploymentOn(node.name, "web", namespace, 3), { signal });

  const running = await pods.allReady("app=web", 3);
  const rollout = await controlPlane.kubectl(["rollout", "status", "deployment/web", "-n", namespace, "--timeout=60s"]);

  expect(rollout).toMatchObject({ code: 0 });
  expect(running.map(({ spec }) => spec?.nodeName)).toEqual([node.name, node.name, node.name]);
  expect(new Set(running.map(({ status }) => status?.podIP)).size).toBe(3);
  expect(node.recording.callsOf("createPod")).toHaveLength(3);

  await controlPlane.kubectl(["delete", "deployment", "web", "-n", namespace]);
  await eventually(async () => expect(await pods.list("app=web")).toEqual([]), { timeoutMs: 60_000, describe: "the pods to be gone" });
  expect(node.recording.backend.list()).toEqual([]);
  expect(node.recording.callsOf("deletePod")).toHaveLength(3);
});

test("a pod costs two status writes and one delete, and its status is that of its instance", async () => {
  const node = await start();
  const pod = await pods.create(podOn(node.name, "web", namespace));
  await pods.running("web");
  await pods.delete("web");
  await pods.gone("web");

  const writes = (): string[] =>
    controlPlane
      .auditEvents()
      .filter(
        ({ userAgent, objectRef }) =>
          userAgent === "virtual-kubelet" && objectRef?.namespace === namespace && objectRef.resource === "pods",
      )
      .map(({ verb, objectRef, responseStatus }) => `${verb} ${objectRef?.subresource ?? ""} ${String(responseStatus?.code)}`);

  // A request is logged after its response.
  await eventually(() => expect(writes().at(-1)).toMatch(/^delete/), { intervalMs: 500 });
  expect(writes()).toEqual(["patch status 200", "patch status 200", "delete  200"]);
  expect(node.recording.creates(pod.uid)).toBe(1);
});

test("a graceful delete lets the containers end, reports their end, and then removes the pod", async () => {
  const node = await start({ recording: new RecordingProvider({ stopDelayMs: 1500 }) });
  const pod = await pods.create(podOn(node.name, "web", namespace, { terminationGracePeriodSeconds: 200 }));
  await pods.running("web");
  const history = await follow("web");

  const deleted = await controlPlane.kubectl(["delete", "pod", "web", "-n", namespace, "--wait", "--timeout=90s"]);

  expect(deleted).toMatchObject({ code: 0 });
  const [call] = node.recording.callsOf("deletePod", pod.uid);
  expect(node.recording.callsOf("deletePod", pod.uid)).toHaveLength(1);
  expect(call?.gracePeriodSeconds).toBeGreaterThan(100);
  expect(call?.gracePeriodSeconds).toBeLessThanOrEqual(200);
  const last = (await history.untilDeleted(1)).at(-1);
  expect(last).toMatchObject({ status: { phase: "Succeeded", containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] } });
  expect(last?.status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "False" }));
  expect(node.recording.deletes(pod.uid)).toBe(1);
});

test("a pod that does not end within its grace period is killed at the end of the period", async () => {
  const node = await start({ recording: new RecordingProvider({ stopDelayMs: 600_000 }) });
  await pods.create(podOn(node.name, "stubborn", namespace, { terminationGracePeriodSeconds: 2 }));
  await pods.running("stubborn");

  await pods.delete("stubborn");
  await pods.gone("stubborn");

  expect(node.recording.changes.filter(({ change }) => change === "ended")).toMatchObject([{ instance: { state: { exitCode: 137 } } }]);
});

test("a second delete with a shorter grace period shortens the remaining time", async () => {
  const node = await start({ recording: new RecordingProvider({ stopDelayMs: 600_000 }) });
  const pod = await pods.create(podOn(node.name, "web", namespace, { terminationGracePeriodSeconds: 600 }));
  await pods.running("web");

  await pods.delete("web");
  await eventually(() => expect(node.recording.callsOf("deletePod", pod.uid)).toHaveLength(1));
  await pods.delete("web", 1);
  await pods.gone("web");

  const [first, second] = node.recording.callsOf("deletePod", pod.uid).map(({ gracePeriodSeconds }) => gracePeriodSeconds ?? Number.NaN);
  expect(first).toBeGreaterThan(500);
  expect(second).toBeLessThanOrEqual(1);
  expect(node.recording.deletes(pod.uid)).toBe(1);
});

test("a force-deleted pod disappears from the API at once and is still ended at the provider", async () => {
  const node = await start({ recording: new RecordingProvider({ stopDelayMs: 500 }) });
  const pod = await pods.create(podOn(node.name, "web", namespace, { terminationGracePeriodSeconds: 60 }));
  await pods.running("web");

  await controlPlane.kubectl(["delete", "pod", "web", "-n", namespace, "--force", "--grace-period=0"]);

  await pods.gone("web");
  await eventually(() => expect(node.recording.deletes(pod.uid)).toBe(1), { describe: "the instance to be gone" });
  expect(node.recording.callsOf("deletePod", pod.uid).length).toBeGreaterThanOrEqual(1);
});

test("a pod with a finalizer is ended once, stays until the finalizer is removed, and is not deleted in a loop", async () => {
  const node = await start();
  const created = podOn(node.name, "held", namespace);
  const pod = await pods.create({ ...created, metadata: { ...created.metadata, finalizers: ["e2e.virtual-kubelet.io/held"] } });
  await pods.running("held");

  await pods.delete("held");
  await eventually(() => expect(node.recording.deletes(pod.uid)).toBe(1));
  await eventually(async () => expect((await pods.get("held")).status?.phase).toBe("Succeeded"));
  // Long enough to reveal a loop.
  await new Promise((resolve) => setTimeout(resolve, 3_000));

  const deletes = controlPlane
    .auditEvents()
    .filter(({ verb, userAgent, objectRef }) => verb === "delete" && userAgent === "virtual-kubelet" && objectRef?.namespace === namespace);
  expect(deletes.length).toBeLessThanOrEqual(2);
  expect(node.recording.callsOf("deletePod", pod.uid)).toHaveLength(1);
  expect(node.recording.creates(pod.uid)).toBe(1);
  await client.patch(resources.pods, { namespace, name: "held" }, { type: "merge", body: { metadata: { finalizers: null } } }, { signal });
  await pods.gone("held");
});

test("a pod that is created again a hundred times under the same name is a new pod each time", { timeout: 900_000 }, async () => {
  const node = await start();
  const history = await follow("again");
  const uids: string[] = [];

  for (let round = 0; round < 100; round++) {
    uids.push((await pods.create(podOn(node.name, "again", namespace, { terminationGracePeriodSeconds: 1 }))).uid);
    await pods.running("again");
    await pods.delete("again");
    await pods.gone("again");
  }

  const { recording } = node;
  expect(new Set(uids).size).toBe(100);
  expect(uids.filter((uid) => recording.creates(uid) !== 1 || recording.deletes(uid) !== 1)).toEqual([]);
  expect(recording.changes.filter(({ change }) => change === "created")).toHaveLength(100);
  expect(mostAliveAtOnce(recording)).toBe(1);
  const owners = new Map(recording.changes.map(({ instance }) => [instance.instanceId, instance.ref.uid]));
  const statuses = (await history.untilDeleted(100)).filter((pod) => instanceIdOf(pod) !== "");
  expect(statuses.length).toBeGreaterThanOrEqual(200);
  expect(statuses.filter((pod) => owners.get(instanceIdOf(pod)) !== pod.metadata?.uid)).toEqual([]);
});

test("a pod whose address changes has only the new address", async () => {
  const node = await start();
  const pod = await pods.create(podOn(node.name, "moving", namespace));
  await pods.running("moving");

  for (const podIP of ["10.200.0.1", "10.200.0.2"]) {
    node.recording.backend.setPodIP(pod.uid, podIP);
    await eventually(async () => expect((await pods.get("moving")).status).toMatchObject({ podIP, podIPs: [{ ip: podIP }] }), {
      describe: `address ${podIP}`,
    });
    expect((await pods.get("moving")).status?.podIPs).toHaveLength(1);
  }
});

test("with a polled provider and a slow create the pod is created once, and is not considered missing meanwhile", async () => {
  const recording = new RecordingProvider({ mode: "poll", startDelayMs: 500 });
  const node = await start({ recording, pods: { pollIntervalMs: 300 } });
  const gate = Promise.withResolvers<void>();
  recording.script("createPod", { until: gate.promise });

  const pod = await pods.create(podOn(node.name, "slow", namespace));
  await eventually(() => expect(recording.callsOf("createPod", pod.uid)).toHaveLength(1));
  const polls = recording.callsOf("getPods").length;
  await eventually(() => expect(recording.callsOf("getPods").length).toBeGreaterThan(polls + 5));
  gate.resolve();
  await pods.running("slow");

  expect(recording.callsOf("createPod", pod.uid)).toHaveLength(1);
  expect(recording.creates(pod.uid)).toBe(1);
  await pods.delete("slow");
  await pods.gone("slow");
  expect(recording.deletes(pod.uid)).toBe(1);
});

test("a create with a lost response is not repeated at the back end", async () => {
  const node = await start();
  node.recording.script("createPod", { times: 1, errorAfter: new Error("the connection broke") });

  const pod = await pods.create(podOn(node.name, "unclear", namespace));
  await pods.running("unclear");

  expect(node.recording.creates(pod.uid)).toBe(1);
});

test("containers that end by themselves make the pod Succeeded or Failed permanently", async () => {
  const node = await start();
  const good = await pods.create(podOn(node.name, "good", namespace, { restartPolicy: "Never" }));
  const bad = await pods.create(podOn(node.name, "bad", namespace, { restartPolicy: "Never" }));
  await Promise.all([pods.running("good"), pods.running("bad")]);

  node.recording.backend.exit(good.uid, 0);
  node.recording.backend.exit(bad.uid, 3);

  await eventually(async () => expect((await pods.get("good")).status?.phase).toBe("Succeeded"));
  await eventually(async () => expect((await pods.get("bad")).status?.phase).toBe("Failed"));
  // A terminal phase never regresses, whatever the back end reports later.
  node.recording.report({ ref: { namespace, name: "good", uid: good.uid }, status: { phase: "Running" } });
  await eventually(async () => expect((await pods.get("bad")).status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3));
  expect((await pods.get("good")).status?.phase).toBe("Succeeded");
});

async function start(options: Partial<TestNodeOptions> = {}): Promise<TestNode> {
  const node = await startNode({ kubeconfig: controlPlane.kubeconfig, ...options });
  started.push(node);
  return node;
}

/** Records every state of the pods with that name from now on. */
async function follow(name: string): Promise<{ untilDeleted(count: number): Promise<Pod[]> }> {
  const seen: Pod[] = [];
  let deleted = 0;
  const abort = new AbortController();
  const { resourceVersion } = await client.list(resources.pods, { namespace }, { signal });
  const watch = await client.watch(
    resources.pods,
    { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion },
    { signal: abort.signal },
  );
  const reading = (async () => {
    for await (const event of watch) {
      if (event.type !== "ERROR" && event.type !== "BOOKMARK") seen.push(event.object);
      if (event.type === "DELETED") deleted++;
    }
  })().catch(() => undefined);
  return {
    async untilDeleted(count) {
      await eventually(() => expect(deleted).toBe(count));
      abort.abort();
      await reading;
      return seen;
    },
  };
}

/** Maximum number of instances that were alive at the same time. */
function mostAliveAtOnce({ changes }: RecordingProvider): number {
  const alive = new Set<Instance["instanceId"]>();
  let most = 0;
  for (const { change, instance } of changes) {
    if (change === "created") alive.add(instance.instanceId);
    if (change === "ended" || change === "removed") alive.delete(instance.instanceId);
    most = Math.max(most, alive.size);
  }
  return most;
}
