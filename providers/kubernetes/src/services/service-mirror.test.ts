import { resources, type EndpointSlice, type Service, type Transport } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { ownerTags } from "../identity/tags.ts";
import { startMirrorRig } from "../test-support/mirror-rig.ts";
import { mirrorOwner } from "./mirror-tags.ts";

const ready = { ready: true, serving: true, terminating: false };

function pods(...addresses: string[]): EndpointSlice["endpoints"] {
  return addresses.map((address, index) => ({
    addresses: [address],
    conditions: ready,
    nodeName: "node-1",
    zone: "z1",
    hints: { forZones: [{ name: "z1" }] },
    targetRef: { kind: "Pod", namespace: "a", name: `web-${index}`, uid: `uid-${index}` },
  }));
}

function specOf(service: Service | undefined): object {
  const { clusterIP, clusterIPs, ...spec } = service?.spec ?? {};
  return { ...spec, hasClusterIP: /^\d/.test(clusterIP ?? ""), isHeadless: clusterIPs?.[0] === "None" };
}

describe("towards the far cluster", () => {
  test("a Service has the same name and ports there, and the endpoints of home", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService(
      "a",
      "web",
      { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: "http" }] },
      { app: "web" },
    );
    await rig.home.setEndpoints("a", "web", pods("10.1.0.5", "10.1.0.6"), { ports: [{ name: "http", port: 8080, protocol: "TCP" }] });
    rig.mirror();
    await rig.settle();
    const service = await rig.far.service("a", "web");
    expect(specOf(service)).toEqual({
      type: "ClusterIP",
      ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: "http" }],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
      sessionAffinity: "None",
      hasClusterIP: true,
      isHeadless: false,
    });
    expect(service?.metadata?.labels).toMatchObject({
      app: "web",
      "virtual-kubelet.io/cluster": "home-1",
      "virtual-kubelet.io/mirror": "far-1",
    });
    expect(service?.metadata?.ownerReferences).toMatchObject([{ kind: "ConfigMap", controller: true }]);
    const slices = await rig.far.slices("a", "web");
    expect(slices).toMatchObject([
      {
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        metadata: { labels: { "endpointslice.kubernetes.io/managed-by": "virtual-kubelet.io" }, ownerReferences: [{ kind: "ConfigMap" }] },
      },
    ]);
    expect(slices[0]?.endpoints).toEqual([
      { addresses: ["10.1.0.5"], conditions: ready },
      { addresses: ["10.1.0.6"], conditions: ready },
    ]);
  });

  test("endpoints follow: they come, go, become unready and end", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    rig.mirror();
    await rig.settle();
    expect(await rig.far.slices("a", "web")).toEqual([]);
    await rig.home.setEndpoints("a", "web", pods("10.1.0.5"));
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual(["10.1.0.5"]);
    const terminating = { ready: false, serving: true, terminating: true };
    await rig.home.setEndpoints("a", "web", [{ addresses: ["10.1.0.6"], conditions: terminating, hostname: "web-0" }]);
    await rig.settle();
    expect((await rig.far.slices("a", "web"))[0]?.endpoints).toEqual([
      { addresses: ["10.1.0.6"], conditions: terminating, hostname: "web-0" },
    ]);
    await rig.home.setEndpoints("a", "web", []);
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual([]);
    await rig.home.remove(resources.endpointSlices, "a", "web-abcde");
    await rig.settle();
    expect(await rig.far.slices("a", "web")).toEqual([]);
  });

  test("a Service of 250 endpoints in three slices has three slices, and a change of one endpoint changes one of them", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    const addresses = (slice: number, count: number): string[] => Array.from({ length: count }, (_, index) => `10.${slice}.0.${index}`);
    for (const slice of [1, 2, 3])
      await rig.home.setEndpoints("a", "web", pods(...addresses(slice, slice === 3 ? 50 : 100)), { metadata: { name: `web-${slice}` } });
    rig.mirror();
    await rig.settle();
    const before = await rig.far.slices("a", "web");
    expect(before.map(({ endpoints }) => endpoints?.length).toSorted()).toEqual([100, 100, 50]);
    await rig.home.setEndpoints("a", "web", pods(...addresses(2, 99)), { metadata: { name: "web-2" } });
    await rig.settle();
    const versions = new Map(before.map(({ metadata }) => [metadata?.name, metadata?.resourceVersion]));
    const changed = (await rig.far.slices("a", "web")).filter(({ metadata }) => versions.get(metadata?.name) !== metadata?.resourceVersion);
    expect(changed.map(({ endpoints }) => endpoints?.length)).toEqual([99]);
  });

  test("a Service that is deleted at home goes there too, with its slices", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    await rig.home.setEndpoints("a", "web", pods("10.1.0.5"));
    rig.mirror();
    await rig.settle();
    await rig.home.remove(resources.services, "a", "web");
    await rig.settle();
    expect([await rig.far.service("a", "web"), await rig.far.slices("a", "web")]).toEqual([undefined, []]);
  });

  test("changes of ports and labels arrive, also those that take something away, and the address stays", async () => {
    await using rig = await startMirrorRig();
    const service = await rig.home.createService("a", "web", { sessionAffinity: "ClientIP" }, { app: "web", old: "yes" });
    rig.mirror();
    await rig.settle();
    const before = await rig.far.service("a", "web");
    expect(before?.spec?.sessionAffinityConfig).toEqual({ clientIP: { timeoutSeconds: 10_800 } });
    const changed = {
      ...service,
      metadata: { ...service.metadata, labels: { app: "web" } },
      spec: { ...service.spec, ports: [{ port: 81 }], sessionAffinity: "None" },
    };
    const { sessionAffinityConfig: _, ...spec } = changed.spec;
    await rig.home.client.replace(resources.services, { ...changed, spec }, { signal: AbortSignal.timeout(5_000) });
    await rig.settle();
    const after = await rig.far.service("a", "web");
    expect(after?.metadata?.labels).not.toHaveProperty("old");
    expect(after?.spec).toMatchObject({ ports: [{ port: 81 }], sessionAffinity: "None", clusterIP: before?.spec?.clusterIP });
  });

  test("a headless Service stays headless, and one with an external name keeps it", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "db", { clusterIP: "None", publishNotReadyAddresses: true });
    await rig.home.setEndpoints("a", "db", [{ addresses: ["10.1.0.5"], conditions: ready, hostname: "db-0" }]);
    await rig.home.createService("a", "mail", { type: "ExternalName", externalName: "mail.example.com" });
    rig.mirror();
    await rig.settle();
    expect((await rig.far.service("a", "db"))?.spec).toMatchObject({ clusterIP: "None", publishNotReadyAddresses: true });
    expect((await rig.far.slices("a", "db"))[0]).toMatchObject({
      metadata: { labels: { "service.kubernetes.io/headless": "" } },
      endpoints: [{ hostname: "db-0" }],
    });
    expect((await rig.far.service("a", "mail"))?.spec).toMatchObject({ type: "ExternalName", externalName: "mail.example.com" });
  });

  test("a Service that was created again as a headless one replaces the one with an address", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "db");
    rig.mirror();
    await rig.settle();
    await rig.home.remove(resources.services, "a", "db");
    await rig.home.createService("a", "db", { clusterIP: "None" });
    await rig.settle();
    expect((await rig.far.service("a", "db"))?.spec?.clusterIP).toBe("None");
  });

  test("a load balancer is a plain address there, without node ports", async () => {
    await using rig = await startMirrorRig();
    const { spec } = await rig.home.createService("a", "web", {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      internalTrafficPolicy: "Local",
    });
    expect(spec?.ports?.[0]?.nodePort).toBeGreaterThan(0);
    rig.mirror();
    await rig.settle();
    expect(specOf(await rig.far.service("a", "web"))).toEqual({
      type: "ClusterIP",
      ports: [{ port: 80, protocol: "TCP", targetPort: 8080 }],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
      sessionAffinity: "None",
      hasClusterIP: true,
      isHeadless: false,
    });
  });

  test("addresses of far pods are those of the far cluster, others are those of home", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    await rig.home.setEndpoints("a", "web", pods("10.102.0.7", "10.1.0.5"));
    await rig.home.setEndpoints("a", "web", [{ addresses: ["fd00:102::7"], conditions: ready }], {
      metadata: { name: "web-v6" },
      addressType: "IPv6",
    });
    rig.mirror({
      podIPs: [
        { far: "10.2.0.0/16", home: "10.102.0.0/16" },
        { far: "fd00:2::/64", home: "fd00:102::/64" },
      ],
    });
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual(["10.1.0.5", "10.2.0.7", "fd00:2::7"]);
  });

  test("the Service of the API server and other namespaces stay at home", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("b", "web");
    await rig.home.createService("default", "mine");
    rig.mirror({ services: { namespaces: ["default"], direction: "toFar" }, namespaces: { mode: "one", name: "a" } });
    await rig.settle();
    const { items } = await rig.far.client.list(resources.services, {}, { signal: AbortSignal.timeout(5_000) });
    expect(items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`)).toEqual(["a/mine", "default/kubernetes"]);
  });

  test("labels that the configuration excludes, and our own, stay at home", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web", {}, { app: "web", secret: "x", "virtual-kubelet.io/node": "n" });
    rig.mirror({ carriesLabel: (key) => key !== "secret" });
    await rig.settle();
    const labels = (await rig.far.service("a", "web"))?.metadata?.labels;
    expect(labels).toMatchObject({ app: "web", "virtual-kubelet.io/node": "service_mirror" });
    expect(labels).not.toHaveProperty("secret");
  });
});

describe("towards home", () => {
  test("a far Service has the same name at home, and its endpoints as home reaches them", async () => {
    await using rig = await startMirrorRig();
    await rig.far.createService("a", "db", { selector: { app: "db" } }, { app: "db" });
    await rig.far.setEndpoints("a", "db", pods("10.2.0.7", "10.9.0.1"));
    rig.mirror({ podIPs: [{ far: "10.2.0.0/16", home: "10.102.0.0/16" }] });
    await rig.settle();
    const service = await rig.home.service("a", "db");
    expect(service).toMatchObject({
      metadata: { labels: { app: "db", "virtual-kubelet.io/mirror": "far-1" } },
      spec: { type: "ClusterIP" },
    });
    expect(service?.spec).not.toHaveProperty("selector");
    expect(await rig.home.slices("a", "db")).toMatchObject([
      {
        metadata: {
          labels: { "endpointslice.kubernetes.io/managed-by": "virtual-kubelet.io" },
          ownerReferences: [{ kind: "Service", name: "db", uid: service?.metadata?.uid }],
        },
        endpoints: [{ addresses: ["10.102.0.7"] }],
      },
    ]);
    await rig.far.remove(resources.services, "a", "db");
    await rig.settle();
    expect([await rig.home.service("a", "db"), await rig.home.slices("a", "db")]).toEqual([undefined, []]);
  });

  test("with one far namespace its Services resolve in each of the home namespaces", async () => {
    await using rig = await startMirrorRig();
    await rig.far.createService("b", "db");
    rig.mirror({ services: { namespaces: ["a", "default"] }, namespaces: { mode: "one", name: "b" } });
    await rig.settle();
    expect([await rig.home.service("a", "db"), await rig.home.service("default", "db")]).toMatchObject([
      { metadata: { name: "db" } },
      { metadata: { name: "db" } },
    ]);
  });

  test("a copy that somebody deletes comes back, with slices that belong to the new one", async () => {
    await using rig = await startMirrorRig();
    await rig.far.createService("a", "db");
    await rig.far.setEndpoints("a", "db", pods("10.2.0.7"));
    rig.mirror();
    await rig.settle();
    await rig.home.remove(resources.services, "a", "db");
    await rig.settle();
    const uid = (await rig.home.service("a", "db"))?.metadata?.uid;
    expect(uid).toBeDefined();
    expect((await rig.home.slices("a", "db"))[0]?.metadata?.ownerReferences?.[0]?.uid).toBe(uid);
  });
});

test("nothing is mirrored back", async () => {
  await using rig = await startMirrorRig();
  await rig.home.createService("a", "web");
  await rig.home.setEndpoints("a", "web", pods("10.1.0.5"));
  await rig.far.createService("a", "db");
  await rig.far.setEndpoints("a", "db", pods("10.2.0.5"));
  rig.mirror();
  await rig.settle();
  const versions = async (): Promise<unknown[]> => {
    const all = { signal: AbortSignal.timeout(5_000) };
    return Promise.all(
      [rig.home, rig.far].flatMap(({ client }) =>
        [resources.services, resources.endpointSlices].map(async (kind) =>
          (await client.list<Service | EndpointSlice>(kind, { namespace: "a" }, all)).items.map(
            ({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`,
          ),
        ),
      ),
    );
  };
  const before = await versions();
  expect(before.map((list) => (list as string[]).length)).toEqual([2, 2, 2, 2]);
  await rig.clock.advance(600_000);
  expect(await versions()).toEqual(before);
});

