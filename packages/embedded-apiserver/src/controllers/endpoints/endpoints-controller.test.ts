import { expect, test } from "vitest";
import { endpointsKind, endpointSliceKind } from "../../kinds/plain/named-kinds.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { serviceKind } from "../../kinds/service/service.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

function createService(world: World, spec: object = {}): void {
  world.cluster.create(serviceKind, {
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }], ...spec },
  });
}

function createPod(world: World, name: string, ip: string, node = "n1"): void {
  const spec = { nodeName: node, containers: [{ name: "c", image: "busybox" }] };
  world.cluster.create(podKind, { metadata: { name, namespace: "default", labels: { app: "web" } }, spec });
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:05Z" }];
  world.cluster.update(
    podKind,
    "default",
    name,
    (pod) => ({ ...pod, status: { ...pod["status"], phase: "Running", podIP: ip, podIPs: [{ ip }], conditions } }),
    "status",
  );
}

const slices = (world: World) => world.cluster.list(endpointSliceKind, "default");
const addresses = (world: World): string[] =>
  slices(world).flatMap((slice) => (slice["endpoints"] ?? []).flatMap((endpoint: { addresses: string[] }) => endpoint.addresses));

test("a service with many pods has slices of 100, and one Endpoints object of 1,000 addresses", async () => {
  await using world = await startWorld();
  world.addNode("n1", { allocatable: { cpu: "999", memory: "999Gi", pods: "9999" } });
  createService(world);
  for (let index = 0; index < 1020; index++)
    createPod(world, `p${String(index)}`, `10.1.${String(Math.floor(index / 250))}.${String(index % 250)}`);
  await world.pass(1);

  expect(addresses(world)).toHaveLength(1020);
  expect(slices(world).every((slice) => slice["endpoints"].length <= 100)).toBe(true);
  const endpoints = world.cluster.get(endpointsKind, "default", "web");
  expect(endpoints?.["subsets"][0].addresses).toHaveLength(1000);
  expect(endpoints?.metadata.annotations?.["endpoints.kubernetes.io/over-capacity"]).toBe("truncated");
});

test("a pod on a node that does not exist is left out of the slices until the node exists", async () => {
  await using world = await startWorld();
  createService(world);
  createPod(world, "a", "10.1.0.1", "n2");
  await world.settle();
  const before = addresses(world);

  world.addNode("n2");
  await world.settle();

  expect(before).toEqual([]);
  expect(addresses(world)).toEqual(["10.1.0.1"]);
});

test("the annotation has the time of the change that the endpoints follow", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createService(world);
  await world.settle();
  const atFirst = world.cluster.get(endpointsKind, "default", "web")?.metadata.annotations;
  createPod(world, "a", "10.1.0.1");
  await world.settle();

  const annotation = "endpoints.kubernetes.io/last-change-trigger-time";
  expect(atFirst).toEqual({ [annotation]: "2026-01-01T00:00:00Z" });
  expect(world.cluster.get(endpointsKind, "default", "web")?.metadata.annotations).toEqual({ [annotation]: "2026-01-01T00:00:05Z" });
  expect(slices(world)[0]?.metadata.annotations).toEqual({ [annotation]: "2026-01-01T00:00:05Z" });
});

test("a changed selector changes the endpoints", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createService(world);
  createPod(world, "a", "10.1.0.1");
  await world.settle();
  world.cluster.update(serviceKind, "default", "web", (service) => ({
    ...service,
    spec: { ...service["spec"], selector: { app: "other" } },
  }));
  await world.settle();

  expect(addresses(world)).toEqual([]);
});

test("an update that changes nothing writes nothing", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createService(world);
  createPod(world, "a", "10.1.0.1");
  await world.settle();
  const versions = (): unknown =>
    [...slices(world), world.cluster.get(endpointsKind, "default", "web")].map((each) => each?.metadata.resourceVersion);
  const before = versions();
  world.cluster.update(podKind, "default", "a", (pod) => ({ ...pod, metadata: { ...pod.metadata, annotations: { a: "b" } } }));
  await world.settle();

  expect(versions()).toEqual(before);
});
