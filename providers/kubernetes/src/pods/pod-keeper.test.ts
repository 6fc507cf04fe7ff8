import { VirtualClock } from "@virtual-kubelet/clock";
import { podRef, type Provider, type ProviderPodStatus } from "@virtual-kubelet/core";
import { isConflict, isNotFound, isQuotaExceeded, isUnavailable } from "@virtual-kubelet/errdefs";
import { resources, type Pod } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { copyName, farPodName, ownerObjectName } from "../identity/names.ts";
import { homePod, reportFar, resolverOf, startFarRig, type FarRig, type OpenedNode } from "../test-support/far-rig.ts";

const owner = { clusterId: "home-1", nodeName: "far-1" };
const { signal } = new AbortController();
const pod = homePod();
const ref = podRef(pod);
const name = { namespace: "default", name: farPodName(owner, ref) };
const running = {
  phase: "Running",
  containerStatuses: [{ name: "main", image: "i", imageID: "", ready: true, restartCount: 0, state: { running: {} } }],
};

let clock: VirtualClock;
let rig: FarRig;
let node: OpenedNode;
let provider: Provider;

beforeEach(async () => {
  clock = new VirtualClock();
  rig = await startFarRig({ clock });
  node = await rig.open({ pods: [pod] });
  provider = node.provider;
});
afterEach(async () => {
  await node[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});

/** Creates the far pod, which then runs. */
async function run(): Promise<Pod> {
  await provider.createPod(pod, resolverOf(), signal);
  const far = await rig.client.get(resources.pods, name, { signal });
  await reportFar(rig.client, far, running);
  await reported({ phase: "Running" });
  return far;
}

const reported = (status: object): Promise<void> => vi.waitFor(() => expect(node.updates.at(-1)).toMatchObject({ ref, status }));

const patch = (body: object): Promise<Pod> => rig.client.patch(resources.pods, name, { type: "merge", body }, { signal });
const remove = (gracePeriodSeconds = 0): Promise<void> => rig.client.delete(resources.pods, name, { gracePeriodSeconds }, { signal });

describe("a pod that somebody ends in the far cluster", () => {
  test("has Failed here, and stays so until it is deleted here", async () => {
    await run();

    await remove();

    await reported({ phase: "Failed", reason: "FarPodDeleted" });
    expect(await provider.getPodStatus(ref, signal)).toMatchObject({ phase: "Failed" });
    expect(await provider.getPod(ref, signal)).toMatchObject({ ref, owner, status: { phase: "Failed" } });
    expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref, status: { phase: "Failed" } }] });
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 30 }, signal)).rejects.toSatisfy(isNotFound);
    await expect(provider.getPodStatus(ref, signal)).rejects.toSatisfy(isNotFound);
  });

  test("has Failed, although its containers ended with code 0 when they were told to", async () => {
    const far = await run();
    await reportFar(rig.client, far, { ...running, phase: "Succeeded" });

    await remove();

    await reported({ phase: "Failed", reason: "FarPodDeleted" });
  });

  test("has the reason of its eviction", async () => {
    const far = await run();
    const conditions = [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" }];
    await reportFar(rig.client, far, { ...running, conditions });

    await remove();

    await reported({ phase: "Failed", reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" });
  });

  test("has Failed, even if it was ended before the answer to its creation has arrived", async () => {
    const answered = Promise.withResolvers<void>();
    await using late = await startFarRig({
      clock,
      wrap: (transport) => ({
        async request(request) {
          const answer = await transport.request(request);
          if (request.method === "POST" && request.path.includes("/pods")) await answered.promise;
          return answer;
        },
        [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
      }),
    });
    await using slow = await late.open({ pods: [pod] });
    await slow.provider.getPods(signal);
    const creation = slow.provider.createPod(pod, resolverOf(), signal);
    await vi.waitFor(() => expect(slow.updates).toMatchObject([{ ref }]));

    await late.client.delete(resources.pods, name, { gracePeriodSeconds: 0 }, { signal });
    await vi.waitFor(() => expect(slow.updates.at(-1)).toMatchObject({ ref, status: { phase: "Failed" } }));
    answered.resolve();
    await creation;

    expect(await slow.provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref, status: { phase: "Failed" } }] });
    expect(await slow.provider.getPodStatus(ref, signal)).toMatchObject({ phase: "Failed", reason: "FarPodDeleted" });
  });

  test("is gone, and has not Failed, if it is being deleted here as well", async () => {
    await using deleting = await rig.open({ pods: [{ ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }] });
    await run();

    await remove();

    await vi.waitFor(() => expect(deleting.updates.at(-1)).toEqual({ ref, gone: true }));
  });
});