test("what a virtual node of the same name has mirrored to home, as its far cluster, stays as it is", async () => {
  await using rig = await startMirrorRig();
  const signal = AbortSignal.timeout(5_000);
  const { labels, annotations } = ownerTags(mirrorOwner("third"));
  const metadataOf = (namespace: string, name: string): NonNullable<Service["metadata"]> => ({
    namespace,
    name,
    labels: { ...labels, "virtual-kubelet.io/mirror": "far-1" },
    annotations: { ...annotations, "virtual-kubelet.io/copy-of": `${namespace}/${name}` },
  });
  for (const [namespace, name] of [
    ["a", "theirs"],
    ["a", "db"],
    ["b", "theirs"],
  ] as const)
    await rig.home.client.create(resources.services, { metadata: metadataOf(namespace, name), spec: { ports: [{ port: 7 }] } }, { signal });
  await rig.far.createService("a", "db");
  rig.mirror();
  await rig.settle();
  const ports = async (namespace: string, name: string): Promise<unknown> =>
    (await rig.home.service(namespace, name))?.spec?.ports?.[0]?.port;
  expect([await ports("a", "theirs"), await ports("a", "db"), await ports("b", "theirs")]).toEqual([7, 7, 7]);
});

test("a copy that came from a third cluster does not travel on", async () => {
  await using rig = await startMirrorRig();
  await rig.home.createService("a", "web", {}, { "virtual-kubelet.io/mirror": "another-node" });
  await rig.far.createService("a", "db", {}, { "virtual-kubelet.io/mirror": "another-node", "virtual-kubelet.io/cluster": "home-2" });
  rig.mirror();
  await rig.settle();
  expect([await rig.far.service("a", "web"), await rig.home.service("a", "db")]).toEqual([undefined, undefined]);
});

