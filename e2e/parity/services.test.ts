import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const patience = { timeoutMs: 60_000 };
const slicesOf = (namespace: string, service: string): string =>
  `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io/service-name=${service}`;

/** A pod with a named port; a test writes its status. */
async function createPod(api: Api, core: string, name: string, node: string, fields: { port?: number; spec?: object } = {}): Promise<void> {
  const { port = 8080, spec = {} } = fields;
  const container = { name: "main", image: "main:1", ports: [{ name: "http", containerPort: port }] };
  await api.create(`${core}/pods`, podNamed(name, { nodeName: node, containers: [container], ...spec }, { labels: { app: "web" } }));
}

async function setReady(api: Api, core: string, name: string, podIP: string, ready: boolean): Promise<void> {
  const condition = { type: "Ready", status: ready ? "True" : "False", lastTransitionTime: "2026-01-02T03:04:05Z" };
  const status = { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions: [condition] };
  const answer = await api.patch("merge", `${core}/pods/${name}/status`, { status });
  expect(answer.status).toBe(200);
}

async function createNode(api: Api, name: string): Promise<void> {
  await api.create("/api/v1/nodes", { metadata: { name, labels: { "topology.kubernetes.io/zone": "z1" } } });
}

async function createService(api: Api, core: string, spec: object, labels?: object): Promise<void> {
  await api.create(`${core}/services`, { metadata: { name: "web", labels }, spec });
}

interface Slice {
  readonly metadata: { readonly name: string };
  readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null;
}

async function read(
  api: Api,
  core: string,
  namespace: string,
  check: (endpoints: object, slices: readonly Slice[]) => void,
): Promise<void> {
  await eventually(async () => {
    const endpoints = await api.get(`${core}/endpoints/web`);
    expect(endpoints.status).toBe(200);
    check(endpoints.body, (await api.get(slicesOf(namespace, "web"))).body.items);
  }, patience);
}

/** Fields of an object that the servers choose alike. */
function stable({ metadata, ...fields }: { metadata: Record<string, unknown> } & Record<string, unknown>): object {
  const { labels, annotations, generateName, ownerReferences } = metadata;
  const owners = (ownerReferences as readonly { kind: string; name: string }[] | undefined)?.map(({ kind, name }) => `${kind} ${name}`);
  return JSON.parse(
    JSON.stringify({ labels, annotations, generateName, owners, ...fields }).replace(/"uid":"[^"]+"/g, '"uid":"UID"'),
  ) as object;
}

test("a service without pods has empty endpoints and a slice without ports", async ({ api, core, namespace }) => {
  await createService(api, core, { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }] }, { team: "x" });

  await read(api, core, namespace, (endpoints, slices) => {
    expect(stable(endpoints as never)).toMatchObject({
      labels: { team: "x", "endpoints.kubernetes.io/managed-by": "endpoint-controller" },
    });
    expect("subsets" in endpoints).toBe(false);
    expect(slices.map((slice) => stable(slice as never))).toMatchObject([
      {
        labels: {
          team: "x",
          "kubernetes.io/service-name": "web",
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        },
        generateName: "web-",
        owners: ["Service web"],
        addressType: "IPv4",
      },
    ]);
    expect(slices[0]?.endpoints ?? []).toEqual([]);
  });
});