describe("a pod that somebody ends in the far cluster while the program is stopped", () => {
  const home: Pod = { ...pod, spec: { containers: [], ...pod.spec, restartPolicy: "Always" }, status: { ...running, podIP: "10.2.0.1" } };
  const event = (reason: string, message: string, minute: number): Promise<unknown> =>
    rig.client.create(
      resources.events,
      {
        apiVersion: "v1",
        kind: "Event",
        metadata: { namespace: "default", name: `${name.name}.${minute}` },
        involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "default", name: name.name },
        reason,
        message,
        type: "Normal",
        lastTimestamp: `2026-01-01T00:0${minute}:00Z`,
      },
      { signal },
    );

  /** Starts the program again after the far pod was deleted. */
  async function restart(pods: readonly Pod[] = [home], config: object = {}): Promise<OpenedNode> {
    await run();
    await node[Symbol.asyncDispose]();
    await remove();
    return await rig.open({ pods, config });
  }

  /** The status with which the pod ends, after the core has asked for it. */
  async function ended({ provider: after, updates }: OpenedNode): Promise<ProviderPodStatus> {
    await after.getPods(signal);
    await expect(after.getPod(ref, signal)).rejects.toSatisfy(isUnavailable);
    await vi.waitFor(() => expect(updates).toMatchObject([{ ref, status: {} }]));
    return await after.getPodStatus(ref, signal);
  }

  test("has Failed, and is not created again, although it restarts its containers", async () => {
    await using after = await restart();

    const message = `the far pod default/${name.name} was deleted in the far cluster while its virtual node was away`;
    expect(await ended(after)).toMatchObject({
      phase: "Failed",
      reason: "FarPodDeleted",
      message,
      podIP: "10.2.0.1",
      containerStatuses: [{ name: "main", state: { terminated: { exitCode: 137, message } } }],
      endsWhenGone: true,
    });
    expect(await after.provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref, status: { phase: "Failed" } }] });
    await expect(after.provider.deletePod(ref, { gracePeriodSeconds: 30 }, signal)).rejects.toSatisfy(isNotFound);
    await expect(after.provider.getPodStatus(ref, signal)).rejects.toSatisfy(isNotFound);
  });

  test.each([
    ["Preempted", "Preempted by pod 1 on node n", "PreemptionByScheduler"],
    ["TaintManagerEviction", "Marking for deletion Pod default/web", "DeletionByTaintManager"],
    ["Evicted", "The node was low on resource: memory", "Evicted"],
  ])("has the reason of its event %s", async (reason, words, expected) => {
    await event("Started", "Started container main", 1);
    await event(reason, words, 2);
    await event("Killing", "Stopping container main", 3);
    await using after = await restart();

    expect(await ended(after)).toMatchObject({ reason: expected, message: expect.stringContaining(`${reason}: ${words}`) });
  });

  test("has its last event in the message if none says why", async () => {
    await event("Killing", "Stopping container main", 2);
    await event("TaintManagerEviction", "Cancelling deletion of Pod default/web", 1);
    await using after = await restart();

    const status = await ended(after);
    expect(status).toMatchObject({ reason: "FarPodDeleted", message: expect.stringContaining("; its last event: Killing: Stopping") });
  });

  test("has the reason that the far cluster had given before", async () => {
    const conditions = [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" }];
    await using after = await restart([{ ...home, status: { ...home.status, conditions } }]);

    expect(await ended(after)).toMatchObject({ reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" });
  });

  test("has Failed, even if the far cluster does not allow to read events", async () => {
    using _ = rig.server.faults.inject({ verb: "list", resource: "events" }, { kind: "status", status: 403 });
    await using after = await restart();

    expect(await ended(after)).toMatchObject({ phase: "Failed", reason: "FarPodDeleted" });
  });

  test("is created again if none of its containers had ever run", async () => {
    await using after = await restart([pod]);

    await expect(after.provider.getPod(ref, signal)).rejects.toSatisfy(isNotFound);
  });

  test("is kept for five minutes if the owner object is missing, too, even if another has been created", async () => {
    await run();
    await node[Symbol.asyncDispose]();
    await remove();
    await rig.client.delete(resources.configMaps, { namespace: "default", name: ownerObjectName(owner) }, {}, { signal });
    await using after = await rig.open({ pods: [home] });
    await after.provider.getPods(signal);
    await after.provider.createPod(homePod({}, { name: "other" }), resolverOf(), signal);

    await expect(after.provider.getPod(ref, signal)).rejects.toSatisfy(isUnavailable);
    for (let second = 0; second < 120; second++) await clock.advance(1_000);
    expect(after.updates.filter((update) => update.ref.uid === ref.uid)).toEqual([]);

    for (let second = 0; second < 240; second++) await clock.advance(1_000);
    await vi.waitFor(() => expect(after.updates.at(-1)).toMatchObject({ ref, status: { phase: "Failed" } }));
  });
});

describe("a far pod that somebody edits", () => {
  test("and that has lost our labels is neither gone nor ended", async () => {
    await run();
    const count = node.updates.length;

    await patch({ metadata: { labels: { "virtual-kubelet.io/cluster": null } } });

    await vi.waitFor(async () => expect((await provider.getPods(signal)).pods).toEqual([]));
    await expect(provider.getPodStatus(ref, signal)).rejects.toSatisfy(isConflict);
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal)).rejects.toSatisfy(isConflict);
    expect(node.updates.slice(count).filter((update) => "gone" in update || update.status.phase === "Failed")).toEqual([]);
    expect((await rig.client.get(resources.pods, name, { signal })).metadata?.deletionTimestamp).toBeUndefined();
  });

  test("is ours again when it has its labels again", async () => {
    const far = await run();
    await patch({ metadata: { labels: { "virtual-kubelet.io/pod-uid": "another" } } });
    await vi.waitFor(async () => expect((await provider.getPods(signal)).pods).toEqual([]));

    await patch({ metadata: { labels: far.metadata?.labels } });

    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref }] }));
  });

  test("and that has lost our labels keeps its copies of config maps, also after a restart of the program", async () => {
    const other = homePod(
      { containers: [{ name: "main", image: "i", envFrom: [{ configMapRef: { name: "settings" } }] }] },
      { name: "with-settings" },
    );
    const settings = { metadata: { namespace: "default", name: "settings", uid: "1", resourceVersion: "1" }, data: { a: "1" } };
    const resolved = resolverOf({ configMap: () => Promise.resolve(settings) });
    const options = { nodeName: "far-2", pods: [other], host: { resolvePod: () => resolved } };
    const before = await rig.open(options);
    await before.provider.createPod(other, resolved, signal);
    await before[Symbol.asyncDispose]();
    const unlabelled = { metadata: { labels: { "virtual-kubelet.io/cluster": null } } };
    const farName = { namespace: "default", name: farPodName(owner, podRef(other)) };
    await rig.client.patch(resources.pods, farName, { type: "merge", body: unlabelled }, { signal });
    await using after = await rig.open(options);

    await expect(after.provider.getPodStatus(podRef(other), signal)).rejects.toSatisfy(isConflict);
    for (let second = 0; second < 600; second++) await clock.advance(1_000);

    const copy = { namespace: "default", name: copyName({ ...owner, nodeName: "far-2" }, "ConfigMap", settings.metadata) };
    expect(await rig.client.get(resources.configMaps, copy, { signal })).toMatchObject({ data: { a: "1" } });
  });

  test("or copies under another name with all its labels, is no second pod of ours", async () => {
    const far = await run();
    const { labels, annotations } = far.metadata ?? {};
    const copy: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "default", name: "copy", labels, annotations },
      spec: far.spec,
    };
    await rig.client.create(resources.pods, copy, { signal });
    await rig.client.delete(resources.pods, { namespace: "default", name: "copy" }, { gracePeriodSeconds: 0 }, { signal });

    expect(await provider.getPods(signal)).toMatchObject({ pods: [{ ref, status: { phase: "Running" } }] });
  });
});

