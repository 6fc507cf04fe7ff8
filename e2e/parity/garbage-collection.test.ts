import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

// The cases of Kubernetes v1.36.3 test/e2e/apimachinery/garbage_collector.go, with objects that no other controller touches, and the
// special cases of pkg/controller/garbagecollector.

const patience = { timeoutMs: 90_000 };

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string };
}

function reference({ apiVersion, kind, metadata: { name, uid } }: Owner, blockOwnerDeletion = true): object {
  return { apiVersion, kind, name, uid, blockOwnerDeletion };
}

async function createOwned(
  api: Api,
  core: string,
  name: string,
  owners: readonly object[],
  finalizers?: readonly string[],
): Promise<Owner> {
  return (await api.create(`${core}/configmaps`, configMapNamed(name, {}, { ownerReferences: owners, finalizers }))) as Owner;
}

async function namesOf(api: Api, core: string): Promise<string[]> {
  const { items } = (await api.get(`${core}/configmaps`)).body as { items: readonly Owner[] };
  return items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt");
}

async function ownersOf(api: Api, path: string): Promise<unknown> {
  return (await api.get(path)).body.metadata?.ownerReferences;
}

test("dependents of dependents are deleted", async ({ api, core }) => {
  const parent = await createOwned(api, core, "parent", []);
  const child = await createOwned(api, core, "child", [reference(parent)]);
  await createOwned(api, core, "grandchild", [reference(child)]);
  await createOwned(api, core, "stranger", []);
  await api.delete(`${core}/configmaps/parent`);

  await eventually(async () => expect(await namesOf(api, core)).toEqual(["stranger"]), patience);
});

test("dependents are kept if the deletion orphans them", async ({ api, core }) => {
  const parent = await createOwned(api, core, "parent", []);
  for (let index = 0; index < 5; index++) await createOwned(api, core, `child-${String(index)}`, [reference(parent)]);
  await api.delete(`${core}/configmaps/parent`, { propagationPolicy: "Orphan" });

  await eventually(
    async () => expect(await namesOf(api, core)).toEqual([0, 1, 2, 3, 4].map((index) => `child-${String(index)}`)),
    patience,
  );
  for (const name of await namesOf(api, core)) expect(await ownersOf(api, `${core}/configmaps/${name}`)).toBeUndefined();
});

test("an owner in foreground deletion waits for the dependents that block it", async ({ api, core }) => {
  const parent = await createOwned(api, core, "parent", []);
  await createOwned(api, core, "held", [reference(parent)], ["example.com/hold"]);
  await createOwned(api, core, "free", [reference(parent)]);
  const { body } = await api.delete(`${core}/configmaps/parent`, { propagationPolicy: "Foreground" });
  await eventually(async () => expect(await namesOf(api, core)).toEqual(["held", "parent"]), patience);

  expect(body.metadata.finalizers).toEqual(["foregroundDeletion"]);
  // The real garbage collector deletes the dependents in any order.
  await eventually(async () => expect((await api.get(`${core}/configmaps/held`)).body.metadata.deletionTimestamp).toBeDefined(), patience);
  expect(await namesOf(api, core)).toEqual(["held", "parent"]);
  await api.patch("merge", `${core}/configmaps/held`, { metadata: { finalizers: null } });
  await eventually(async () => expect(await namesOf(api, core)).toEqual([]), patience);
});

test("an owner in foreground deletion does not wait for dependents that do not block it", async ({ api, core }) => {
  const parent = await createOwned(api, core, "parent", []);
  await createOwned(api, core, "held", [reference(parent, false)], ["example.com/hold"]);
  await api.delete(`${core}/configmaps/parent`, { propagationPolicy: "Foreground" });

  await eventually(async () => expect(await namesOf(api, core)).toEqual(["held"]), patience);
  await eventually(async () => expect((await api.get(`${core}/configmaps/held`)).body.metadata.deletionTimestamp).toBeDefined(), patience);
  await api.patch("merge", `${core}/configmaps/held`, { metadata: { finalizers: null } });
});

