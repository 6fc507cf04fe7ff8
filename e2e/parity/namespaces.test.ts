import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { deny } from "../../packages/embedded-apiserver/src/test-support/webhook-server.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { Webhooks } from "./support/webhooks.ts";

test("a deleted namespace is marked and gets the phase Terminating", async ({ api, core, namespace }) => {
  await api.create(`${core}/configmaps`, configMapNamed("held", {}, { finalizers: ["example.com/a"] }));
  const answer = await api.delete(`/api/v1/namespaces/${namespace}`);

  expect(answer).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        creationTimestamp: "TIME",
        deletionTimestamp: "TIME",
        labels: {kubernetes.io/metadata.name: "NAMESPACE"},
        name: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {finalizers: ["kubernetes"]},
      status: {phase: "Terminating"},
    }
  `);
  await api.patch("merge", `${core}/configmaps/held`, { metadata: { finalizers: null } });
});

test("in a terminating namespace objects can be changed but not created", async ({ api, core, namespace }) => {
  await api.create(`${core}/configmaps`, configMapNamed("held", {}, { finalizers: ["example.com/a"] }));
  await api.delete(`/api/v1/namespaces/${namespace}`);

  // The real server's admission learns of the deletion a moment later.
  await eventually(async () => expect((await api.post(`${core}/configmaps?dryRun=All`, configMapNamed("new"))).status).toBe(403));
  expect(await api.post(`${core}/configmaps`, configMapNamed("new"))).toMatchInlineSnapshot(`
    403 Failure {
      details: {
        causes: [{field: "metadata.namespace", message: "namespace NAMESPACE is being terminated", reason: "NamespaceTerminating"}],
        kind: "configmaps",
        name: "new",
      },
      message: 'configmaps "new" is forbidden: unable to create new content in namespace NAMESPACE because it is being terminated',
      reason: "Forbidden",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("new"))).toMatchInlineSnapshot(`
    403 Failure {
      details: {
        causes: [{field: "metadata.namespace", message: "namespace NAMESPACE is being terminated", reason: "NamespaceTerminating"}],
        kind: "pods",
        name: "new",
      },
      message: 'pods "new" is forbidden: unable to create new content in namespace NAMESPACE because it is being terminated',
      reason: "Forbidden",
    }
  `);
  expect((await api.patch("merge", `${core}/configmaps/held`, { data: { a: "1" } })).status).toBe(200);
  await api.patch("merge", `${core}/configmaps/held`, { metadata: { finalizers: null } });
});

test("a namespace's contents are deleted before the namespace", async ({ api, core, apps, namespace }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));
  await api.create(`${core}/pods`, podNamed("web"));
  await api.create(`${core}/services`, { metadata: { name: "web" }, spec: { ports: [{ port: 80 }] } });
  await api.create(`${apps}/deployments`, {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  });
  await api.delete(`/api/v1/namespaces/${namespace}`);

  await eventually(async () => expect((await api.get(`/api/v1/namespaces/${namespace}`)).status).toBe(404), { timeoutMs: 110_000 });
  for (const path of [`${core}/configmaps`, `${core}/pods`, `${core}/services`, `${apps}/deployments`, `${core}/serviceaccounts`])
    expect((await api.get(path)).body.items, path).toEqual([]);
});

test("a namespace waits for finalizers of its contents, and its conditions show that", async ({ api, core, namespace }) => {
  await api.create(`${core}/configmaps`, configMapNamed("held", {}, { finalizers: ["example.com/a"] }));
  await api.delete(`/api/v1/namespaces/${namespace}`);
  const conditions = await eventually(
    async () => {
      const { status } = (await api.get(`/api/v1/namespaces/${namespace}`)).body;
      expect(status.conditions).toHaveLength(5);
      // The first attempts may fail on kinds that are being removed, or see more objects than remain.
      const said: readonly { status: string; message: string }[] = status.conditions;
      expect(said.filter((condition) => condition.status === "True").map(({ message }) => message)).toEqual([
        expect.stringContaining("configmaps. has 1 resource instances"),
        expect.stringContaining("example.com/a in 1 resource instances"),
      ]);
      return status.conditions;
    },
    { timeoutMs: 100_000 },
  );

  expect(conditions).toMatchInlineSnapshot(`
    [
      {
        lastTransitionTime: "TIME",
        message: "All resources successfully discovered",
        reason: "ResourcesDiscovered",
        status: "False",
        type: "NamespaceDeletionDiscoveryFailure",
      },
      {
        lastTransitionTime: "TIME",
        message: "All legacy kube types successfully parsed",
        reason: "ParsedGroupVersions",
        status: "False",
        type: "NamespaceDeletionGroupVersionParsingFailure",
      },
      {
        lastTransitionTime: "TIME",
        message: "All content successfully deleted, may be waiting on finalization",
        reason: "ContentDeleted",
        status: "False",
        type: "NamespaceDeletionContentFailure",
      },
      {
        lastTransitionTime: "TIME",
        message: "Some resources are remaining: configmaps. has 1 resource instances",
        reason: "SomeResourcesRemain",
        status: "True",
        type: "NamespaceContentRemaining",
      },
      {
        lastTransitionTime: "TIME",
        message: "Some content in the namespace has finalizers remaining: example.com/a in 1 resource instances",
        reason: "SomeFinalizersRemain",
        status: "True",
        type: "NamespaceFinalizersRemaining",
      },
    ]
  `);
  await api.patch("merge", `${core}/configmaps/held`, { metadata: { finalizers: null } });
  await eventually(async () => expect((await api.get(`/api/v1/namespaces/${namespace}`)).status).toBe(404), { timeoutMs: 110_000 });
});

