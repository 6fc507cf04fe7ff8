import { expect } from "vitest";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const otherUid = "00000000-0000-4000-8000-000000000000";

test("PUT replaces the object and gives it a new resourceVersion", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }, { labels: { a: "b" } }));
  const answer = await api.put(`${core}/configmaps/settings`, configMapNamed("settings", { b: "2" }));

  expect(answer).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      data: {b: "2"},
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(answer.body.metadata.uid).toBe(created.metadata.uid);
  expect(answer.body.metadata.creationTimestamp).toBe(created.metadata.creationTimestamp);
  expect(Number(answer.body.metadata.resourceVersion)).toBeGreaterThan(Number(created.metadata.resourceVersion));
});

test("a PUT that changes nothing keeps the resourceVersion", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));

  expect((await api.put(`${core}/configmaps/settings`, created)).body).toEqual(created);
  expect((await api.put(`${core}/configmaps/settings`, configMapNamed("settings", { a: "1" }))).body).toEqual(created);
});

test("a PUT with an old resourceVersion is refused with 409 Conflict", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  await api.put(`${core}/configmaps/settings`, configMapNamed("settings", { a: "2" }));

  expect(await api.put(`${core}/configmaps/settings`, created)).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "configmaps", name: "settings"},
      message: 'Operation cannot be fulfilled on configmaps "settings": the object has been modified; please apply your changes to the latest version and try again',
      reason: "Conflict",
    }
  `);
});

test("a PUT with an invalid resourceVersion is refused", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));

  expect(await api.put(`${core}/configmaps/settings`, configMapNamed("settings", {}, { resourceVersion: "new" }))).toMatchInlineSnapshot(
    `500 Failure {message: 'strconv.ParseUint: parsing "new": invalid syntax'}`,
  );
});

test("a PUT with another uid is refused with 409 Conflict", async ({ api, core, apps }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  await api.create(`${core}/pods`, podNamed("web"));

  expect(await api.put(`${core}/configmaps/settings`, configMapNamed("settings", {}, { uid: otherUid }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "configmaps", name: "settings"},
      message: 'Operation cannot be fulfilled on configmaps "settings": StorageError: invalid object, Code: 4, Key: /registry/configmaps/NAMESPACE/settings, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: UID, UID in object meta: UID',
      reason: "Conflict",
    }
  `);
  expect(await api.put(`${core}/pods/web`, podNamed("web", {}, { uid: otherUid }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "pods", name: "web"},
      message: 'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, Key: /registry/pods/NAMESPACE/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: UID, UID in object meta: UID',
      reason: "Conflict",
    }
  `);
  expect(await api.put(`${core}/pods/web/status`, podNamed("web", {}, { uid: otherUid }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "pods", name: "web"},
      message: 'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, Key: /registry/pods/NAMESPACE/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: UID, UID in object meta: UID',
      reason: "Conflict",
    }
  `);
  expect(await api.put(`${apps}/deployments/none`, configMapNamed("settings"))).toMatchInlineSnapshot(`
    400 Failure {
      message: 'ConfigMap in version "v1" cannot be handled as a Deployment: converting (v1.ConfigMap) to (apps.Deployment): unknown conversion',
      reason: "BadRequest",
    }
  `);
});

test("a PUT whose name or namespace differs from the URL is refused", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));

  expect(await api.put(`${core}/configmaps/settings`, configMapNamed("other"))).toMatchInlineSnapshot(
    `400 Failure {message: "the name of the object (other) does not match the name on the URL (settings)", reason: "BadRequest"}`,
  );
  expect(await api.put(`${core}/configmaps/settings`, configMapNamed("settings", {}, { namespace: "default" }))).toMatchInlineSnapshot(
    `400 Failure {message: "the namespace of the provided object does not match the namespace sent on the request", reason: "BadRequest"}`,
  );
  expect(await api.put(`${core}/configmaps/settings`, { metadata: {} })).toMatchInlineSnapshot(
    `400 Failure {message: "the name of the object (settings based on URL) was undeterminable: name must be provided", reason: "BadRequest"}`,
  );
});

