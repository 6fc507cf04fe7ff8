import { podRef } from "@virtual-kubelet/core";
import { startApiServer, VirtualClock, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { createKubeClient, resources, type Pod } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { farPodName, ownerObjectName } from "../identity/names.ts";
import { homePod, resolverOf, startFarRig, type FarRig, type OpenedNode } from "../test-support/far-rig.ts";

const owner = { clusterId: "home-1", nodeName: "far-1" };
const { signal } = new AbortController();
const pod = homePod();
const later = homePod({}, { name: "later" });

let clock: VirtualClock;
/** The cluster as its backup has it: with less than the one before, and with earlier versions. */
let backup: ApiServer;
let isRestored: boolean;
let rig: FarRig;
let node: OpenedNode;

beforeEach(async () => {
  clock = new VirtualClock();
  isRestored = false;
  backup = await startApiServer({ listen: false, controllers: false, serviceAccounts: true, clock });
  const restored = backup.transport();
  rig = await startFarRig({
    clock,
    wrap: (transport) => ({
      request: (request) => (isRestored ? restored : transport).request(request),
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    }),
  });
  node = await rig.open({ pods: [pod, later] });
  await node.provider.createPod(pod, resolverOf(), signal);
  for (let index = 0; index < 20; index++)
    await rig.client.create(resources.configMaps, { metadata: { namespace: "default", name: `filler-${index}` } }, { signal });
  await node.provider.ping?.(signal);
  await vi.waitFor(async () => expect(await node.provider.getPods(signal)).toMatchObject({ complete: true, pods: [{}] }));
});
afterEach(async () => {
  await node[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
  await backup[Symbol.asyncDispose]();
});

async function restore(): Promise<void> {
  isRestored = true;
  await clock.advance(10_000);
  await node.provider.ping?.(signal);
}

test("pods that a restored far cluster lacks are asked for, although its watch goes on as if nothing had happened", async () => {
  await restore();

  expect(await node.provider.getPods(signal)).toMatchObject({ complete: false });
  await clock.advance(5_000);
  await expect(node.provider.getPodStatus(podRef(pod), signal)).rejects.toSatisfy(isUnavailable);
  for (let second = 0; second < 360; second++) await clock.advance(1_000);
  await vi.waitFor(() => expect(node.updates.at(-1)).toMatchObject({ ref: podRef(pod), status: { phase: "Failed" } }));
});

test("a new pod has an owner object that a restored far cluster has, so that garbage collection spares it", async () => {
  await restore();
  await node.provider.createPod(later, resolverOf(), signal);

  const client = createKubeClient(backup.transport(), { clock });
  const object = await client.get(resources.configMaps, { namespace: "default", name: ownerObjectName(owner) }, { signal });
  const far: Pod = await client.get(resources.pods, { namespace: "default", name: farPodName(owner, podRef(later)) }, { signal });
  expect(far.metadata?.ownerReferences).toMatchObject([{ uid: object.metadata?.uid }]);
});

test("pods are not ended by a server without any of our objects that has the far cluster's address, while another watch still goes to the former one", async () => {
  const count = node.updates.length;
  isRestored = true;
  rig.server.faults.disrupt({ verb: "watch", resource: "pods" }, { kind: "error-event", code: 410 });
  for (let second = 0; second < 60; second++) await clock.advance(1_000);

  expect(node.updates.slice(count)).toEqual([]);
  await expect(node.provider.getPodStatus(podRef(pod), signal)).rejects.toSatisfy(isUnavailable);
});

test("a ping that finds a later version changes nothing", async () => {
  await clock.advance(10_000);
  await rig.client.create(resources.configMaps, { metadata: { namespace: "default", name: "another" } }, { signal });
  await node.provider.ping?.(signal);

  expect(await node.provider.getPods(signal)).toMatchObject({ complete: true, pods: [{}] });
});