test("a namespace whose content a webhook keeps says so, and is deleted when the webhook is gone", async ({ api, core, namespace }) => {
  const hooks = await Webhooks.start(api, namespace, { "/": deny({ message: "keep" }) });
  await hooks.configure("Validating", "keep", {
    rules: [{ operations: ["DELETE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps", "pods"] }],
  });
  await api.create(`${core}/pods`, podNamed("kept"));
  await api.create(`${core}/configmaps`, configMapNamed("kept"));
  await api.create(`${core}/secrets`, { metadata: { name: "a" } });
  const path = `/api/v1/namespaces/${namespace}`;
  await api.delete(path);

  await eventually(
    async () => {
      const conditions: { type: string; status: string; message: string }[] = (await api.get(path)).body.status.conditions ?? [];
      const denied = 'admission webhook "keep.example.com" denied the request: keep';
      expect(conditions.map(({ type, status, message }) => [type, status, message])).toEqual(
        expect.arrayContaining([
          ["NamespaceDeletionContentFailure", "True", `Failed to delete all resource types, 2 remaining: ${denied}, ${denied}`],
          ["NamespaceContentRemaining", "False", "All content successfully removed"],
        ]),
      );
    },
    { timeoutMs: 100_000 },
  );
  expect((await api.get(`${core}/secrets/a`)).status).toBe(404);
  await hooks[Symbol.asyncDispose]();
  await eventually(async () => expect((await api.get(path)).status).toBe(404), { timeoutMs: 90_000 });
});

test("other objects are deleted after the pods, and the conditions do not name the pods", async ({ api, core, namespace }) => {
  const path = `/api/v1/namespaces/${namespace}`;
  await api.create(`${core}/pods`, podNamed("held", {}, { finalizers: ["example.com/a"] }));
  await api.create(`${core}/configmaps`, configMapNamed("settings"));
  await api.delete(path);
  // The first attempts may fail on groups that other files remove.
  await eventually(
    async () => {
      const { status } = (await api.get(path)).body;
      const conditions: readonly { type: string; status: string; message: string }[] = status.conditions ?? [];
      expect(conditions.map((condition) => `${condition.type} ${condition.status}: ${condition.message}`)).toEqual([
        "NamespaceDeletionDiscoveryFailure False: All resources successfully discovered",
        "NamespaceDeletionGroupVersionParsingFailure False: All legacy kube types successfully parsed",
        "NamespaceDeletionContentFailure False: All content successfully deleted, may be waiting on finalization",
        "NamespaceContentRemaining False: All content successfully removed",
        "NamespaceFinalizersRemaining False: All content-preserving finalizers finished",
      ]);
    },
    { timeoutMs: 100_000 },
  );
  expect((await api.get(`${core}/configmaps/settings`)).body.metadata.deletionTimestamp).toBeUndefined();
  await api.patch("merge", `${core}/pods/held`, { metadata: { finalizers: null } });
  await eventually(async () => expect((await api.get(path)).status).toBe(404), { timeoutMs: 110_000 });
});

test("the service account and the authority's config map are created again when they are deleted", async ({ api, core }) => {
  const { metadata } = (await api.get(`${core}/serviceaccounts/default`)).body;
  await api.delete(`${core}/serviceaccounts/default`);
  await api.delete(`${core}/configmaps/kube-root-ca.crt`);

  await eventually(async () => {
    const again = await api.get(`${core}/serviceaccounts/default`);
    expect(again.status).toBe(200);
    expect(again.body.metadata.uid).not.toBe(metadata.uid);
    expect((await api.get(`${core}/configmaps/kube-root-ca.crt`)).status).toBe(200);
  });
});

test("a namespace without its own finalizers is removed by the second deletion", async ({ api, namespace }) => {
  const path = `/api/v1/namespaces/${namespace}-x`;
  const created = await api.create("/api/v1/namespaces", { metadata: { name: `${namespace}-x` } });

  expect((await api.put(`${path}/finalize`, { ...created, spec: {} })).body.spec).toEqual({});
  expect((await api.delete(path)).body.status.phase).toBe("Terminating");
  expect((await api.get(path)).status).toBe(200);
  expect((await api.delete(path)).status).toBe(200);
  expect((await api.get(path)).status).toBe(404);
});

test("namespaces/finalize writes everything but the status, and checks the finalizers", async ({ api, namespace }) => {
  const path = `/api/v1/namespaces/${namespace}`;
  const metadata = { name: namespace, labels: { a: "b" }, annotations: { c: "d" } };
  const refused = await api.put(`${path}/finalize`, { metadata, spec: { finalizers: ["foo", "example.com/x"] } });
  const finalized = await api.put(`${path}/finalize?dryRun=All`, {
    metadata,
    spec: { finalizers: ["kubernetes", "example.com/x"] },
    status: { phase: "Terminating" },
  });

  expect(refused.body.details.causes).toMatchInlineSnapshot(`
    [
      {
        field: "spec.finalizers[0]",
        message: 'Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
        reason: "FieldValueInvalid",
      },
    ]
  `);
  expect([finalized.status, finalized.body.metadata.labels, finalized.body.metadata.annotations]).toEqual([
    200,
    { a: "b", "kubernetes.io/metadata.name": namespace },
    { c: "d" },
  ]);
  expect([finalized.body.spec, finalized.body.status.phase]).toEqual([{ finalizers: ["kubernetes", "example.com/x"] }, "Active"]);
  expect((await api.put(`${path}/finalize`, { metadata: { name: "other" } })).body.message).toBe(
    `the name of the object (other) does not match the name on the URL (${namespace})`,
  );
});
