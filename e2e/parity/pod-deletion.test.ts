import { expect } from "vitest";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const running = { nodeName: "n1" };

// Without the node, the garbage collector removes all of its pods 40 s after the first.
test.beforeAll(async ({ api }) => void (await api.create("/api/v1/nodes", { metadata: { name: "n1" } })));
test.afterAll(async ({ api }) => void (await api.delete("/api/v1/nodes/n1")));

test("a pod on a node is marked with the grace period of its spec and stays", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { ...running, terminationGracePeriodSeconds: 40 }));
  const startedMs = Date.now();
  const answer = await api.delete(`${core}/pods/web`);
  const answeredMs = Date.now();

  expect(answer).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        creationTimestamp: "TIME",
        deletionGracePeriodSeconds: 40,
        deletionTimestamp: "TIME",
        generation: 2,
        name: "web",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        automountServiceAccountToken: false,
        containers: [
          {
            image: "main:1",
            imagePullPolicy: "IfNotPresent",
            name: "main",
            resources: {},
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
          },
        ],
        dnsPolicy: "ClusterFirst",
        enableServiceLinks: true,
        nodeName: "n1",
        preemptionPolicy: "PreemptLowerPriority",
        priority: 0,
        restartPolicy: "Always",
        schedulerName: "nobody",
        securityContext: {},
        serviceAccount: "default",
        serviceAccountName: "default",
        terminationGracePeriodSeconds: 40,
        tolerations: [
          {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
          {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
        ],
      },
      status: {phase: "Pending", qosClass: "BestEffort"},
    }
  `);
  const { deletionTimestamp } = answer.body.metadata;
  // Rounded to whole seconds.
  expect(Date.parse(deletionTimestamp)).toBeGreaterThan(startedMs + 38_000);
  expect(Date.parse(deletionTimestamp)).toBeLessThan(answeredMs + 42_000);
  expect((await api.get(`${core}/pods/web`)).body).toEqual(answer.body);
});

test("a deletion's grace period takes precedence over the spec's", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", running));

  expect((await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 3 })).body.metadata.deletionGracePeriodSeconds).toBe(3);
});

test("a second deletion shortens the grace period, never lengthens it", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", running));
  const first = (await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 30 })).body.metadata;
  const longer = (await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 60 })).body.metadata;
  const unspoken = (await api.delete(`${core}/pods/web`)).body.metadata;
  const shorter = (await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 5 })).body.metadata;

  expect(longer).toEqual(first);
  expect(unspoken).toEqual(first);
  expect(shorter.deletionGracePeriodSeconds).toBe(5);
  expect(Date.parse(shorter.deletionTimestamp)).toBeLessThan(Date.parse(first.deletionTimestamp));
  expect(shorter.generation).toBe(first.generation);
});

test("a negative grace period means one second", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", running));

  expect((await api.delete(`${core}/pods/web`, { gracePeriodSeconds: -5 })).body.metadata.deletionGracePeriodSeconds).toBe(1);
});

test("grace period 0 removes the pod at once, even if it is already marked", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", running));
  await api.create(`${core}/pods`, podNamed("marked", running));
  await api.delete(`${core}/pods/marked`);

  expect((await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0 })).body.metadata).toMatchInlineSnapshot(`
    {
      creationTimestamp: "TIME",
      deletionGracePeriodSeconds: 0,
      deletionTimestamp: "TIME",
      generation: 2,
      name: "web",
      namespace: "NAMESPACE",
      resourceVersion: VERSION,
      uid: "UID",
    }
  `);
  expect((await api.delete(`${core}/pods/marked`, { gracePeriodSeconds: 0 })).body.metadata).toMatchInlineSnapshot(`
    {
      creationTimestamp: "TIME",
      deletionGracePeriodSeconds: 0,
      deletionTimestamp: "TIME",
      generation: 2,
      name: "marked",
      namespace: "NAMESPACE",
      resourceVersion: VERSION,
      uid: "UID",
    }
  `);
  expect((await api.get(`${core}/pods`)).body.items).toEqual([]);
});

test("a pod without a node is removed at once", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));

  expect((await api.delete(`${core}/pods/web`)).body.metadata).toMatchInlineSnapshot(`
    {
      creationTimestamp: "TIME",
      deletionGracePeriodSeconds: 0,
      deletionTimestamp: "TIME",
      generation: 2,
      name: "web",
      namespace: "NAMESPACE",
      resourceVersion: VERSION,
      uid: "UID",
    }
  `);
  expect((await api.get(`${core}/pods/web`)).status).toBe(404);
});

test("a pod that has ended is removed at once", async ({ api, core }) => {
  for (const phase of ["Succeeded", "Failed"]) {
    await api.create(`${core}/pods`, podNamed("web", running));
    await api.patch("merge", `${core}/pods/web/status`, { status: { phase } });

    expect((await api.delete(`${core}/pods/web`)).body.metadata.deletionGracePeriodSeconds, phase).toBe(0);
    expect((await api.get(`${core}/pods/web`)).status, phase).toBe(404);
  }
});

test("a pod with finalizers stays until they are removed, with any grace period", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", running, { finalizers: ["example.com/a"] }));
  const forced = await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0 });

  expect(forced.body.metadata).toMatchInlineSnapshot(`
    {
      creationTimestamp: "TIME",
      deletionGracePeriodSeconds: 0,
      deletionTimestamp: "TIME",
      finalizers: ["example.com/a"],
      generation: 2,
      name: "web",
      namespace: "NAMESPACE",
      resourceVersion: VERSION,
      uid: "UID",
    }
  `);
  expect((await api.get(`${core}/pods/web`)).status).toBe(200);
  expect((await api.patch("merge", `${core}/pods/web`, { metadata: { finalizers: null } })).status).toBe(200);
  expect((await api.get(`${core}/pods/web`)).status).toBe(404);
});

test("a marked pod without finalizers still waits for its node", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", running, { finalizers: ["example.com/a"] }));
  await api.delete(`${core}/pods/web`);
  await api.patch("merge", `${core}/pods/web`, { metadata: { finalizers: null } });

  expect((await api.get(`${core}/pods/web`)).status).toBe(200);
  await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0 });
});

test("a deletion with another pod's uid is refused with 409", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/pods`, podNamed("web", running));

  expect(await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0, preconditions: { uid: "00000000-0000-4000-8000-000000000000" } }))
    .toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "Pod", name: "web"},
      message: 'Operation cannot be fulfilled on Pod "web": the UID in the precondition (UID) does not match the UID in record (UID). The object might have been deleted and then recreated',
      reason: "Conflict",
    }
  `);
  expect((await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } })).status).toBe(200);
});

test("a marked pod and its status can still be changed", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", running));
  const { deletionTimestamp } = (await api.delete(`${core}/pods/web`)).body.metadata;

  expect((await api.patch("merge", `${core}/pods/web/status`, { status: { phase: "Running" } })).body.metadata.deletionTimestamp).toBe(
    deletionTimestamp,
  );
  expect(
    (await api.patch("merge", `${core}/pods/web`, { metadata: { deletionTimestamp: null, labels: { a: "b" } } })).body.metadata
      .deletionTimestamp,
  ).toBe(deletionTimestamp);
  await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0 });
});

test("a dry run of a pod's deletion shows the mark without setting it", async ({ api, core }) => {
  const created = await api.create(`${core}/pods`, podNamed("web", running));
  const answer = await api.delete(`${core}/pods/web`, { dryRun: ["All"] });

  expect(answer.status).toBe(200);
  expect(answer.body.metadata.name).toBe("web");
  expect((await api.get(`${core}/pods/web`)).body).toEqual(created);
  await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0 });
});
