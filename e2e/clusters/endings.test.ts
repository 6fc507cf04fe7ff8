import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Cluster } from "./support/cluster.ts";
import { diagnoseFailure } from "./support/diagnosis.ts";
import { ownTolerations, startFarNode } from "./support/far-node.ts";
import { onNode, VirtualNode } from "./support/virtual-node.ts";

const patience = { timeoutMs: 180_000, intervalMs: 300 };
const ends = new AsyncDisposableStack();
const name = "endings";
/** A far node with one CPU. */
const farNode = "far-endings";
const home = ends.use(Cluster.home(name));
const far = ends.use(Cluster.far(name));
let node: VirtualNode;

function podOf(pod: string, cpu: string, more: object = {}): object {
  const containers = [{ name: "main", image: "main:1", resources: { requests: { cpu } } }];
  const spec = { ...onNode(name), terminationGracePeriodSeconds: 1, containers, ...more };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: pod }, spec };
}

async function farPodOf(uid: string | undefined): Promise<DeepReadonly<Pod> | undefined> {
  return (await far.list<Pod>(`get pods -l virtual-kubelet.io/pod-uid=${uid ?? ""}`))[0];
}

/** The far pod's name, once the home pod runs. */
async function farNameOf(pod: string): Promise<string> {
  return await eventually(async () => {
    const { metadata, status } = await home.json<Pod>(`get pod ${pod}`);
    expect(status?.phase).toBe("Running");
    const found = await farPodOf(metadata?.uid);
    expect(found?.status?.phase).toBe("Running");
    return found?.metadata?.name ?? "";
  }, patience);
}

async function failed(pod: string): Promise<DeepReadonly<Pod>["status"]> {
  return await eventually(async () => {
    const { status } = await home.json<Pod>(`get pod ${pod}`);
    expect(status?.phase).toBe("Failed");
    return status;
  }, patience);
}

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "vk-endings-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  for (const cluster of [home, far]) ends.use(await cluster.createNamespace());
  const config = { cpu: "1", memory: "4Gi", pods: "50", podCIDR: "10.90.0.0/16" };
  ends.use(await startFarNode(far, { name: farNode, providerConfig: config, directory }));
  node = ends.use(
    await VirtualNode.start(name, {
      home: home.access,
      farKubeconfig: far.access.kubeconfig.path,
      providerConfig: {
        namespaces: { mode: "same" },
        scheduling: {
          nodeSelector: { "kubernetes.io/hostname": farNode },
          tolerations: ownTolerations(far),
          priorityClasses: { important: "far-important" },
        },
        // More than the far node has, so that home places what the far scheduler then refuses.
        node: { capacity: { cpu: "8", memory: "16Gi", pods: "50" } },
      },
    }),
  );
});

beforeEach(() => diagnoseFailure({ home, far, log: () => node.log }));
afterAll(() => ends.disposeAsync());

test("a pod that is evicted in the far cluster has Failed here, and its ReplicaSet replaces it", async () => {
  const template = { metadata: { labels: { app: "evicted" } }, spec: (podOf("evicted", "100m") as { spec: object }).spec };
  const spec = { replicas: 1, selector: { matchLabels: { app: "evicted" } }, template };
  await home.apply({ apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "evicted" }, spec });
  const first = await eventually(async () => {
    const [pod] = await home.list<Pod>("get pods -l app=evicted");
    return pod?.metadata?.name ?? Promise.reject(new Error("there is no pod"));
  }, patience);
  const farName = await farNameOf(first);

  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: farName, namespace: name } };
  await far.say(`create --raw /api/v1/namespaces/${name}/pods/${farName}/eviction -f -`, JSON.stringify(eviction));

  const status = await failed(first);
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }),
  );
  await eventually(async () => {
    const others = (await home.list<Pod>("get pods -l app=evicted")).filter(({ metadata }) => metadata?.name !== first);
    expect(others).toMatchObject([{ status: { phase: "Running" } }]);
  }, patience);
  await home.say("delete replicaset evicted --cascade=foreground");
});

