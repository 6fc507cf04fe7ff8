import { podRef, type PodChanges } from "@virtual-kubelet/core";
import { isInvalidInput, isNotFound, isUnauthorized } from "@virtual-kubelet/errdefs";
import { resources, type Pod } from "@virtual-kubelet/kube-client";

import { afterEach, assert, beforeEach, describe, expect, test, vi } from "vitest";
import { farPodName } from "./identity/names.ts";
import { kubernetesProvider } from "./provider.ts";
import { homePod, reportFar, resolverOf, startFarRig, type FarRig } from "./test-support/far-rig.ts";

const owner = { clusterId: "home-1", nodeName: "far-1" };
const { signal } = new AbortController();
let rig: FarRig;

beforeEach(async () => {
  rig = await startFarRig();
});
afterEach(() => rig[Symbol.asyncDispose]());

const farOf = (pod: Pod): Promise<Pod> =>
  rig.client.get(resources.pods, { namespace: "default", name: farPodName(owner, podRef(pod)) }, { signal });

test("a pod runs in the far cluster, its status comes back, and its deletion too", async () => {
  await using node = await rig.open();
  const { provider, updates } = node;
  const pod = homePod();
  const ref = podRef(pod);

  await provider.createPod(pod, resolverOf(), signal);
  const far = await farOf(pod);
  await reportFar(rig.client, far, { phase: "Running", podIP: "10.9.0.1", podIPs: [{ ip: "10.9.0.1" }] });

  await vi.waitFor(() => expect(updates.at(-1)).toMatchObject({ ref, status: { phase: "Running", podIP: "10.9.0.1" } }));
  expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref, owner }] });
  expect(await provider.getPodStatus(ref, signal)).toMatchObject({ phase: "Running" });

  await provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal);
  await vi.waitFor(() => expect(updates.at(-1)).toEqual({ ref, gone: true }));
  await expect(provider.getPod(ref, signal)).rejects.toSatisfy(isNotFound);
});

test("a second creation adopts the far pod of the first", async () => {
  const pod = homePod();
  await using first = await rig.open();
  await first.provider.createPod(pod, resolverOf(), signal);
  await using second = await rig.open();

  await second.provider.createPod(pod, resolverOf(), signal);

  expect((await rig.client.list(resources.pods, {}, { signal })).items).toHaveLength(1);
});

test("everything that is read in the far cluster is counted under the names for the far cluster", async () => {
  const counted = new Set<string>();
  const count = (name: string): void => void counted.add(name);
  await using node = await rig.open({
    host: { metrics: { count, gauge: count, observe: count } },
    config: { node: { capacity: "quota" } },
  });
  await node.provider.configureNode?.(signal);
  await node.provider.createPod(homePod(), resolverOf(), signal);
  // Reads the copies.
  await vi.waitFor(() => expect(counted).toContain("vk_kubernetes_far_reflector_lists_total"));
  await rig.clock.advance(1_000);

  expect([...counted].filter((name) => /^vk_reflector|^rest_client/.test(name))).toEqual([]);
});

test("all far objects of a node belong to one config map of its own, so that one deletion removes what a lost node has left", async () => {
  await using node = await rig.open();
  await Promise.all(["a", "b"].map((name) => node.provider.createPod(homePod({}, { name }), resolverOf(), signal)));

  const { items } = await rig.client.list(resources.pods, {}, { signal });
  const owners = new Set(items.flatMap(({ metadata }) => metadata?.ownerReferences?.map(({ uid, controller }) => `${uid} ${controller}`)));

  expect(items).toHaveLength(2);
  expect(owners.size).toBe(1);
  expect([...owners][0]).toMatch(/ true$/);
});

test("two nodes on one far cluster see only their own pods", async () => {
  await using one = await rig.open({ nodeName: "one" });
  await using two = await rig.open({ nodeName: "two" });
  const pod = homePod();
  await one.provider.createPod(pod, resolverOf(), signal);

  await vi.waitFor(async () => expect((await one.provider.getPods(signal)).pods).toHaveLength(1));

  expect((await two.provider.getPods(signal)).pods).toEqual([]);
  await expect(two.provider.deletePod(podRef(pod), { gracePeriodSeconds: 0 }, signal)).rejects.toThrow("somebody else's");
  expect(await one.provider.getPods(signal)).toMatchObject({ pods: [{ ref: podRef(pod) }] });
});

test("without an id of the home cluster nothing begins, because its pods could not be told apart", async () => {
  await expect(rig.open({ clusterId: "" })).rejects.toSatisfy((error) => isInvalidInput(error) && String(error).includes("cluster.id"));
});

test("without a kubeconfig nothing begins, so that the home cluster is never the far one by accident", async () => {
  const definition = kubernetesProvider({ env: { KUBECONFIG: "/home/kubeconfig", KUBERNETES_SERVICE_HOST: "10.96.0.1" } });
  const parsed = definition.configSchema.safeParse({});
  assert(parsed.success);
  const { clock } = rig;
  const host = { nodeName: "far-1", clusterId: "home-1", clock, metrics: { count() {}, gauge() {}, observe() {} } };

  await expect(definition.create(host as never, parsed.data)).rejects.toThrow("set it, or the variable FAR_KUBECONFIG");
});

test("an update of a pod that the far cluster does not have says so", async () => {
  await using node = await rig.open();
  const pod = homePod();
  const changes: PodChanges = { previous: undefined, parts: ["metadata.labels"] };

  await expect(node.provider.updatePod(pod, resolverOf(), signal, changes)).rejects.toSatisfy(isNotFound);
});

describe("a ping", () => {
  test("of many nodes is one request, and fails when the far cluster does not answer or refuses the credentials", async () => {
    await using one = await rig.open({ nodeName: "one" });
    await using two = await rig.open({ nodeName: "two" });
    const reads = rig.server.faults.inject({ verb: "list", resource: "configmaps" }, { kind: "delay", ms: 0 });
    await Promise.all([one.provider.ping?.(signal), two.provider.ping?.(signal), rig.clock.advance(1)]);
    expect(reads.hits).toBe(1);
    reads[Symbol.dispose]();

    await rig.clock.advance(10_000);
    for (const status of [401, 403, 404, 429, 500, 503]) {
      using _ = rig.server.faults.inject({ verb: "list", resource: "configmaps" }, { kind: "status", status });
      await expect(one.provider.ping?.(signal), `status ${status}`).rejects.toBeDefined();
    }
    await one.provider.ping?.(signal);
  });

  test("that is refused for its credentials names their setting and what to do, as does the check of rights", async () => {
    await using node = await rig.open({ nodeName: "refused" });
    using _ = rig.server.faults.inject({}, { kind: "status", status: 401 });

    for (const ask of [node.provider.ping?.(signal), node.provider.checkAccess?.(signal)])
      await expect(ask).rejects.toSatisfy(
        (error) => isUnauthorized(error) && /cluster\.kubeconfig.*write new ones there/.test(String(error)),
      );
  });
});