test("a far pod with our labels but without our annotations is told once, and is not touched", async () => {
  const warnings: unknown[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (fields: object) => void warnings.push(fields), child: () => logger };
  await using watching = await rig.open({ host: { logger } });
  const stranger: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "default",
      name: "stranger",
      labels: { "virtual-kubelet.io/cluster": "home-1", "virtual-kubelet.io/node": "far-1" },
    },
    spec: { containers: [{ name: "main", image: "i" }] },
  };
  await watching.provider.getPods(signal);

  const created = await rig.client.create(resources.pods, stranger, { signal });
  await reportFar(rig.client, created, running);

  await vi.waitFor(() => expect(warnings).toEqual([{ pod: "default/stranger", why: expect.stringContaining("delete it, or its labels") }]));
  expect((await watching.provider.getPods(signal)).pods).toEqual([]);
});

describe("what the far cluster answers", () => {
  test("a 404 that is not the API server's says nothing about the pod", async () => {
    await run();
    using _ = rig.server.faults.inject({ resource: "pods" }, { kind: "status", status: 404, message: "default backend - 404" });

    await expect(provider.getPodStatus(ref, signal)).rejects.toSatisfy(isUnavailable);
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal)).rejects.toSatisfy(isUnavailable);
  });

  test("an exceeded quota leaves the pod waiting, in the far cluster's words", async () => {
    const message = 'pods "web" is forbidden: exceeded quota: team, requested: pods=1, used: pods=8, limited: pods=8';
    using _ = rig.server.faults.inject({ verb: "create", resource: "pods" }, { kind: "status", status: 403, message });

    await expect(provider.createPod(pod, resolverOf(), signal)).rejects.toSatisfy(
      (error) => isQuotaExceeded(error) && String(error).includes(message),
    );
  });

  test("that there is no such namespace says how to mend it", async () => {
    await using other = await rig.open({ config: { namespaces: { mode: "one", name: "absent" } } });

    await expect(other.provider.createPod(pod, resolverOf(), signal)).rejects.toThrow("the far namespace absent does not exist; create it");
  });

  test("nothing, after the pod was created: the next call adopts it", async () => {
    const fault = rig.server.faults.inject({ verb: "create", resource: "pods" }, { kind: "reset", forward: true });
    await expect(provider.createPod(pod, resolverOf(), signal)).rejects.toSatisfy(isUnavailable);
    fault[Symbol.dispose]();

    await provider.createPod(pod, resolverOf(), signal);

    expect(fault.hits).toBe(1);
    expect((await rig.client.list(resources.pods, {}, { signal })).items).toHaveLength(1);
  });

  test("that it is busy is passed on with the time for which it asked", async () => {
    using _ = rig.server.faults.inject({ verb: "create", resource: "pods" }, { kind: "status", status: 429, retryAfterSeconds: 7 });

    await expect(provider.createPod(pod, resolverOf(), signal)).rejects.toMatchObject({ retryAfterMs: 7_000 });
  });
});