test("an owner in foreground deletion goes on when a dependent stops blocking it", async ({ api, core }) => {
  const parent = await createOwned(api, core, "parent", []);
  await createOwned(api, core, "held", [reference(parent)], ["example.com/hold"]);
  await api.delete(`${core}/configmaps/parent`, { propagationPolicy: "Foreground" });
  await eventually(async () => expect((await api.get(`${core}/configmaps/held`)).body.metadata.deletionTimestamp).toBeDefined(), patience);
  await api.patch("merge", `${core}/configmaps/held`, { metadata: { ownerReferences: [reference(parent, false)] } });

  await eventually(async () => expect(await namesOf(api, core)).toEqual(["held"]), patience);
  await api.patch("merge", `${core}/configmaps/held`, { metadata: { finalizers: null } });
});

test("a dependent that another owner still holds outlives an owner in foreground deletion", async ({ api, core }) => {
  const ending = await createOwned(api, core, "ending", []);
  const staying = await createOwned(api, core, "staying", []);
  await createOwned(api, core, "only-ending", [reference(ending)]);
  await createOwned(api, core, "both", [reference(ending), reference(staying)]);
  await api.delete(`${core}/configmaps/ending`, { propagationPolicy: "Foreground" });

  await eventually(async () => expect(await namesOf(api, core)).toEqual(["both", "staying"]), patience);
  expect(await ownersOf(api, `${core}/configmaps/both`)).toEqual([reference(staying)]);
});

test("a circle of owners is deleted in the foreground", async ({ api, core }) => {
  const pods: Owner[] = [];
  for (const name of ["pod1", "pod2", "pod3"]) pods.push(await api.create(`${core}/pods`, podNamed(name)));
  for (const [index, pod] of pods.entries())
    await api.patch("merge", `${core}/pods/${pod.metadata.name}`, {
      metadata: { ownerReferences: [reference({ ...pods[(index + 2) % 3]!, apiVersion: "v1", kind: "Pod" })] },
    });
  await api.delete(`${core}/pods/pod1`, { propagationPolicy: "Foreground" });

  await eventually(async () => expect((await api.get(`${core}/pods`)).body.items).toEqual([]), patience);
});

test("a dependent that names an owner with another UID is deleted", async ({ api, core }) => {
  const parent = await createOwned(api, core, "parent", []);
  const replaced = { ...parent, metadata: { ...parent.metadata, uid: "00000000-0000-4000-8000-000000000000" } };
  await createOwned(api, core, "child", [reference(replaced)]);

  await eventually(async () => expect(await namesOf(api, core)).toEqual(["parent"]), patience);
});

test("a dependent that names an owner of another kind with the right UID is deleted", async ({ api, core }) => {
  const parent = await createOwned(api, core, "parent", []);
  await createOwned(api, core, "child", [reference({ ...parent, kind: "Secret" })]);

  await eventually(async () => expect(await namesOf(api, core)).toEqual(["parent"]), patience);
});

test("a dependent of an owner in another namespace is deleted with an event", async ({ api, core, namespace }) => {
  const owner = (await api.create("/api/v1/namespaces/default/configmaps", configMapNamed(namespace))) as Owner;
  const { metadata } = await createOwned(api, core, "child", [reference(owner)]);

  await eventually(async () => expect(await namesOf(api, core)).toEqual([]), patience);
  const message = `ownerRef [v1/ConfigMap, namespace: ${namespace}, name: ${namespace}, uid: ${owner.metadata.uid}] does not exist in namespace "${namespace}"`;
  await eventually(async () => {
    const { items } = (await api.get(`${core}/events?fieldSelector=involvedObject.uid=${metadata.uid}`)).body;
    expect(items).toMatchObject([
      { type: "Warning", reason: "OwnerRefInvalidNamespace", message, source: { component: "garbage-collector-controller" } },
    ]);
  }, patience);
  await api.delete(`/api/v1/namespaces/default/configmaps/${namespace}`);
});