test("a pod that somebody deletes in the far cluster has Failed here, with the reason", async () => {
  await home.apply(podOf("deleted", "100m"));
  await far.say(`delete pod ${await farNameOf("deleted")} --wait=false`);

  const status = await failed("deleted");
  expect(status?.reason, JSON.stringify(status)).toBeTruthy();
  expect(`${status?.message}`).toMatch(/far|deleted/i);
  await home.say("delete pod deleted");
});

test("pods that are deleted and evicted in the far cluster while the program is stopped have Failed here, with the reason, and are not created again", async () => {
  await home.apply(podOf("deleted-meanwhile", "100m"), podOf("tainted-meanwhile", "100m"));
  const [deleted, tainted] = [await farNameOf("deleted-meanwhile"), await farNameOf("tainted-meanwhile")];
  await node.killProgram();
  await far.say(`delete pod ${deleted} --wait=false`);
  await eventually(async () => expect((await far.run(`get pod ${deleted}`)).code).not.toBe(0), patience);
  await far.say(`taint node ${farNode} example.com/maintenance=:NoExecute`);
  await eventually(async () => expect((await far.run(`get pod ${tainted}`)).code).not.toBe(0), patience);
  await far.say(`taint node ${farNode} example.com/maintenance-`);

  node.startProgram();

  expect((await failed("deleted-meanwhile"))?.message).toContain(
    `${deleted} was deleted in the far cluster while its virtual node was away`,
  );
  expect(await failed("tainted-meanwhile")).toMatchObject({
    reason: "DeletionByTaintManager",
    message: expect.stringContaining("TaintManagerEviction"),
  });
  expect(await far.list("get pods -l virtual-kubelet.io/node=endings")).toEqual([]);
  await home.say("delete pod deleted-meanwhile tainted-meanwhile");
});

test("a pod that is preempted in the far cluster has Failed here; one that does not fit is Pending with the far scheduler's message", async () => {
  const priority = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", value: 1000 };
  await far.apply({ ...priority, metadata: { name: "far-important" } });
  await home.apply({ ...priority, metadata: { name: "important" } });
  await home.apply(podOf("victim", "900m"));
  await farNameOf("victim");

  await home.apply(podOf("too-big", "900m"));
  await eventually(async () => {
    const { status } = await home.json<Pod>("get pod too-big");
    expect(status?.phase).toBe("Pending");
    expect(JSON.stringify(status)).toContain("Insufficient cpu");
    const events = await home.say("get events --field-selector involvedObject.name=too-big -o jsonpath={.items[*].message}");
    expect(events).toContain("Insufficient cpu");
  }, patience);
  await home.say("delete pod too-big");

  await home.apply(podOf("winner", "900m", { priorityClassName: "important" }));
  await farNameOf("winner");
  expect((await failed("victim"))?.conditions).toContainEqual(
    expect.objectContaining({ type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" }),
  );
  await home.say("delete pod victim winner");
  await home.say("delete priorityclass important");
  await far.say("delete priorityclass far-important");
});

test("deleting the owner object in the far cluster removes the node's pods there, and they have Failed here", async () => {
  await home.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "words" }, data: { greeting: "hello" } });
  const env = [{ name: "GREETING", valueFrom: { configMapKeyRef: { name: "words", key: "greeting" } } }];
  await home.apply(podOf("owned", "100m", { containers: [{ name: "main", image: "main:1", env }] }));
  await farNameOf("owned");
  const owners = (await far.list("get configmaps -l virtual-kubelet.io/node=endings")).filter(({ metadata }) =>
    metadata?.name?.startsWith("virtual-kubelet-"),
  );
  expect(owners).toHaveLength(1);

  await far.say(`delete configmap ${owners[0]?.metadata?.name} --cascade=background`);

  await failed("owned");
  await eventually(async () => expect(await far.list("get pods -l virtual-kubelet.io/node=endings")).toEqual([]), patience);
  await home.say("delete pod owned");
});