describe("while the far cluster cannot be watched", () => {
  /** Breaks the watches until it is disposed of. The reflectors then list again. */
  function cutOff(): Disposable {
    const rule = rig.server.faults.inject({ verb: "watch" }, { kind: "error-event", code: 410 });
    rig.server.faults.disrupt({ verb: "watch" }, { kind: "cut" });
    return rule;
  }

  const later = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: true }));
  };

  test("pods keep their status, and the list says that it may be old", async () => {
    await run();
    using _ = cutOff();

    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: false }));
    expect(await provider.getPods(signal)).toMatchObject({ pods: [{ ref, status: { phase: "Running" } }] });
  });

  test("a pod that is ended there is noticed afterwards", async () => {
    await run();
    const cut = cutOff();
    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: false }));
    await remove();
    cut[Symbol.dispose]();

    await later(60_000);

    await reported({ phase: "Failed", reason: "FarPodDeleted" });
  });

  test("a pod that is created and at once replaced there, with all its labels, is followed", async () => {
    await provider.getPods(signal);
    const cut = cutOff();
    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: false }));
    await provider.createPod(pod, resolverOf(), signal);
    const { metadata, spec } = await rig.client.get(resources.pods, name, { signal });
    await remove();
    const copied = { name: name.name, namespace: "default", labels: metadata?.labels, annotations: metadata?.annotations };
    const replaced = await rig.client.create(resources.pods, { apiVersion: "v1", kind: "Pod", metadata: copied, spec }, { signal });
    cut[Symbol.dispose]();
    await later(60_000);

    await reportFar(rig.client, replaced, running);

    await reported({ phase: "Running" });
  });

  test("a pod that is created and whose name somebody else then takes does not make the list incomplete", async () => {
    await provider.getPods(signal);
    const cut = cutOff();
    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: false }));
    await provider.createPod(pod, resolverOf(), signal);
    await remove();
    const foreign: Pod = { apiVersion: "v1", kind: "Pod", metadata: name, spec: { containers: [{ name: "main", image: "i" }] } };
    await rig.client.create(resources.pods, foreign, { signal });
    cut[Symbol.dispose]();

    await later(60_000);

    expect((await provider.getPods(signal)).pods).toEqual([]);
    await expect(provider.getPodStatus(ref, signal)).rejects.toSatisfy(isConflict);
  });

  test("a pod that is missing afterwards together with its owner object is kept for five minutes, because its cluster may have lost data", async () => {
    await run();
    const cut = cutOff();
    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: false }));
    await remove();
    await rig.client.delete(resources.configMaps, { namespace: "default", name: ownerObjectName(owner) }, {}, { signal });
    const count = node.updates.length;
    cut[Symbol.dispose]();
    for (let second = 0; second < 120; second++) await clock.advance(1_000);

    await expect(provider.getPodStatus(ref, signal)).rejects.toSatisfy(isUnavailable);
    expect(await provider.getPods(signal)).toMatchObject({ complete: false });
    expect(node.updates.slice(count)).toEqual([]);

    for (let second = 0; second < 240; second++) await clock.advance(1_000);
    await reported({ phase: "Failed", reason: "FarPodDeleted" });
  });
});