describe("answers that are not to be trusted", () => {
  /** Lists and watches lack an object, which the API server has. */
  function without(name: string): (transport: Transport) => Transport {
    return (transport) => ({
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
      request(request) {
        const [path = "", query] = request.path.split("?");
        const isList = request.method === "GET" && /(services|endpointslices)$/.test(path);
        const selected = `${path}?${query === undefined ? "" : `${query}&`}fieldSelector=metadata.name!%3D${name}`;
        return transport.request(isList ? { ...request, path: selected } : request);
      },
    });
  }

  test("a copy stays while the API server has the Service that a list lacks", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    await rig.home.setEndpoints("a", "web", pods("10.1.0.5"));
    const first = rig.mirror();
    await rig.settle();
    await first[Symbol.asyncDispose]();
    const second = rig.mirror({ wrap: { home: without("web") } });
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual(["10.1.0.5"]);
    await second[Symbol.asyncDispose]();
    rig.mirror({ wrap: { home: without("web-abcde") } });
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual(["10.1.0.5"]);
    expect(rig.warnings.some((warning) => warning.includes("according to the watch it is gone"))).toBe(true);
  });

  test("without rights in the far cluster nothing is removed, and the Service's owner is told", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    using _fault = rig.far.server.faults.inject(
      { verb: "create", resource: "services" },
      { kind: "status", status: 403, message: "services is forbidden" },
    );
    rig.mirror();
    await rig.clock.advance(300_000);
    expect(await rig.home.events("a")).toEqual([
      "ServiceNotMirrored: service a/web is not mirrored: create services a: services is forbidden; virtual-kubelet manifests, and manifests far, print the rights",
    ]);
  });

  test("a namespace that cannot be listed does not hold up the others", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    await rig.home.createService("b", "web");
    using _fault = rig.home.server.faults.inject({ resource: "services", namespace: "b" }, { kind: "status", status: 403 });
    rig.mirror({ services: { namespaces: ["a", "b"] } });
    await rig.settle();
    expect([await rig.far.service("a", "web"), await rig.far.service("b", "web")]).toMatchObject([{}, undefined]);
  });
});