test("endpoints follow the readiness, the node and the end of pods", async ({ api, core, namespace }) => {
  const node = `${namespace}-node`;
  await createNode(api, node);
  await createService(api, core, { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: "http" }] });
  await createPod(api, core, "a", node);
  await createPod(api, core, "b", node);
  await setReady(api, core, "a", "10.1.0.1", true);
  await setReady(api, core, "b", "10.1.0.2", false);

  const target = (name: string): object => ({ kind: "Pod", namespace, name });
  await read(api, core, namespace, (endpoints, slices) => {
    expect(endpoints).toMatchObject({
      subsets: [
        {
          addresses: [{ ip: "10.1.0.1", nodeName: node, targetRef: target("a") }],
          notReadyAddresses: [{ ip: "10.1.0.2", nodeName: node, targetRef: target("b") }],
          ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        },
      ],
    });
    expect(slices).toHaveLength(1);
    expect(slices[0]).toMatchObject({ ports: [{ name: "http", port: 8080, protocol: "TCP" }] });
    expect(slices[0]?.endpoints?.toSorted((x, y) => ((x.addresses[0] ?? "") < (y.addresses[0] ?? "") ? -1 : 1))).toMatchObject([
      {
        addresses: ["10.1.0.1"],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: node,
        zone: "z1",
        targetRef: target("a"),
      },
      {
        addresses: ["10.1.0.2"],
        conditions: { ready: false, serving: false, terminating: false },
        nodeName: node,
        zone: "z1",
        targetRef: target("b"),
      },
    ]);
  });

  await api.delete(`${core}/pods/a`);
  await read(api, core, namespace, (endpoints, [slice]) => {
    expect(endpoints).toMatchObject({ subsets: [{ notReadyAddresses: [{ ip: "10.1.0.2" }] }] });
    expect(slice?.endpoints?.find(({ addresses }) => addresses[0] === "10.1.0.1")).toMatchObject({
      conditions: { ready: false, serving: true, terminating: true },
    });
  });

  await api.delete(`${core}/pods/a`, { gracePeriodSeconds: 0 });
  await api.patch("merge", `${core}/pods/b`, { metadata: { labels: { app: "other" } } });
  await read(api, core, namespace, (endpoints, slices) => {
    expect("subsets" in endpoints).toBe(false);
    expect(slices.flatMap((slice) => slice.endpoints ?? [])).toEqual([]);
  });
  await api.delete(`/api/v1/nodes/${node}`);
});

test("publishNotReadyAddresses makes every pod ready, and a headless service needs no ports", async ({ api, core, namespace }) => {
  const node = `${namespace}-node`;
  await createNode(api, node);
  await createService(api, core, { selector: { app: "web" }, clusterIP: "None", publishNotReadyAddresses: true });
  await createPod(api, core, "a", node, { spec: { hostname: "first", subdomain: "web" } });
  await setReady(api, core, "a", "10.1.0.1", false);

  await read(api, core, namespace, (endpoints, [slice]) => {
    expect(endpoints).toMatchObject({
      metadata: { labels: { "service.kubernetes.io/headless": "" } },
      subsets: [{ addresses: [{ ip: "10.1.0.1", hostname: "first" }] }],
    });
    expect(slice).toMatchObject({
      metadata: { labels: { "service.kubernetes.io/headless": "" } },
      endpoints: [{ addresses: ["10.1.0.1"], hostname: "first", conditions: { ready: true, serving: false, terminating: false } }],
    });
  });
  await api.delete(`/api/v1/nodes/${node}`);
});

test("pods whose named ports differ are in slices of their own", async ({ api, core, namespace }) => {
  const node = `${namespace}-node`;
  await createNode(api, node);
  await createService(api, core, { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }] });
  await createPod(api, core, "a", node, { port: 8080 });
  await createPod(api, core, "b", node, { port: 9090 });
  for (const [index, name] of ["a", "b"].entries()) await setReady(api, core, name, `10.1.0.${String(index + 1)}`, true);

  await read(api, core, namespace, (endpoints, slices) => {
    const { subsets } = endpoints as { subsets: readonly { ports: readonly { port: number }[] }[] };
    expect(subsets.map(({ ports }) => ports[0]?.port).toSorted()).toEqual([8080, 9090]);
    expect(slices.map((slice) => (slice as never as { ports: { port: number }[] }).ports[0]?.port).toSorted()).toEqual([8080, 9090]);
  });
  await api.delete(`/api/v1/nodes/${node}`);
});

