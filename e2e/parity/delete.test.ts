import { expect } from "vitest";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

test("DELETE responds with a Status that names the object; for pods and services with the object itself", async ({
  api,
  core,
  apps,
  namespace,
}) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));
  await api.create(`${core}/serviceaccounts`, { metadata: { name: "robot" } });
  await api.create(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, { metadata: { name: "lock" } });
  await api.create(`${core}/services`, { metadata: { name: "web" }, spec: { ports: [{ port: 80 }] } });

  expect(await api.delete(`${core}/configmaps/settings`)).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      details: {kind: "configmaps", name: "settings", uid: "UID"},
      kind: "Status",
      metadata: {},
      status: "Success",
    }
  `);
  expect(await api.delete(`${core}/serviceaccounts/robot`)).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        creationTimestamp: "TIME",
        name: "robot",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(await api.delete(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/lock`)).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      details: {group: "coordination.k8s.io", kind: "leases", name: "lock", uid: "UID"},
      kind: "Status",
      metadata: {},
      status: "Success",
    }
  `);
  expect(await api.delete(`${core}/services/web`)).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        creationTimestamp: "TIME",
        name: "web",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        clusterIP: "IP",
        clusterIPs: ["IP"],
        internalTrafficPolicy: "Cluster",
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        ports: [{port: 80, protocol: "TCP", targetPort: 80}],
        sessionAffinity: "None",
        type: "ClusterIP",
      },
      status: {loadBalancer: {}},
    }
  `);
  expect((await api.get(`${core}/configmaps/settings`)).status).toBe(404);
  expect((await api.delete(`${apps}/deployments/none`)).status).toBe(404);
});

test("failed preconditions on uid and resourceVersion are refused with 409", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/configmaps`, configMapNamed("settings"));
  await api.patch("merge", `${core}/configmaps/settings`, { data: { a: "1" } });
  const remove = (preconditions: object): Promise<unknown> => api.delete(`${core}/configmaps/settings`, { preconditions });

  expect(await remove({ uid: "00000000-0000-4000-8000-000000000000" })).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "ConfigMap", name: "settings"},
      message: 'Operation cannot be fulfilled on ConfigMap "settings": the UID in the precondition (UID) does not match the UID in record (UID). The object might have been deleted and then recreated',
      reason: "Conflict",
    }
  `);
  expect(await remove({ resourceVersion: metadata.resourceVersion })).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "ConfigMap", name: "settings"},
      message: 'Operation cannot be fulfilled on ConfigMap "settings": the ResourceVersion in the precondition (VERSION) does not match the ResourceVersion in record (VERSION). The object might have been modified',
      reason: "Conflict",
    }
  `);
  expect(await remove({ uid: metadata.uid })).toMatchObject({ status: 200 });
});

test("a deletion's options may be in the query", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));

  expect((await api.delete(`${core}/pods/web?gracePeriodSeconds=7`)).body.metadata.deletionGracePeriodSeconds).toBe(7);
  await api.delete(`${core}/pods/web?gracePeriodSeconds=0`);
  expect((await api.get(`${core}/pods/web`)).status).toBe(404);
});

test("an object with finalizers is marked and stays, also after a second deletion", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", {}, { finalizers: ["example.com/a"] }));
  const first = await api.delete(`${core}/configmaps/settings`);

  expect(first).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        deletionGracePeriodSeconds: 0,
        deletionTimestamp: "TIME",
        finalizers: ["example.com/a"],
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect((await api.delete(`${core}/configmaps/settings`)).body).toEqual(first.body);
  await api.patch("merge", `${core}/configmaps/settings`, { metadata: { finalizers: null } });
  expect((await api.get(`${core}/configmaps/settings`)).status).toBe(404);
});

test("foreground deletion and orphaning add a finalizer to the object", async ({ api, core }) => {
  for (const name of ["front", "orphan"])
    await api.create(`${core}/configmaps`, configMapNamed(name, {}, { finalizers: ["example.com/a"] }));
  const front = await api.delete(`${core}/configmaps/front`, { propagationPolicy: "Foreground" });
  const orphan = await api.delete(`${core}/configmaps/orphan`, { propagationPolicy: "Orphan" });

  expect(front.body.metadata.finalizers).toEqual(["example.com/a", "foregroundDeletion"]);
  expect(orphan.body.metadata.finalizers).toEqual(["example.com/a", "orphan"]);
  for (const name of ["front", "orphan"]) await api.patch("merge", `${core}/configmaps/${name}`, { metadata: { finalizers: null } });
});

test("with orphanDependents=false the status is 202 while the object stays", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", {}, { finalizers: ["example.com/a"] }));

  expect((await api.delete(`${core}/configmaps/settings`, { orphanDependents: false })).status).toBe(202);
  await api.patch("merge", `${core}/configmaps/settings`, { metadata: { finalizers: null } });
});

test("invalid options of a deletion are refused", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));
  const remove = (options: unknown): Promise<unknown> => api.delete(`${core}/configmaps/settings`, options);

  expect(await remove({ propagationPolicy: "Sideways" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "propagationPolicy",
            message: 'Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"',
            reason: "FieldValueNotSupported",
          },
        ],
        group: "meta.k8s.io",
        kind: "DeleteOptions",
      },
      message: 'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"',
      reason: "Invalid",
    }
  `);
  expect(await remove({ propagationPolicy: "Orphan", orphanDependents: true })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "propagationPolicy",
            message: 'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
            reason: "FieldValueInvalid",
          },
        ],
        group: "meta.k8s.io",
        kind: "DeleteOptions",
      },
      message: 'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
      reason: "Invalid",
    }
  `);
  expect(await remove({ dryRun: ["Some"] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "dryRun", message: 'Unsupported value: ["Some"]: supported values: "All"', reason: "FieldValueNotSupported"}],
        group: "meta.k8s.io",
        kind: "DeleteOptions",
      },
      message: 'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
      reason: "Invalid",
    }
  `);
  expect(await remove({ gracePeriodSeconds: "soon" })).toMatchInlineSnapshot(`
    400 Failure {
      message: "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
      reason: "BadRequest",
    }
  `);
  for (const gracePeriodSeconds of [1.5, true, [1], {}])
    expect(await remove({ gracePeriodSeconds })).toMatchSnapshot(JSON.stringify(gracePeriodSeconds));
  expect(await remove({ kind: "ConfigMap", apiVersion: "v1" })).toMatchInlineSnapshot(
    `400 Failure {message: 'no kind "ConfigMap" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"', reason: "BadRequest"}`,
  );
  expect(await api.delete(`${core}/configmaps/settings?gracePeriodSeconds=soon`)).toMatchInlineSnapshot(
    `400 Failure {message: 'strconv.ParseInt: parsing "soon": invalid syntax', reason: "BadRequest"}`,
  );
  expect((await api.get(`${core}/configmaps/settings`)).status).toBe(200);
});