describe("names that are taken", () => {
  test("a far Service of somebody else's stays as it is, and home is told once", async () => {
    await using rig = await startMirrorRig();
    await rig.far.createService("a", "web", { ports: [{ port: 7 }] });
    await rig.home.createService("a", "web");
    rig.mirror();
    await rig.settle();
    await rig.home.setEndpoints("a", "web", pods("10.1.0.5"));
    await rig.settle();
    expect((await rig.far.service("a", "web"))?.spec?.ports?.[0]?.port).toBe(7);
    expect((await rig.home.service("a", "web"))?.spec?.ports?.[0]?.port).toBe(80);
    expect((await rig.home.events("a")).toSorted()).toEqual([
      "ServiceNotMirrored: the far service a/web is not mirrored: the home service a/web is not a copy, and stays as it is; rename or delete one of the two",
      "ServiceNotMirrored: the home service a/web is not mirrored: the far service a/web is not a copy, and stays as it is; rename or delete one of the two",
    ]);
    await rig.far.remove(resources.services, "a", "web");
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual(["10.1.0.5"]);
  });

  test("somebody else's Service that takes the place of a copy gets no endpoints of ours", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    await rig.home.setEndpoints("a", "web", pods("10.1.0.5"));
    const first = rig.mirror();
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual(["10.1.0.5"]);
    await first[Symbol.asyncDispose]();
    await rig.far.remove(resources.services, "a", "web");
    await rig.far.createService("a", "web", { ports: [{ port: 7 }] });
    await rig.far.setEndpoints("a", "web", pods("10.2.0.9"));
    rig.mirror();
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual(["10.2.0.9"]);
  });

  test("of two home Services that need one far name the older one has it, and the other's owner is told both names", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("b", "web", { ports: [{ port: 82 }] });
    await rig.clock.advance(2_000);
    await rig.home.createService("a", "web", { ports: [{ port: 81 }] });
    rig.mirror({ services: { namespaces: ["a", "b"] }, namespaces: { mode: "one", name: "default" } });
    await rig.settle();
    expect((await rig.far.service("default", "web"))?.spec?.ports?.[0]?.port).toBe(82);
    expect(await rig.home.events("a")).toEqual([
      expect.stringMatching(/^ServiceNotMirrored: service a\/web is not mirrored .* older service b\/web; /),
    ]);
    expect(await rig.home.events("b")).toEqual([]);
    await rig.home.remove(resources.services, "b", "web");
    await rig.settle();
    expect((await rig.far.service("default", "web"))?.spec?.ports?.[0]?.port).toBe(81);
  });

  test("a copy that lost its labels is somebody else's from then on", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    rig.mirror();
    await rig.settle();
    const patch = { type: "merge", body: { metadata: { labels: { "virtual-kubelet.io/cluster": null } } } } as const;
    await rig.far.client.patch(resources.services, { namespace: "a", name: "web" }, patch, { signal: AbortSignal.timeout(5_000) });
    await rig.home.remove(resources.services, "a", "web");
    await rig.settle();
    expect(await rig.far.service("a", "web")).toBeDefined();
  });
});