describe("while the watch of the far cluster is late", () => {
  const held = (): Disposable => rig.server.faults.disrupt({ verb: "watch", resource: "pods" }, { kind: "hold" });

  beforeEach(async () => {
    await provider.getPods(signal);
  });

  test("a pod that is created again is not said to run as the one before it did", async () => {
    const late = held();
    await provider.createPod(pod, resolverOf(), signal);
    await reportFar(rig.client, await rig.client.get(resources.pods, name, { signal }), running);
    await remove();
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal)).rejects.toSatisfy(isNotFound);
    const count = node.updates.length;

    late[Symbol.dispose]();
    await provider.createPod(pod, resolverOf(), signal);
    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref }] }));
    await vi.waitFor(() => expect(node.updates.at(-1)).toMatchObject({ ref, status: { phase: "Pending" } }));

    expect(node.updates.slice(count)).not.toContainEqual(
      expect.objectContaining({ status: expect.objectContaining({ phase: "Running" }) }),
    );
  });

  test("a pod that was lost and is deleted can be created again", async () => {
    const before = await run();
    const late = held();
    await remove();
    await expect(provider.getPod(ref, signal)).rejects.toSatisfy(isUnavailable);
    await reported({ phase: "Failed", reason: "FarPodDeleted" });
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal)).rejects.toSatisfy(isNotFound);

    await provider.createPod(pod, resolverOf(), signal);
    const after = await rig.client.get(resources.pods, name, { signal });
    late[Symbol.dispose]();

    expect(after.metadata?.uid).not.toBe(before.metadata?.uid);
    await reported({ phase: "Pending" });
    expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref, status: { phase: "Pending" } }] });
  });
});