test("an object with an owner of an unknown kind is kept, whatever its other owners do", async ({ api, core }) => {
  const parent = await createOwned(api, core, "parent", []);
  const unknown = reference({
    apiVersion: "example.com/v1",
    kind: "Unknown",
    metadata: { name: "a", uid: "00000000-0000-4000-8000-000000000001" },
  });
  await createOwned(api, core, "child", [reference(parent), unknown]);
  await createOwned(api, core, "sibling", [reference(parent)]);
  await api.delete(`${core}/configmaps/parent`);

  await eventually(async () => expect(await namesOf(api, core)).toEqual(["child"]), patience);
  expect(await ownersOf(api, `${core}/configmaps/child`)).toHaveLength(2);
});

test("a cluster-scoped object with a namespaced owner is kept when the owner goes", async ({ api, core, namespace }) => {
  const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const parent = await createOwned(api, core, "parent", []);
  await api.create(roles, { metadata: { name: namespace, ownerReferences: [reference(parent)] }, rules: [] });
  await createOwned(api, core, "sibling", [reference(parent)]);
  await api.delete(`${core}/configmaps/parent`);
  await eventually(async () => expect(await namesOf(api, core)).toEqual([]), patience);

  expect(await ownersOf(api, `${roles}/${namespace}`)).toHaveLength(1);
  await api.delete(`${roles}/${namespace}`);
});

test("dependents of a cluster-scoped object are deleted in every namespace", async ({ api, core, namespace }) => {
  const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    ...(await api.create(roles, { metadata: { name: namespace }, rules: [] })),
  };
  await createOwned(api, core, "child", [reference(role as Owner)]);
  await api.delete(`${roles}/${namespace}`);

  await eventually(async () => expect(await namesOf(api, core)).toEqual([]), patience);
});

