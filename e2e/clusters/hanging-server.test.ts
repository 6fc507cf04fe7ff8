import type { DeepReadonly, Node, Pod } from "@virtual-kubelet/kube-client";
import { eventually, startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { Cluster } from "./support/cluster.ts";
import { ownTolerations, startFarNode } from "./support/far-node.ts";
import { onNode, VirtualNode } from "./support/virtual-node.ts";

const patience = { timeoutMs: 240_000, intervalMs: 500 };
const ends = new AsyncDisposableStack();
const name = "hanging";
const home = ends.use(Cluster.home(name));
// The file's own, because it stops its API server.
let farPlane: ControlPlane;
let far: Cluster;
let node: VirtualNode;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "vk-hanging-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  farPlane = ends.use(
    await startControlPlane({ flags: { "kube-apiserver": { "advertise-address": inject("nodeAddress") } }, audit: "Metadata" }),
  );
  far = ends.use(new Cluster(farPlane, name));
  for (const cluster of [home, far]) ends.use(await cluster.createNamespace());
  const providerConfig = { cpu: "100", memory: "100Gi", pods: "200", podCIDR: "10.92.0.0/16" };
  ends.use(await startFarNode(far, { name: "far-hanging", providerConfig, directory }));
  node = ends.use(
    await VirtualNode.start(name, {
      home: home.access,
      farKubeconfig: farPlane.kubeconfig.path,
      providerConfig: { namespaces: { mode: "same" }, scheduling: { tolerations: ownTolerations(far) } },
      node: { onProviderDown: "condition", pingTolerance: "2s" },
    }),
  );
});

beforeEach(() => node.showLogOnFailure());
afterAll(() => ends.disposeAsync());

const uidsOf = (pods: readonly DeepReadonly<Pod>[]): string[] => pods.flatMap(({ metadata }) => metadata?.uid ?? []).toSorted();

/** Waits until so many home pods run, each with exactly one far pod. @returns the far pods */
async function eachRunsOnce(replicas: number): Promise<readonly DeepReadonly<Pod>[]> {
  return await eventually(async () => {
    const homePods = await home.list<Pod>("get pods -l app=load");
    expect(homePods.map(({ status }) => status?.phase)).toEqual(Array.from({ length: replicas }, () => "Running"));
    const farPods = await far.list<Pod>("get pods -l app=load");
    const carried = farPods.flatMap(({ metadata }) => metadata?.labels?.["virtual-kubelet.io/pod-uid"] ?? []);
    expect(carried.toSorted()).toEqual(uidsOf(homePods));
    return farPods;
  }, patience);
}

/** A change of far pods that was accepted, as `verb name`; the name depends on the home pod's UID. */
function changes(verb: string): readonly string[] {
  return farPlane.auditEvents().flatMap((event) => {
    const { objectRef, responseStatus } = event;
    const isOfPod = objectRef?.resource === "pods" && objectRef.subresource === undefined && objectRef.name !== undefined;
    return event.verb === verb && isOfPod && (responseStatus?.code ?? 500) < 300 ? [objectRef.name] : [];
  });
}

test("while the far API server accepts connections and answers nothing, pods keep their status; what was sent meanwhile counts once", async () => {
  const containers = [{ name: "main", image: "main:1" }];
  const template = { metadata: { labels: { app: "load" } }, spec: { ...onNode(name), terminationGracePeriodSeconds: 1, containers } };
  const spec = { replicas: 10, selector: { matchLabels: { app: "load" } }, template };
  await home.apply({ apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "load" }, spec });
  const before = await eachRunsOnce(10);

  // Creations are on their way when it stops.
  await home.say("scale replicaset load --replicas=40");
  await eventually(async () => expect((await home.list("get pods -l app=load")).length).toBeGreaterThan(15), patience);
  farPlane.processes["kube-apiserver"]?.signal("SIGSTOP");
  try {
    await eventually(async () => {
      const { spec: shown, status } = await home.json<Node>(`get node ${name}`);
      expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
      expect(JSON.stringify([shown?.taints, status?.conditions])).toContain("provider-unavailable");
    }, patience);
    // Longer than requests wait for their answers, so that they are sent again.
    await sleep(45_000);
    const during = await home.list<Pod>("get pods -l app=load");
    expect(during.filter(({ status }) => status?.phase === "Failed")).toEqual([]);
    const kept = new Set(before.map(({ metadata }) => metadata?.labels?.["virtual-kubelet.io/pod-uid"]));
    expect(during.filter((pod) => kept.has(pod.metadata?.uid)).map(({ status }) => status?.phase)).toEqual(before.map(() => "Running"));
    // Nobody waits without end for a log.
    const { code, stderr } = await home.run(`logs ${during[0]?.metadata?.name} --request-timeout=60s`);
    expect(code, stderr).not.toBe(0);
  } finally {
    farPlane.processes["kube-apiserver"]?.signal("SIGCONT");
  }

  const after = await eachRunsOnce(40);
  expect(uidsOf(before).filter((uid) => !uidsOf(after).includes(uid))).toEqual([]);
  const names = changes("create");
  expect(names.filter((each, index) => names.indexOf(each) !== index)).toEqual([]);
  expect(changes("delete")).toEqual([]);
});