test("a dry run of a deletion responds normally and deletes nothing", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings"));

  expect((await api.delete(`${core}/configmaps/settings?dryRun=All`)).body.status).toBe("Success");
  expect((await api.delete(`${core}/configmaps/settings`, { dryRun: ["All"] })).body.status).toBe("Success");
  expect((await api.get(`${core}/configmaps/settings`)).body).toEqual(created);
});

test("deleting a collection deletes the selected objects and responds with their list", async ({ api, core }) => {
  for (const name of "abc") await api.create(`${core}/secrets`, { metadata: { name, labels: { name } } });
  const answer = await api.delete(`${core}/secrets?labelSelector=${encodeURIComponent("name in (a,b)")}`);

  expect(answer).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      items: [
        {
          metadata: {
            creationTimestamp: "TIME",
            labels: {name: "a"},
            name: "a",
            namespace: "NAMESPACE",
            resourceVersion: VERSION,
            uid: "UID",
          },
          type: "Opaque",
        },
        {
          metadata: {
            creationTimestamp: "TIME",
            labels: {name: "b"},
            name: "b",
            namespace: "NAMESPACE",
            resourceVersion: VERSION,
            uid: "UID",
          },
          type: "Opaque",
        },
      ],
      kind: "SecretList",
      metadata: {resourceVersion: VERSION},
    }
  `);
  expect((await api.get(`${core}/secrets`)).body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(["c"]);
  expect((await api.delete(`${core}/secrets?fieldSelector=metadata.name=c`)).status).toBe(200);
  expect((await api.get(`${core}/secrets`)).body.items).toEqual([]);
});

test("a collection's deletion passes its options on to each object", async ({ api, core }) => {
  for (const name of "ab") await api.create(`${core}/pods`, podNamed(name, { nodeName: "n1" }));
  await api.delete(`${core}/pods`, { gracePeriodSeconds: 9 });

  const { items } = (await api.get(`${core}/pods`)).body;
  expect(items.map(({ metadata }: { metadata: object }) => metadata)).toMatchObject([
    { deletionGracePeriodSeconds: 9 },
    { deletionGracePeriodSeconds: 9 },
  ]);
  await api.delete(`${core}/pods`, { gracePeriodSeconds: 0 });
  expect((await api.get(`${core}/pods`)).body.items).toEqual([]);
});

test("the namespaces of the system cannot be deleted", async ({ api }) => {
  expect(await api.delete("/api/v1/namespaces/default")).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "namespaces", name: "default"},
      message: 'namespaces "default" is forbidden: this namespace may not be deleted',
      reason: "Forbidden",
    }
  `);
  expect(await api.delete("/api/v1/namespaces/kube-system")).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "namespaces", name: "kube-system"},
      message: 'namespaces "kube-system" is forbidden: this namespace may not be deleted',
      reason: "Forbidden",
    }
  `);
});