describe("after another server has answered in the far cluster's place that a pod is not there", () => {
  let isOther: boolean;
  let home: Pod[];

  beforeEach(async () => {
    isOther = false;
    home = [pod];
    await node[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
    rig = await startFarRig({
      clock,
      wrap: (transport) => ({
        request: (request) =>
          transport.request(
            isOther ? { ...request, path: request.path.replace("/namespaces/default/pods/", "/namespaces/other/pods/") } : request,
          ),
        [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
      }),
    });
    node = await rig.open({ pods: home });
    provider = node.provider;
    await run();
    isOther = true;
  });

  test("to its deletion, it is listed again, so that it can be deleted", async () => {
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal)).rejects.toSatisfy(isNotFound);
    expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [] });
    isOther = false;
    home.length = 0;

    expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref, status: { phase: "Running" } }] });
    await provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal);
    await vi.waitFor(async () => expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [] }));
  });

  test("and it has Failed for that, it is listed again when it is gone at home", async () => {
    await expect(provider.getPod(ref, signal)).rejects.toSatisfy(isUnavailable);
    await reported({ phase: "Failed", reason: "FarPodDeleted" });
    isOther = false;
    expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref, status: { phase: "Failed" } }] });
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal)).rejects.toSatisfy(isNotFound);
    home.length = 0;

    expect(await provider.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref, status: { phase: "Running" } }] });
  });

  test("to its deletion, and it is created again, it is followed", async () => {
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal)).rejects.toSatisfy(isNotFound);
    isOther = false;
    await provider.createPod(pod, resolverOf(), signal);

    const far = await rig.client.get(resources.pods, name, { signal });
    await reportFar(rig.client, far, { ...running, message: "still there" });

    await reported({ phase: "Running", message: "still there" });
  });
});

test("a far cluster that never answers says why there is no list", async () => {
  await using dark = await startFarRig({ clock });
  using _ = dark.server.faults.inject({}, { kind: "status", status: 503, message: "etcd is down" });
  await using other = await dark.open();

  const list = other.provider.getPods(signal).catch((error: unknown) => String(error));
  for (let second = 0; second < 15; second++) await clock.advance(1_000);

  expect(await list).toMatch(/not listed yet: .*etcd is down/);
});

test("a deletion gives the far pod the grace of the home pod, and a second one shortens it", async () => {
  await run();
  const binding = {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: name.name },
    target: { apiVersion: "v1", kind: "Node", name: "far-node" },
  };
  await rig.client.raw("POST", `/api/v1/namespaces/default/pods/${name.name}/binding`, binding, { signal });
  await provider.deletePod(ref, { gracePeriodSeconds: 30 }, signal);
  const ending = await rig.client.get(resources.pods, name, { signal });
  await provider.deletePod(ref, { gracePeriodSeconds: 5 }, signal);
  const sooner = await rig.client.get(resources.pods, name, { signal });
  // Without any grace the object would go before its containers have ended.
  await provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal);
  const last = await rig.client.get(resources.pods, name, { signal });

  expect([ending, sooner, last].map(({ metadata }) => metadata?.deletionGracePeriodSeconds)).toEqual([30, 5, 1]);
});

test("a usual pod costs one request to create it and one to delete it", async () => {
  await run();
  const [create, get, remove] = (["create", "get", "delete"] as const).map((verb) =>
    rig.server.faults.inject({ verb }, { kind: "delay", ms: 0 }),
  );
  const other = homePod({}, { name: "other" });
  await vi.waitFor(async () => expect((await provider.getPods(signal)).pods).toHaveLength(1));

  const creation = provider.createPod(other, resolverOf(), signal);
  await clock.advance(1);
  await creation;
  await vi.waitFor(async () => expect((await provider.getPods(signal)).pods).toHaveLength(2));
  const deletion = provider.deletePod(podRef(other), { gracePeriodSeconds: 0 }, signal);
  await clock.advance(1);
  await deletion;

  expect([create?.hits, get?.hits, remove?.hits]).toEqual([1, 0, 1]);
});

test("an owner object that was deleted is made again, so that the far garbage collector spares new pods", async () => {
  await run();
  const object = { namespace: "default", name: ownerObjectName(owner) };
  const before = await rig.client.get(resources.configMaps, object, { signal });
  await rig.client.delete(resources.configMaps, object, {}, { signal });
  const other = homePod({}, { name: "other" });
  // The watch shows the deletion.
  await new Promise((resolve) => setImmediate(resolve));

  await provider.createPod(other, resolverOf(), signal);
  const far = await rig.client.get(resources.pods, { namespace: "default", name: farPodName(owner, podRef(other)) }, { signal });
  const after = await rig.client.get(resources.configMaps, object, { signal });

  expect(after.metadata?.uid).not.toBe(before.metadata?.uid);
  expect(far.metadata?.ownerReferences).toEqual([
    { apiVersion: "v1", kind: "ConfigMap", name: object.name, uid: after.metadata?.uid, controller: true },
  ]);
});