test("an update does not change the server's fields", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings"));
  const answer = await api.put(`${core}/configmaps/settings`, {
    metadata: { name: "settings", generation: 5, selfLink: "/x" },
  });

  expect(answer.status).toBe(200);
  expect({ ...answer.body.metadata, managedFields: 0 }).toEqual({
    ...created.metadata,
    managedFields: 0,
    resourceVersion: expect.any(String),
  });
});

test("an update that changes the server's times is refused", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));
  const patch = (metadata: object): Promise<unknown> => api.patch("merge", `${core}/configmaps/settings`, { metadata });

  expect(await patch({ deletionTimestamp: "2001-01-01T00:00:00Z" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "metadata.deletionTimestamp",
            message: 'Invalid value: "TIME": field is immutable',
            reason: "FieldValueInvalid",
          },
          {
            field: "metadata.deletionTimestamp",
            message: 'Invalid value: "TIME": field is immutable',
            reason: "FieldValueInvalid",
          },
        ],
        kind: "ConfigMap",
        name: "settings",
      },
      message: 'ConfigMap "settings" is invalid: metadata.deletionTimestamp: Invalid value: "TIME": field is immutable',
      reason: "Invalid",
    }
  `);
  expect(await patch({ creationTimestamp: "2001-01-01T00:00:00Z" })).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(await patch({ deletionGracePeriodSeconds: 5 })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {field: "metadata.deletionGracePeriodSeconds", message: "Invalid value: 5: field is immutable", reason: "FieldValueInvalid"},
          {field: "metadata.deletionGracePeriodSeconds", message: "Invalid value: 5: field is immutable", reason: "FieldValueInvalid"},
        ],
        kind: "ConfigMap",
        name: "settings",
      },
      message: 'ConfigMap "settings" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable',
      reason: "Invalid",
    }
  `);
});

test("PUT creates objects only of kinds such as leases, services and events", async ({ api, core, namespace }) => {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

  expect((await api.put(`${core}/configmaps/none`, configMapNamed("none"))).status).toBe(404);
  expect((await api.put(`${core}/pods/none`, podNamed("none"))).status).toBe(404);
  expect(await api.put(`${leases}/one`, { metadata: { name: "one" }, spec: { holderIdentity: "me" } })).toMatchInlineSnapshot(`
    201 {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        creationTimestamp: "TIME",
        name: "one",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {holderIdentity: "me"},
    }
  `);
});

test("immutable config maps and secrets cannot be changed", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, { ...configMapNamed("settings", { a: "1" }), immutable: true });
  await api.create(`${core}/secrets`, { metadata: { name: "key" }, stringData: { a: "1" }, immutable: true });

  expect(await api.put(`${core}/configmaps/settings`, configMapNamed("settings", { a: "2" }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {field: "immutable", message: "Forbidden: field is immutable when \`immutable\` is set", reason: "FieldValueForbidden"},
          {field: "data", message: "Forbidden: field is immutable when \`immutable\` is set", reason: "FieldValueForbidden"},
        ],
        kind: "ConfigMap",
        name: "settings",
      },
      message: 'ConfigMap "settings" is invalid: [immutable: Forbidden: field is immutable when \`immutable\` is set, data: Forbidden: field is immutable when \`immutable\` is set]',
      reason: "Invalid",
    }
  `);
  expect(await api.put(`${core}/secrets/key`, { metadata: { name: "key" }, stringData: { a: "2" }, immutable: true }))
    .toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "data", message: "Forbidden: field is immutable when \`immutable\` is set", reason: "FieldValueForbidden"}],
        kind: "Secret",
        name: "key",
      },
      message: 'Secret "key" is invalid: data: Forbidden: field is immutable when \`immutable\` is set',
      reason: "Invalid",
    }
  `);
  expect((await api.patch("merge", `${core}/configmaps/settings`, { metadata: { labels: { a: "b" } } })).status).toBe(200);
});

