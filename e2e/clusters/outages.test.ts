import type { DeepReadonly, Node, Pod } from "@virtual-kubelet/kube-client";
import { eventually, startControlPlane, startFaultProxy, type ControlPlane, type FaultProxy } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { Cluster } from "./support/cluster.ts";
import { ownTolerations, startFarNode } from "./support/far-node.ts";
import { onNode, VirtualNode } from "./support/virtual-node.ts";

/** Pods under load. */
const count = 300;
const patience = { timeoutMs: 180_000, intervalMs: 500 };
const ends = new AsyncDisposableStack();
const name = "outages";
const uidLabel = "virtual-kubelet.io/pod-uid";
// Both are the file's own, because it stops their API servers.
let homePlane: ControlPlane;
let farPlane: ControlPlane;
let home: Cluster;
let far: Cluster;
/** Between the virtual node and the far API server. */
let path: FaultProxy;
let node: VirtualNode;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "vk-outages-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  const server = { "advertise-address": inject("nodeAddress"), "max-requests-inflight": "800" };
  // A home cluster that loses sight of the node for a minute must not evict its pods.
  const flags = { "kube-apiserver": server, "kube-controller-manager": { "node-monitor-grace-period": "300s" } };
  homePlane = ends.use(await startControlPlane({ flags }));
  farPlane = ends.use(await startControlPlane({ flags, audit: "Metadata" }));
  home = ends.use(new Cluster(homePlane, name));
  far = ends.use(new Cluster(farPlane, name));
  for (const cluster of [home, far]) await cluster.createNamespace();
  const providerConfig = { cpu: "1000", memory: "1Ti", pods: "2000", podCIDR: "10.91.0.0/16" };
  ends.use(await startFarNode(far, { name: "far-outages", providerConfig, directory }));
  path = ends.use(await startFaultProxy({ target: farPlane.target }));
  node = ends.use(
    await VirtualNode.start(name, {
      home: homePlane,
      farKubeconfig: path.kubeconfig.path,
      providerConfig: { namespaces: { mode: "same" }, scheduling: { tolerations: ownTolerations(far) } },
      node: { onProviderDown: "condition", pingTolerance: "2s" },
    }),
  );
});

beforeEach(() => node.showLogOnFailure());
afterAll(() => ends.disposeAsync());

async function useDeployment(replicas: number): Promise<AsyncDisposable> {
  const containers = [
    { name: "main", image: "main:1", env: [{ name: "WORD", valueFrom: { secretKeyRef: { name: "word", key: "word" } } }] },
  ];
  const template = { metadata: { labels: { app: "load" } }, spec: { ...onNode(name), terminationGracePeriodSeconds: 1, containers } };
  await home.apply(
    { apiVersion: "v1", kind: "Secret", metadata: { name: "word" }, stringData: { word: "carried" } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "load" },
      spec: { replicas, selector: { matchLabels: { app: "load" } }, template },
    },
  );
  return {
    [Symbol.asyncDispose]: async () => {
      await home.say("delete deployment load --wait=false");
      await eventually(async () => expect(await far.list("get pods")).toEqual([]), patience);
    },
  };
}

const isLeaving = ({ metadata }: DeepReadonly<Pod>): boolean => metadata?.deletionTimestamp !== undefined;
const uidsOf = (pods: readonly DeepReadonly<Pod>[]): string[] => pods.flatMap(({ metadata }) => metadata?.uid ?? []).toSorted();
const homeUidsOf = (pods: readonly DeepReadonly<Pod>[]): string[] =>
  pods.flatMap(({ metadata }) => metadata?.labels?.[uidLabel] ?? []).toSorted();

/** Waits until each of so many home pods runs, and the far cluster has exactly one pod for each. @returns the far pods */
async function eachRunsOnce(replicas: number): Promise<readonly DeepReadonly<Pod>[]> {
  return await eventually(async () => {
    const homePods = (await home.list<Pod>("get pods -l app=load")).filter((pod) => !isLeaving(pod));
    expect(homePods.filter(({ status }) => status?.phase === "Running")).toHaveLength(replicas);
    const farPods = (await far.list<Pod>("get pods -l app=load")).filter((pod) => !isLeaving(pod));
    expect(homeUidsOf(farPods)).toEqual(uidsOf(homePods));
    return farPods;
  }, patience);
}