describe("several mirrors", () => {
  test("two nodes between the same clusters agree, and one goes on when the other has gone", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    await rig.home.setEndpoints("a", "web", pods("10.1.0.5"));
    await rig.far.createService("a", "db");
    await rig.far.setEndpoints("a", "db", pods("10.2.0.5"));
    const first = rig.mirror({ nodeNames: ["far-1"] });
    rig.mirror({ nodeNames: ["far-2"] });
    await rig.settle();
    const version = (await rig.far.service("a", "web"))?.metadata?.resourceVersion;
    await rig.clock.advance(600_000);
    expect((await rig.far.service("a", "web"))?.metadata?.resourceVersion).toBe(version);
    await first[Symbol.asyncDispose]();
    await rig.home.setEndpoints("a", "web", pods("10.1.0.6"));
    await rig.far.remove(resources.services, "a", "db");
    await rig.settle();
    expect(await rig.far.addresses("a", "web")).toEqual(["10.1.0.6"]);
    expect(await rig.home.service("a", "db")).toBeUndefined();
    expect(await rig.home.events("a")).toEqual([]);
  });

  test("two that want different things write ever more rarely, and say so", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web", {}, { app: "web" });
    rig.mirror({ nodeNames: ["far-1"] });
    rig.mirror({ nodeNames: ["far-2"], carriesLabel: () => false });
    await rig.settle();
    const before = Number((await rig.far.service("a", "web"))?.metadata?.resourceVersion);
    await rig.clock.advance(3_600_000);
    expect(Number((await rig.far.service("a", "web"))?.metadata?.resourceVersion) - before).toBeLessThan(100);
    expect(rig.warnings.some((warning) => warning.startsWith("another program changes"))).toBe(true);
  });
});

