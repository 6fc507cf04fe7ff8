import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { isConflict, isNotFound, isUnavailable } from "@virtual-kubelet/errdefs";
import { createKubeClient, resources, type ConfigMap, type KubeClient, type Store } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ownerObjectName } from "../identity/names.ts";
import { ownerTags } from "../identity/tags.ts";
import { OwnerObjects } from "./owner-objects.ts";

const owner = { clusterId: "home-1", nodeName: "far-1" };
const name = ownerObjectName(owner);
const { signal } = new AbortController();
let server: ApiServer;
let client: KubeClient;
let shown: ConfigMap | undefined;
let isCurrent: boolean;
let objects: OwnerObjects;

beforeEach(async () => {
  server = await startApiServer({ listen: false, controllers: false, serviceAccounts: true });
  client = createKubeClient(server.transport());
  shown = undefined;
  isCurrent = true;
  const store: Pick<Store<ConfigMap>, "getByName"> = { getByName: () => shown };
  const watched = {
    store,
    get isCurrent(): boolean {
      return isCurrent;
    },
  };
  objects = new OwnerObjects({ client, watched });
});
afterEach(() => server[Symbol.asyncDispose]());

const read = (namespace = "default"): Promise<ConfigMap> => client.get(resources.configMaps, { namespace, name }, { signal });

test("it is created once, whoever asks at the same time, and is the controller of what it owns", async () => {
  const creations = server.faults.inject({ verb: "create", resource: "configmaps" }, { kind: "delay", ms: 0 });

  const [one, two] = await Promise.all([
    objects.reference(owner, "default", false, signal),
    objects.reference(owner, "default", false, signal),
  ]);

  expect(creations.hits).toBe(1);
  expect(one).toEqual(two);
  expect(one).toEqual({ apiVersion: "v1", kind: "ConfigMap", name, uid: (await read()).metadata?.uid, controller: true });
});

test("while the watch shows it nothing is asked", async () => {
  await objects.reference(owner, "default", false, signal);
  shown = await read();
  const requests = server.faults.inject({}, { kind: "delay", ms: 0 });

  expect(await objects.reference(owner, "default", false, signal)).toMatchObject({ uid: shown.metadata?.uid });
  expect(requests.hits).toBe(0);
});

test("what a watch showed that has broken off is not believed", async () => {
  await objects.reference(owner, "default", false, signal);
  shown = await read();
  await client.delete(resources.configMaps, { namespace: "default", name }, {}, { signal });
  isCurrent = false;

  const reference = await objects.reference(owner, "default", false, signal);

  expect(reference.uid).not.toBe(shown.metadata?.uid);
  expect(reference.uid).toBe((await read()).metadata?.uid);
});

test("an object of that name that is not ours is neither used nor changed", async () => {
  const stranger: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name }, data: { theirs: "yes" } };
  await client.create(resources.configMaps, stranger, { signal });

  await expect(objects.reference(owner, "default", false, signal)).rejects.toSatisfy(
    (error) => isConflict(error) && String(error).includes("delete it"),
  );
  expect((await read()).data).toEqual({ theirs: "yes" });
});

test("one that has lost its labels owns pods, so the advice is to label it again and not to delete it", async () => {
  await objects.reference(owner, "default", false, signal);
  const body = { metadata: { labels: { "virtual-kubelet.io/node": null } } };
  await client.patch(resources.configMaps, { namespace: "default", name }, { type: "merge", body }, { signal });
  isCurrent = false;

  await expect(objects.reference(owner, "default", false, signal)).rejects.toThrow(
    /give it the labels .*virtual-kubelet\.io\/node=far-1 .*Only if nothing has it as owner, delete it/,
  );
});

test("one that is being deleted gets no more pods", async () => {
  const { labels, annotations } = ownerTags(owner);
  const metadata = { namespace: "default", name, labels, annotations, finalizers: ["example.com/wait"] };
  await client.create(resources.configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata }, { signal });
  await client.delete(resources.configMaps, { namespace: "default", name }, {}, { signal });
  shown = await read();

  await expect(objects.reference(owner, "default", false, signal)).rejects.toSatisfy(
    (error) => isConflict(error) && String(error).includes("being deleted"),
  );
});

test("a missing namespace is created only if that is configured", async () => {
  await expect(objects.reference(owner, "team-a", false, signal)).rejects.toSatisfy(isNotFound);

  await objects.reference(owner, "team-a", true, signal);

  expect((await client.get(resources.namespaces, { name: "team-a" }, { signal })).metadata?.labels).toMatchObject({
    "virtual-kubelet.io/cluster": "home-1",
  });
  expect((await read("team-a")).metadata?.name).toBe(name);
});

test("a 404 from something else than the API server creates nothing", async () => {
  using _ = server.faults.inject(
    { verb: "get", resource: "configmaps" },
    { kind: "status", status: 404, message: "default backend - 404" },
  );
  const creations = server.faults.inject({ verb: "create" }, { kind: "delay", ms: 0 });

  await expect(objects.reference(owner, "default", false, signal)).rejects.toSatisfy(isUnavailable);
  await expect(objects.uid(owner, "default", signal)).rejects.toSatisfy(isUnavailable);
  expect(creations.hits).toBe(0);
});