/** Successful creations of far pods so far, by the far pod's name, which depends on the home pod's UID. */
function creations(): readonly string[] {
  return farPlane.auditEvents().flatMap(({ verb, objectRef, responseStatus }) => {
    const isCreation = verb === "create" && objectRef?.resource === "pods" && objectRef.subresource === undefined;
    return isCreation && responseStatus?.code === 201 && objectRef.name !== undefined ? [objectRef.name] : [];
  });
}

function expectNoneTwice(): void {
  const names = creations();
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((each, index) => names.indexOf(each) !== index)).toEqual([]);
}

async function conditionOf(type: string): Promise<string | undefined> {
  const { status } = await home.json<Node>(`get node ${name}`);
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

test("while the far API server is away the node says so, pods keep their status, and nothing is deleted; then all goes on", async () => {
  await using _load = await useDeployment(5);
  const before = await eachRunsOnce(5);

  await farPlane.killApiServer();
  await eventually(async () => {
    const { spec, status } = await home.json<Node>(`get node ${name}`);
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
    expect(JSON.stringify([spec?.taints, status?.conditions])).toContain("provider-unavailable");
  }, patience);
  await home.say("scale deployment load --replicas=7");
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  const during = await home.list<Pod>("get pods -l app=load");
  expect(during.filter(({ status }) => status?.phase === "Running")).toHaveLength(5);
  await farPlane.startApiServer();

  const after = await eachRunsOnce(7);
  expect(uidsOf(before).filter((uid) => !uidsOf(after).includes(uid))).toEqual([]);
  expect(await conditionOf("Ready")).toBe("True");
  expectNoneTwice();
});

test.each([
  { what: "requests are accepted and never answered", fault: { kind: "drop" } },
  { what: "every answer is 403", fault: { kind: "status", status: 403 } },
  { what: "answers are cut off", fault: { kind: "truncate", afterBytes: 200 } },
] as const)("while $what between the clusters, no pod is lost, deleted or created twice", async ({ fault }) => {
  await using _load = await useDeployment(5);
  const before = await eachRunsOnce(5);

  path.inject({}, fault);
  path.disrupt({ watch: true }, { kind: "truncate", afterBytes: 0, cutOff: "reset" });
  await home.say("scale deployment load --replicas=8");
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const during = await home.list<Pod>("get pods -l app=load");
  expect(during.filter(({ status }) => status?.phase === "Running")).toHaveLength(5);
  path.clear();

  const after = await eachRunsOnce(8);
  expect(uidsOf(before).filter((uid) => !uidsOf(after).includes(uid))).toEqual([]);
  expectNoneTwice();
});

test("a program that is killed while hundreds of pods come, twice, loses none and creates none twice", async () => {
  await using _load = await useDeployment(count);
  for (const share of [0.2, 0.6]) {
    await eventually(async () => expect((await far.list("get pods -l app=load")).length).toBeGreaterThan(share * count), patience);
    await node.killProgram();
    node.startProgram();
  }

  await eachRunsOnce(count);
  expectNoneTwice();
});

test("both API servers restart, and the clusters are cut off from each other, while hundreds of pods come and go: none is lost, none is there twice", async () => {
  await using _load = await useDeployment(count);
  const someCame = (share: number): Promise<void> =>
    eventually(async () => expect((await far.list("get pods -l app=load")).length).toBeGreaterThan(share * count), patience);
  await someCame(0.2);
  await homePlane.killApiServer();
  await homePlane.startApiServer();
  await someCame(0.4);
  await farPlane.killApiServer();
  await farPlane.startApiServer();
  await someCame(0.5);
  {
    // Half of the requests that are not answered reach the far cluster.
    using _forwarded = path.inject({ method: "POST", times: 20 }, { kind: "reset", forward: true });
    using _dropped = path.inject({}, { kind: "reset" });
    path.disrupt({ watch: true }, { kind: "truncate", afterBytes: 0, cutOff: "reset" });
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  }
  await eachRunsOnce(count);
  await home.say("scale deployment load --replicas=100");
  await Promise.all([homePlane.restartApiServer(), farPlane.restartApiServer()]);
  await eachRunsOnce(100);
  await home.say(`scale deployment load --replicas=${count}`);

  await eachRunsOnce(count);
  expectNoneTwice();
});