test("a secret's type cannot change", async ({ api, core }) => {
  await api.create(`${core}/secrets`, { metadata: { name: "key" }, type: "example.com/a" });

  expect(await api.put(`${core}/secrets/key`, { metadata: { name: "key" }, type: "example.com/b" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "type", message: 'Invalid value: "example.com/b": field is immutable', reason: "FieldValueInvalid"}],
        kind: "Secret",
        name: "key",
      },
      message: 'Secret "key" is invalid: type: Invalid value: "example.com/b": field is immutable',
      reason: "Invalid",
    }
  `);
});

test("only few fields of a pod's spec can be changed", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const put = (spec: object): Promise<unknown> => api.put(`${core}/pods/web`, { ...pod, spec: { ...pod.spec, ...spec } });

  expect(await put({ containers: [{ ...pod.spec.containers[0], command: ["sh"] }] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec",
            message: "Forbidden: pod updates may not change fields other than \`spec.containers[*].image\`,\`spec.initContainers[*].image\`,\`spec.activeDeadlineSeconds\`,\`spec.tolerations\` (only additions to existing tolerations),\`spec.terminationGracePeriodSeconds\` (allow it to be set to 1 if it was previously negative)\\nDIFFERENCE",
            reason: "FieldValueForbidden",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: "Pod \\"web\\" is invalid: spec: Forbidden: pod updates may not change fields other than \`spec.containers[*].image\`,\`spec.initContainers[*].image\`,\`spec.activeDeadlineSeconds\`,\`spec.tolerations\` (only additions to existing tolerations),\`spec.terminationGracePeriodSeconds\` (allow it to be set to 1 if it was previously negative)\\nDIFFERENCE",
      reason: "Invalid",
    }
  `);
  expect(await put({ containers: [...pod.spec.containers, { name: "more", image: "a" }] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.containers",
            message: "Forbidden: pod updates may not add or remove containers",
            reason: "FieldValueForbidden",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers',
      reason: "Invalid",
    }
  `);
  expect(await put({ containers: [{ ...pod.spec.containers[0], image: "main:2" }] })).toMatchObject({ status: 200 });
});

test("a pod's tolerations can be added to, its deadline shortened, its grace period only set to 1 if it was negative", async ({
  api,
  core,
}) => {
  await api.create(`${core}/pods`, podNamed("web", { activeDeadlineSeconds: 100 }));
  const patch = (spec: object): Promise<unknown> => api.patch("merge", `${core}/pods/web`, { spec });

  expect(await patch({ activeDeadlineSeconds: 50 })).toMatchObject({ status: 200 });
  expect(await patch({ activeDeadlineSeconds: 80 })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.activeDeadlineSeconds",
            message: "Invalid value: 80: must be less than or equal to previous value",
            reason: "FieldValueInvalid",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: spec.activeDeadlineSeconds: Invalid value: 80: must be less than or equal to previous value',
      reason: "Invalid",
    }
  `);
  expect(await patch({ activeDeadlineSeconds: null })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.activeDeadlineSeconds",
            message: "Invalid value: null: must not update from a positive integer to nil value",
            reason: "FieldValueInvalid",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value',
      reason: "Invalid",
    }
  `);
  const pod = (await api.get(`${core}/pods/web`)).body;
  expect(await patch({ tolerations: [...pod.spec.tolerations, { key: "a", operator: "Exists" }] })).toMatchObject({ status: 200 });
  expect(await patch({ tolerations: [] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.tolerations",
            message: "Forbidden: existing toleration can not be modified except its tolerationSeconds",
            reason: "FieldValueForbidden",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
      reason: "Invalid",
    }
  `);
});

