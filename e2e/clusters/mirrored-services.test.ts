import type { EndpointSlice, Pod, Service } from "@virtual-kubelet/kube-client";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { startProgramNode } from "../support/program-node.ts";
import { Cluster, podTimeout } from "./support/cluster.ts";
import { diagnoseFailure } from "./support/diagnosis.ts";

const patience = { timeoutMs: 90_000, intervalMs: 500 };
const ends = new AsyncDisposableStack();
const name = "mirrored";
const home = ends.use(Cluster.home(name));
const far = ends.use(Cluster.far(name));
/** Log of the program that runs the virtual node. */
let logFile = "";

/** A pod that is ready when it serves. */
function pod(app: string, spec: object): object {
  const command = ["httpd", "-f", "-p", "8080", "-h", "/"];
  const containers = [{ name: "main", image: "busybox:1.37", command, readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: app, labels: { app } },
    spec: { terminationGracePeriodSeconds: 1, containers, ...spec },
  };
}

function service(serviceName: string, spec: object): object {
  return { apiVersion: "v1", kind: "Service", metadata: { name: serviceName }, spec: { ports: [{ port: 80, targetPort: 8080 }], ...spec } };
}

async function slicesOf(cluster: Cluster, serviceName: string): Promise<readonly EndpointSlice[]> {
  return cluster.list<EndpointSlice>(`get endpointslices -l kubernetes.io/service-name=${serviceName}`);
}

async function readyAddresses(cluster: Cluster, serviceName: string): Promise<string[]> {
  const slices = await slicesOf(cluster, serviceName);
  return slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready)
    .flatMap(({ addresses }) => addresses);
}

async function versions(cluster: Cluster): Promise<Record<string, string>> {
  const objects = await cluster.list("get services,endpointslices");
  return Object.fromEntries(objects.map(({ kind, metadata }) => [`${kind} ${metadata?.name}`, metadata?.resourceVersion ?? ""]));
}

beforeAll(async () => {
  for (const cluster of [home, far]) {
    await cluster.say(`create namespace ${name}`);
    ends.defer(async () => void (await cluster.access.kubectl(["delete", "namespace", name, "--wait=false"])));
    await cluster.say(`wait serviceaccount/default --for=create ${podTimeout}`);
  }
  const directory = await mkdtemp(join(tmpdir(), "vk-mirrored-"));
  logFile = join(directory, `${name}.log`);
  ends.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  ends.defer(async () => void (await home.access.kubectl(["delete", "node", name, "--ignore-not-found", "--wait=false"])));
  ends.use(
    await startProgramNode({
      controlPlane: home.access,
      name,
      provider: "kubernetes",
      providerConfig: {
        cluster: { kubeconfig: far.access.kubeconfig.path },
        namespaces: { mode: "same" },
        // The far cluster's node is a virtual one itself, and those never count.
        node: { capacity: { cpu: "8", memory: "8Gi", pods: "50", "ephemeral-storage": "10Gi" } },
        scheduling: { nodeSelector: { "kubernetes.io/hostname": "far-docker" } },
        services: { namespaces: [name], home: { kubeconfig: home.access.kubeconfig.path } },
      },
      address: inject("nodeAddress"),
      kubeletPort: await freePort(),
      directory,
      home: directory,
    }),
  );
});

beforeEach(() => diagnoseFailure({ home, far, log: () => readFileSync(logFile, "utf8") }));
afterAll(() => ends.disposeAsync());

// Each test continues from the state of the previous one.

test("a home Service whose pod runs in the far cluster has the pod's address in both clusters, once", async () => {
  await home.apply(
    service("web", { selector: { app: "web" }, type: "LoadBalancer" }),
    pod("web", { nodeSelector: { "kubernetes.io/hostname": name } }),
  );
  await home.say(`wait pod/web --for=condition=Ready ${podTimeout}`);
  const [farPod] = await far.list<Pod>("get pods -l app=web");
  const address = farPod?.status?.podIP ?? "";
  expect(address).toMatch(/^\d/);

  await eventually(async () => expect(await readyAddresses(far, "web")).toEqual([address]), patience);
  // Home's own controller made this one; nothing is added to it.
  expect(await readyAddresses(home, "web")).toEqual([address]);
  expect(await slicesOf(home, "web")).toHaveLength(1);
  const copy = await far.json<Service>("get service web");
  expect(copy.spec).toMatchObject({ type: "ClusterIP", ports: [{ port: 80 }] });
  expect(copy.spec?.selector).toBeUndefined();
});

test("a Service of the far cluster has its endpoints at home", async () => {
  await far.apply(service("db", { selector: { app: "db" }, clusterIP: "None" }), pod("db", {}));
  await far.say(`wait pod/db --for=condition=Ready ${podTimeout}`);
  const { status } = await far.json<Pod>("get pod db");

  await eventually(async () => expect(await readyAddresses(home, "db")).toEqual([status?.podIP]), patience);
  expect((await home.json<Service>("get service db")).spec?.clusterIP).toBe("None");
});

test("the controllers of both clusters leave the copies alone, and the mirror writes nothing without a change", async () => {
  await eventually(async () => expect(await readyAddresses(home, "db")).toHaveLength(1), patience);
  const before = [await versions(home), await versions(far)];
  // When this one has arrived, everything that was on its way has, too.
  await home.apply(service("mail", { type: "ExternalName", externalName: "mail.example.com", ports: undefined }));
  await eventually(async () => {
    expect((await far.json<Service>("get service mail")).spec?.externalName).toBe("mail.example.com");
  }, patience);

  const after = [await versions(home), await versions(far)].map(({ "Service mail": _, ...others }) => others);
  expect(after).toEqual(before);
});

test("endpoints and Services go with what they stand for", async () => {
  await home.say(`delete pod web ${podTimeout}`);
  await eventually(async () => expect(await readyAddresses(far, "web")).toEqual([]), patience);
  await home.say("delete service web mail");
  await far.say("delete service db");

  await eventually(async () => {
    expect((await far.list("get services")).map(({ metadata }) => metadata?.name)).toEqual([]);
    expect((await home.list("get services")).map(({ metadata }) => metadata?.name)).toEqual([]);
  }, patience);
  await eventually(async () => {
    expect([await slicesOf(far, "web"), await slicesOf(home, "db")]).toEqual([[], []]);
  }, patience);
});