test.for(["Background", "Orphan"])(
  "dependents of custom resources follow a deletion with the policy %s",
  async (policy, { api, core, namespace }) => {
    const group = `${namespace}.example.com`;
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await api.create(crds, {
      metadata: { name: `things.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: "things", kind: "Thing" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    });
    const things = `/apis/${group}/v1/namespaces/${namespace}/things`;
    await eventually(async () => expect((await api.get(things)).status).toBe(200), patience);
    const thing = (name: string, ownerReferences?: object[]): object => ({
      apiVersion: `${group}/v1`,
      kind: "Thing",
      metadata: { name, ownerReferences },
    });
    const owner = (await api.create(things, thing("owner"))) as Owner;
    await api.create(things, thing("child", [reference(owner)]));
    await createOwned(api, core, "native", [reference(owner)]);
    const namesOfThings = async (): Promise<string[]> => (await api.get(things)).body.items.map((item: Owner) => item.metadata.name);

    await api.delete(`${things}/owner`, { propagationPolicy: policy });

    const left = policy === "Orphan";
    await eventually(async () => {
      expect(await namesOfThings()).toEqual(left ? ["child"] : []);
      expect(await namesOf(api, core)).toEqual(left ? ["native"] : []);
    }, patience);
    if (left) expect(await ownersOf(api, `${things}/child`)).toBeUndefined();
    await api.delete(`${crds}/things.${group}`);
  },
);

function replicationController(name: string, replicas: number): object {
  const template = {
    metadata: { labels: { app: name } },
    spec: { schedulerName: "nobody", containers: [{ name: "main", image: "main:1" }] },
  };
  return { metadata: { name }, spec: { replicas, selector: { app: name }, template } };
}

/** Creates a replication controller and waits for its pods. */
async function createController(api: Api, core: string, name: string, replicas: number): Promise<Owner> {
  const { metadata } = await api.create(`${core}/replicationcontrollers`, replicationController(name, replicas));
  await eventually(async () => {
    const { status } = (await api.get(`${core}/replicationcontrollers/${name}`)).body;
    expect(status.replicas).toBe(replicas);
  }, patience);
  return { apiVersion: "v1", kind: "ReplicationController", metadata };
}

async function podsOf(api: Api, core: string): Promise<{ metadata: { name: string; ownerReferences?: object[] } }[]> {
  return (await api.get(`${core}/pods`)).body.items;
}

test("pods of a replication controller are deleted with it if the deletion does not orphan them", async ({ api, core }) => {
  await createController(api, core, "web", 2);
  await api.delete(`${core}/replicationcontrollers/web`, { orphanDependents: false });

  await eventually(async () => expect(await podsOf(api, core)).toEqual([]), patience);
  expect((await api.get(`${core}/replicationcontrollers/web`)).status).toBe(404);
});

test.for([
  ["if the deletion says so", { orphanDependents: true }],
  ["by default", undefined],
] as const)("pods of a replication controller are kept %s", async ([, options], { api, core }) => {
  await createController(api, core, "web", 3);
  await api.delete(`${core}/replicationcontrollers/web`, options);

  await eventually(async () => {
    expect((await api.get(`${core}/replicationcontrollers/web`)).status).toBe(404);
    const pods = await podsOf(api, core);
    expect(pods.map(({ metadata }) => metadata.ownerReferences)).toEqual([undefined, undefined, undefined]);
  }, patience);
});

test("a replication controller in foreground deletion stays until its pods are gone", async ({ api, core }) => {
  await createController(api, core, "web", 2);
  const [held] = await podsOf(api, core);
  const pod = `${core}/pods/${held?.metadata.name ?? ""}`;
  await api.patch("merge", pod, { metadata: { finalizers: ["example.com/hold"] } });
  await api.delete(`${core}/replicationcontrollers/web`, { propagationPolicy: "Foreground" });
  await eventually(async () => expect(await podsOf(api, core)).toHaveLength(1), patience);

  expect((await api.get(`${core}/replicationcontrollers/web`)).body.metadata.finalizers).toEqual(["foregroundDeletion"]);
  await api.patch("merge", pod, { metadata: { finalizers: null } });
  await eventually(async () => expect((await api.get(`${core}/replicationcontrollers/web`)).status).toBe(404), patience);
});

test("pods that a second replication controller owns outlive the first one's foreground deletion", async ({ api, core }) => {
  await createController(api, core, "ending", 4);
  const staying = await createController(api, core, "staying", 0);
  const shared = (await podsOf(api, core)).slice(0, 2).map(({ metadata }) => metadata.name);
  for (const name of shared) {
    const { metadata } = (await api.get(`${core}/pods/${name}`)).body;
    await api.patch("merge", `${core}/pods/${name}`, {
      metadata: { ownerReferences: [...metadata.ownerReferences, reference(staying, false)] },
    });
  }
  await api.delete(`${core}/replicationcontrollers/ending`, { propagationPolicy: "Foreground" });

  await eventually(async () => expect((await api.get(`${core}/replicationcontrollers/ending`)).status).toBe(404), patience);
  const left = await podsOf(api, core);
  expect(left.map(({ metadata }) => metadata.name).toSorted()).toEqual(shared.toSorted());
  for (const { metadata } of left) expect(metadata.ownerReferences).toMatchObject([{ name: "staying" }]);
});

test.for(["Background", "Orphan"])(
  "the ReplicaSet of a Deployment follows a deletion with the policy %s",
  async (policy, { api, apps, core }) => {
    const { template, ...spec } = (replicationController("web", 2) as { spec: { template: object; replicas: number } }).spec;
    await api.create(`${apps}/deployments`, {
      metadata: { name: "web" },
      spec: { ...spec, selector: { matchLabels: { app: "web" } }, template },
    });
    const sets = async (): Promise<Owner[]> => (await api.get(`${apps}/replicasets`)).body.items;
    await eventually(async () => expect(await podsOf(api, core)).toHaveLength(2), patience);
    await api.delete(`${apps}/deployments/web`, { propagationPolicy: policy });

    const left = policy === "Orphan" ? 1 : 0;
    await eventually(async () => {
      expect((await api.get(`${apps}/deployments/web`)).status).toBe(404);
      const owners = (await sets()).map(({ metadata }) => (metadata as { ownerReferences?: object[] }).ownerReferences);
      expect(owners).toEqual(left === 1 ? [undefined] : []);
      expect(await podsOf(api, core)).toHaveLength(2 * left);
    }, patience);
  },
);
