import { VirtualClock } from "@virtual-kubelet/clock";
import { podRef, type PodChanges } from "@virtual-kubelet/core";
import { ForbiddenError, isForbidden, isInvalidInput, isUnavailable, isUnsupported } from "@virtual-kubelet/errdefs";
import { resources, type Pod, type Transport } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { farPodName } from "../identity/names.ts";
import { homePod, resolverOf, startFarRig, type FarRig, type OpenedNode } from "../test-support/far-rig.ts";

const { signal } = new AbortController();
const changes: PodChanges = { previous: undefined, parts: [] };
const pod = homePod(
  { containers: [{ name: "main", image: "registry.example/main:1", resources: { requests: { cpu: "1" } } }] },
  { labels: { app: "web" } },
);
const name = { namespace: "default", name: farPodName({ clusterId: "home-1" }, podRef(pod)) };

let rig: FarRig;
let node: OpenedNode;

beforeEach(async () => {
  rig = await startFarRig({ clock: new VirtualClock() });
  node = await rig.open({ pods: [pod] });
  await node.provider.createPod(pod, resolverOf(), signal);
});
afterEach(async () => {
  await node[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});

const update = (changed: Pod): Promise<void> => node.provider.updatePod(changed, resolverOf(), signal, changes);
const read = (): Promise<Pod> => rig.client.get(resources.pods, name, { signal });

function resized(cpu: string): Pod {
  return homePod(
    { containers: [{ name: "main", image: "registry.example/main:1", resources: { requests: { cpu } } }] },
    { labels: { app: "web" } },
  );
}

test("labels, images, a debug container and resources reach the far pod", async () => {
  await update(
    homePod(
      {
        containers: [{ name: "main", image: "registry.example/main:2", resources: { requests: { cpu: "2" } } }],
        ephemeralContainers: [{ name: "debug", image: "busybox", imagePullPolicy: "Always", terminationMessagePolicy: "File" }],
      },
      { labels: { tier: "front" } },
    ),
  );

  const { metadata, spec } = await read();
  expect(metadata?.labels).toMatchObject({ tier: "front" });
  expect(metadata?.labels).not.toHaveProperty("app");
  expect(spec?.containers).toMatchObject([{ image: "registry.example/main:2", resources: { requests: { cpu: "2" } } }]);
  expect(spec?.ephemeralContainers).toMatchObject([{ name: "debug", image: "busybox" }]);
});

test("labels and annotations that changed while the program was stopped are told to the core, until they have been sent", async () => {
  const listed = async ({ provider }: OpenedNode): Promise<unknown> =>
    (await provider.getPods(signal)).pods.map(({ status }) => status.isMetadataOutdated);
  const before = await listed(node);
  await node[Symbol.asyncDispose]();
  const relabelled = homePod({ containers: pod.spec?.containers ?? [] }, { labels: { app: "db" } });
  await using after = await rig.open({ pods: [relabelled] });
  await using other = await rig.open({
    pods: [homePod({ containers: pod.spec?.containers ?? [] }, { ...pod.metadata, annotations: { a: "1" } })],
  });
  const found = [await listed(after), await listed(other), (await after.provider.getPod(podRef(pod), signal)).status.isMetadataOutdated];

  await after.provider.updatePod(relabelled, resolverOf(), signal, changes);

  expect([before, ...found]).toEqual([[undefined], [true], [true], true]);
  await expect.poll(() => listed(after)).toEqual([undefined]);
  expect((await read()).metadata?.labels).toMatchObject({ app: "db" });
});

test("an update that changes nothing writes nothing", async () => {
  const before = await read();

  await update(pod);

  expect((await read()).metadata?.resourceVersion).toBe(before.metadata?.resourceVersion);
});

describe("a resize", () => {
  test("that the far cluster refuses is an invalid one, with its words", async () => {
    const refused = update(resized("-1"));

    await expect(refused).rejects.toSatisfy(isInvalidInput);
    await expect(refused).rejects.toThrow(/^far cluster: .*must be greater than or equal to 0/);
  });

  test("that an old far cluster does not know is unsupported; the other changes are made", async () => {
    using _old = rig.server.faults.inject({ resource: "pods/resize" }, { kind: "status", status: 404 });
    const changed = resized("2");

    await expect(update({ ...changed, metadata: { ...changed.metadata, labels: { app: "web2" } } })).rejects.toSatisfy(isUnsupported);
    expect((await read()).metadata?.labels).toMatchObject({ app: "web2" });
  });

  test("without the right for it is forbidden, and tried again later", async () => {
    const rule = rig.server.faults.inject({ resource: "pods/resize" }, { kind: "status", status: 403 });
    await expect(update(resized("2"))).rejects.toSatisfy(isForbidden);
    rule[Symbol.dispose]();

    await update(resized("2"));

    expect((await read()).spec?.containers).toMatchObject([{ resources: { requests: { cpu: "2" } } }]);
  });
});

describe("a debug container that refers to an excluded secret", () => {
  const debug = (name: string, secret?: string) => ({
    name,
    image: "busybox",
    imagePullPolicy: "Always",
    terminationMessagePolicy: "File",
    ...(secret !== undefined && { envFrom: [{ secretRef: { name: secret } }] }),
  });
  const withDebug = (labels: Record<string, string>, ...more: readonly object[]): Pod =>
    homePod({ containers: pod.spec?.containers ?? [], ephemeralContainers: [debug("keys", "keys"), ...more] as never }, { labels });

  test("is left out and told once; later changes reach the far pod", async () => {
    await using open = await rig.open({ pods: [pod], config: { carry: { secrets: [] } } });
    const send = (next: Pod, previous: Pod | undefined): Promise<void> =>
      open.provider.updatePod(next, resolverOf(), signal, { previous, parts: [] });

    const first = withDebug({ app: "web" });
    await send(first, pod);
    const second = withDebug({ app: "web2" });
    await send(second, first);
    await send(withDebug({ app: "web3" }, debug("plain")), second);

    const { metadata, spec } = await read();
    expect(metadata?.labels).toMatchObject({ app: "web3" });
    expect(spec?.ephemeralContainers?.map(({ name: container }) => container)).toEqual(["plain"]);
    expect(open.events).toEqual([
      {
        ref: podRef(pod),
        event: {
          type: "Warning",
          reason: "NotCarried",
          message: expect.stringMatching(
            /^the ephemeral container keys is left out: spec\.ephemeralContainers\[0\]\.envFrom\[0\].* default\/keys stays/,
          ),
        },
      },
    ]);
    expect((await rig.client.list(resources.secrets, {}, { signal })).items).toEqual([]);
  });
});

test("a debug container whose config map is missing does not hold up other changes", async () => {
  const changed = homePod(
    {
      containers: pod.spec?.containers ?? [],
      ephemeralContainers: [{ name: "debug", image: "busybox", envFrom: [{ configMapRef: { name: "absent" } }] }],
    },
    { labels: { app: "web2" } },
  );
  const resolved = resolverOf({ configMap: () => Promise.reject(new ForbiddenError("no right to read config maps")) });

  await expect(node.provider.updatePod(changed, resolved, signal, changes)).rejects.toSatisfy(isForbidden);

  expect((await read()).metadata?.labels).toMatchObject({ app: "web2" });
});

describe("an admission of the far cluster", () => {
  /** Starts a far cluster whose admission changes what is written. */
  async function underAdmission(
    change: (body: Pod, method: string) => void,
  ): Promise<{ readonly admitted: FarRig; readonly patches: unknown[] }> {
    const patches: unknown[] = [];
    const wrap = (transport: Transport): Transport => ({
      ...transport,
      request: (request) => {
        const { method, path, body } = request;
        if (typeof body !== "string" || !path.includes("/pods") || method === "DELETE") return transport.request(request);
        const object = JSON.parse(body) as Pod;
        if (method === "PATCH") patches.push(JSON.parse(body));
        change(object, method);
        return transport.request({ ...request, body: JSON.stringify(object) });
      },
    });
    return { admitted: await startFarRig({ clock: new VirtualClock(), wrap }), patches };
  }

  const strip = ({ metadata }: Pod): void => {
    for (const key of ["virtual-kubelet.io/carried", "virtual-kubelet.io/home-controller"]) delete metadata?.annotations?.[key];
    delete metadata?.labels?.["virtual-kubelet.io/namespace"];
  };

  test("that removes our record, and replaces images, causes no restart of a container, also after a restart of the program", async () => {
    const { admitted, patches } = await underAdmission((body, method) => {
      strip(body);
      for (const container of body.spec?.containers ?? []) if (method === "POST") container.image = `mirror.example/${container.image}`;
    });
    await using _ = admitted;
    const owned = {
      ...pod,
      metadata: { ...pod.metadata, ownerReferences: [{ apiVersion: "v1", kind: "ReplicaSet", name: "web", uid: "1", controller: true }] },
    };
    const labelled = (app: string): Pod => ({ ...owned, metadata: { ...owned.metadata, labels: { app } } });
    const before = await admitted.open({ pods: [pod] });
    await before.provider.createPod(owned, resolverOf(), signal);
    await before.provider.updatePod(labelled("web2"), resolverOf(), signal, changes);
    await before.provider.updatePod(labelled("web2"), resolverOf(), signal, changes);
    expect(patches).toMatchObject([{ metadata: { labels: { app: "web2" } } }]);
    await before[Symbol.asyncDispose]();
    await using after = await admitted.open({ pods: [pod] });

    await after.provider.updatePod(labelled("web3"), resolverOf(), signal, { previous: labelled("web2"), parts: ["metadata.labels"] });

    const { metadata, spec } = await admitted.client.get(resources.pods, name, { signal });
    expect(metadata?.labels).toMatchObject({ app: "web3" });
    expect(spec?.containers).toMatchObject([{ image: "mirror.example/registry.example/main:1" }]);
    expect(patches).toHaveLength(2);
    expect(patches.filter((patch) => JSON.stringify(patch).includes('"image"'))).toEqual([]);
  });

  test("that changes images, labels and resources of pods is not corrected", async () => {
    const { admitted, patches } = await underAdmission(({ metadata, spec }, method) => {
      if (method !== "POST") return;
      if (metadata?.labels) metadata.labels["app"] = "theirs";
      for (const container of spec?.containers ?? []) {
        container.image = "theirs";
        container.resources = { requests: { cpu: "3" } };
      }
      if (spec) spec.tolerations = [];
    });
    await using _ = admitted;
    await using opened = await admitted.open({ pods: [pod] });
    const tolerant = homePod(
      { containers: pod.spec?.containers ?? [], tolerations: [{ key: "spot", operator: "Exists" }] },
      { labels: { app: "web" } },
    );
    await opened.provider.createPod(tolerant, resolverOf(), signal);

    await opened.provider.updatePod(tolerant, resolverOf(), signal, changes);

    expect(patches).toEqual([]);
  });

  test("that removes the labels by which a far pod is found leaves no pod that nobody follows, and the home pod says what to exempt", async () => {
    const { admitted } = await underAdmission(({ metadata }) => delete metadata?.labels?.["virtual-kubelet.io/cluster"]);
    await using _ = admitted;
    await using opened = await admitted.open({ pods: [pod] });

    const creation = opened.provider.createPod(pod, resolverOf(), signal);

    await expect(creation).rejects.toSatisfy(isInvalidInput);
    await expect(creation).rejects.toThrow("Exempt them in the far cluster's policies");
    expect((await admitted.client.list(resources.pods, {}, { signal })).items).toEqual([]);
  });
});

test("a resize that cannot be sent now is sent with the next change, and holds up no label", async () => {
  const rule = rig.server.faults.inject({ resource: "pods/resize" }, { kind: "status", status: 503 });
  const larger = (app: string): Pod => ({ ...resized("2"), metadata: { ...resized("2").metadata, labels: { app } } });
  await expect(update(larger("web2"))).rejects.toSatisfy(isUnavailable);
  expect((await read()).metadata?.labels).toMatchObject({ app: "web2" });
  rule[Symbol.dispose]();

  await update(larger("web2"));

  expect((await read()).spec?.containers).toMatchObject([{ resources: { requests: { cpu: "2" } } }]);
});

test("a 404 that does not name the pod says nothing about it", async () => {
  using _proxy = rig.server.faults.inject({ verb: "patch", resource: "pods" }, { kind: "status", status: 404 });

  await expect(update(homePod({}, { labels: { app: "web2" } }))).rejects.toSatisfy(isUnavailable);
});