describe("another configuration", () => {
  test("what was mirrored of a namespace goes when it leaves the list, and what another node mirrors stays", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    await rig.home.createService("b", "web");
    await rig.home.setEndpoints("b", "web", pods("10.1.0.5"));
    await rig.far.createService("b", "db");
    const first = rig.mirror({ services: { namespaces: ["a", "b"] } });
    await rig.settle();
    expect([await rig.far.service("b", "web"), await rig.home.service("b", "db")]).toMatchObject([{}, {}]);
    await first[Symbol.asyncDispose]();
    const other = rig.mirror({ nodeNames: ["far-2"], services: { namespaces: ["default"] } });
    await rig.settle();
    expect(await rig.far.service("b", "web")).toBeDefined();
    await other[Symbol.asyncDispose]();
    rig.mirror({ services: { namespaces: ["a"] } });
    await rig.settle();
    expect([await rig.far.service("b", "web"), await rig.far.slices("b", "web"), await rig.home.service("b", "db")]).toEqual([
      undefined,
      [],
      undefined,
    ]);
    expect([await rig.far.service("a", "web"), await rig.home.service("b", "web"), await rig.far.service("b", "db")]).toMatchObject([
      {},
      {},
      {},
    ]);
  });

  test("the copies of a direction that is switched off go", async () => {
    await using rig = await startMirrorRig();
    await rig.home.createService("a", "web");
    await rig.far.createService("a", "db");
    const first = rig.mirror();
    await rig.settle();
    await first[Symbol.asyncDispose]();
    rig.mirror({ services: { direction: "toHome" } });
    await rig.settle();
    expect(await rig.far.service("a", "web")).toBeUndefined();
    expect(await rig.home.service("a", "db")).toBeDefined();
  });
});