test("endpoints go with their service, and deleted or changed ones are written again", async ({ api, core, namespace }) => {
  await createService(api, core, { selector: { app: "web" }, ports: [{ port: 80 }] });
  await read(api, core, namespace, (_, slices) => expect(slices).toHaveLength(1));
  await api.delete(`${core}/endpoints/web`);
  await read(api, core, namespace, (endpoints) => expect(endpoints).toBeDefined());
  const [slice] = (await api.get(slicesOf(namespace, "web"))).body.items as readonly Slice[];
  await api.delete(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${slice?.metadata.name ?? ""}`);
  await read(api, core, namespace, (_, slices) => {
    expect(slices).toHaveLength(1);
    expect(slices[0]?.metadata.name).not.toBe(slice?.metadata.name);
  });

  await api.delete(`${core}/services/web`);
  await eventually(async () => {
    expect((await api.get(`${core}/endpoints/web`)).status).toBe(404);
    expect((await api.get(slicesOf(namespace, "web"))).body.items).toEqual([]);
  }, patience);
});

test("a service without a selector is left alone, and Endpoints that somebody writes are mirrored", async ({ api, core, namespace }) => {
  await createService(api, core, { ports: [{ name: "http", port: 80 }] });
  const ports = [{ name: "http", port: 8080, protocol: "TCP" }];
  await api.create(`${core}/endpoints`, {
    metadata: { name: "web", labels: { by: "me" }, annotations: { "example.com/a": "b" } },
    subsets: [{ addresses: [{ ip: "192.0.2.1" }], notReadyAddresses: [{ ip: "192.0.2.2" }], ports }],
  });

  await read(api, core, namespace, (endpoints, slices) => {
    expect(endpoints).toMatchObject({ subsets: [{ addresses: [{ ip: "192.0.2.1" }] }] });
    expect(slices).toMatchObject([
      {
        metadata: {
          labels: {
            by: "me",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
          },
          annotations: { "example.com/a": "b" },
          ownerReferences: [{ kind: "Endpoints", name: "web" }],
        },
        addressType: "IPv4",
        ports,
      },
    ]);
    expect(slices[0]?.endpoints?.toSorted((x, y) => ((x.addresses[0] ?? "") < (y.addresses[0] ?? "") ? -1 : 1))).toEqual([
      { addresses: ["192.0.2.1"], conditions: { ready: true } },
      { addresses: ["192.0.2.2"], conditions: { ready: false } },
    ]);
  });

  await api.patch("merge", `${core}/endpoints/web`, { metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } } });
  await read(api, core, namespace, (_, slices) => expect(slices).toEqual([]));
});

test("a service is answered with warnings about fields that are deprecated or ignored", async ({ api, core }) => {
  const ports = [{ port: 80 }];
  const externalIPs = ["192.0.2.1"];
  const answers: unknown[] = [];
  for (const [spec, annotations = {}] of [
    [{ ports }],
    [{ ports, clusterIP: "None", sessionAffinity: "ClientIP", externalIPs, loadBalancerIP: "192.0.2.2" }],
    [{ ports, externalIPs, externalName: "a.example.com" }],
    [{ type: "ExternalName", externalName: "a.example.com", externalIPs }],
    [{ ports, trafficDistribution: "PreferClose" }, { "service.kubernetes.io/topology-aware-hints": "auto" }],
    [{ ports, trafficDistribution: "Near" }],
    [{ ports, trafficDistribution: "Near", externalName: "a" }],
  ] as const) {
    const { status, headers, body } = await api.post(`${core}/services?dryRun=All`, { metadata: { name: "a", annotations }, spec });
    answers.push([status, headers["warning"] ?? (status === 201 ? "no warning" : body.message)]);
  }
  await api.create(`${core}/services`, { metadata: { name: "b" }, spec: { ports, externalIPs } });
  const changed = await api.patch("merge", `${core}/services/b`, { metadata: { labels: { a: "b" } } });
  const status = await api.patch("merge", `${core}/services/b/status`, { metadata: { labels: { a: "c" } } });
  expect([...answers, changed.headers["warning"], status.headers["warning"]]).toMatchSnapshot();
});