test("generation counts changes of spec, not of metadata or status", async ({ api, core, apps }) => {
  const deployment = {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  };
  await api.create(`${apps}/deployments`, deployment);
  const generation = async (body: unknown, path = ""): Promise<unknown> =>
    (await api.patch("merge", `${apps}/deployments/web${path}`, body)).body.metadata.generation;

  expect(await generation({ metadata: { labels: { a: "b" } } })).toBe(1);
  expect(await generation({ spec: { minReadySeconds: 1 } })).toBe(2);
  expect(await generation({ status: { observedGeneration: 1 } }, "/status")).toBe(2);
  expect(await generation({ spec: { minReadySeconds: 1 } })).toBe(2);

  await api.create(`${core}/pods`, podNamed("web"));
  expect((await api.get(`${core}/pods/web`)).body.metadata.generation).toBe(1);
  expect((await api.patch("merge", `${core}/pods/web`, { spec: { containers: null, activeDeadlineSeconds: 5 } })).status).toBe(422);
  expect((await api.patch("merge", `${core}/pods/web`, { spec: { activeDeadlineSeconds: 5 } })).body.metadata.generation).toBe(2);
  expect((await api.patch("merge", `${core}/pods/web/status`, { status: { phase: "Running" } })).body.metadata.generation).toBe(2);
  expect((await api.patch("merge", `${core}/configmaps/kube-root-ca.crt`, { data: { a: "b" } })).body.metadata.generation).toBeUndefined();
});

test("a dry run of a PUT responds normally and stores nothing", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  const answer = await api.put(`${core}/configmaps/settings?dryRun=All`, configMapNamed("settings", { a: "2" }));

  expect(answer.body.data).toEqual({ a: "2" });
  expect((await api.get(`${core}/configmaps/settings`)).body).toEqual(created);
});

test("an object that waits for its finalizers is deleted when the last one is removed", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", {}, { finalizers: ["example.com/a"] }));
  await api.delete(`${core}/configmaps/settings`);
  const answer = await api.put(`${core}/configmaps/settings`, configMapNamed("settings"));

  expect(answer.status).toBe(200);
  expect(answer.body.metadata.deletionTimestamp).toBeDefined();
  expect((await api.get(`${core}/configmaps/settings`)).status).toBe(404);
});

test("no finalizer can be added to an object that is being deleted", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", {}, { finalizers: ["example.com/a"] }));
  await api.delete(`${core}/configmaps/settings`);

  expect(await api.patch("merge", `${core}/configmaps/settings`, { metadata: { finalizers: ["example.com/a", "example.com/b"] } }))
    .toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "metadata.finalizers",
            message: 'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
            reason: "FieldValueForbidden",
          },
          {
            field: "metadata.finalizers",
            message: 'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
            reason: "FieldValueForbidden",
          },
        ],
        kind: "ConfigMap",
        name: "settings",
      },
      message: 'ConfigMap "settings" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
      reason: "Invalid",
    }
  `);
  await api.patch("merge", `${core}/configmaps/settings`, { metadata: { finalizers: null } });
});

test("empty lists that are always written are null, as if they were absent, and are no change", async ({ api, core, namespace }) => {
  const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`;
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  const role = { metadata: { name: "a" }, rules: [] };
  const created = await api.put(`${roles}/a`, role);
  const updated = await api.put(`${roles}/a`, role);
  const slice = await api.post(slices, { metadata: { name: "a" }, addressType: "IPv4", endpoints: [], ports: [] });
  const range = await api.post(`${core}/limitranges?dryRun=All`, { metadata: { name: "a" }, spec: { limits: [] } });

  expect([created.status, created.body.rules, updated.status, updated.body.rules]).toEqual([201, null, 200, null]);
  expect(updated.body.metadata.resourceVersion).toBe(created.body.metadata.resourceVersion);
  expect([slice.status, slice.body.endpoints, slice.body.ports]).toEqual([201, null, null]);
  expect([range.status, range.body.spec]).toEqual([201, { limits: null }]);
});
