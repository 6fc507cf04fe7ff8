import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const target = { apiVersion: "v1", kind: "Node", name: "n1" };

test("a binding gives a pod its node and the condition PodScheduled", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));
  const answer = await api.post(`${core}/pods/web/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "web", annotations: { a: "b" } },
    target,
  });
  const { metadata, spec, status } = (await api.get(`${core}/pods/web`)).body;

  expect(answer).toMatchInlineSnapshot(`201 {apiVersion: "v1", code: 201, kind: "Status", metadata: {}, status: "Success"}`);
  expect(metadata.annotations).toEqual({ a: "b" });
  expect(spec.nodeName).toBe("n1");
  expect(status).toMatchInlineSnapshot(`
    {
      conditions: [{lastProbeTime: null, lastTransitionTime: "TIME", status: "True", type: "PodScheduled"}],
      phase: "Pending",
      qosClass: "BestEffort",
    }
  `);
});

test("a binding can also be created in the collection of bindings", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));

  expect(await api.post(`${core}/bindings`, { metadata: { name: "web" }, target })).toMatchInlineSnapshot(
    `201 {apiVersion: "v1", code: 201, kind: "Status", metadata: {}, status: "Success"}`,
  );
  expect((await api.get(`${core}/pods/web`)).body.spec.nodeName).toBe("n1");
});

test("a pod can be bound only once, and not while it is deleted or gated, or with another uid", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("bound", { nodeName: "n2" }));
  await api.create(`${core}/pods`, podNamed("gated", { schedulingGates: [{ name: "example.com/wait" }] }));
  await api.create(`${core}/pods`, podNamed("marked", {}, { finalizers: ["example.com/a"] }));
  await api.create(`${core}/pods`, podNamed("web"));
  await api.delete(`${core}/pods/marked`);
  const bind = (name: string, metadata: object = {}): Promise<unknown> =>
    api.post(`${core}/pods/${name}/binding`, { metadata: { name, ...metadata }, target });

  expect(await bind("bound")).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "pods/binding", name: "bound"},
      message: 'Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to node "n2"',
      reason: "Conflict",
    }
  `);
  expect(await bind("gated")).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "pods/binding", name: "gated"},
      message: 'Operation cannot be fulfilled on pods/binding "gated": pod gated has non-empty .spec.schedulingGates',
      reason: "Conflict",
    }
  `);
  expect(await bind("marked")).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "pods/binding", name: "marked"},
      message: 'Operation cannot be fulfilled on pods/binding "marked": pod marked is being deleted, cannot be assigned to a host',
      reason: "Conflict",
    }
  `);
  expect(await bind("none")).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "pods", name: "none"}, message: 'pods "none" not found', reason: "NotFound"}`,
  );
  expect(await bind("web", { uid: "00000000-0000-4000-8000-000000000000" })).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "pods", name: "web"},
      message: 'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, Key: /registry/pods/NAMESPACE/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: UID, UID in object meta: UID',
      reason: "Conflict",
    }
  `);
  await api.patch("merge", `${core}/pods/marked`, { metadata: { finalizers: null } });
});

test("a binding without a target or to something other than a node is refused", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));

  expect(await api.post(`${core}/pods/web/binding`, { metadata: { name: "web" }, target: {} })).toMatchInlineSnapshot(
    `500 Failure {message: "target.name: Required value"}`,
  );
  expect(
    await api.post(`${core}/pods/web/binding`, { metadata: { name: "web" }, target: { kind: "Moon", name: "m" } }),
  ).toMatchInlineSnapshot(`500 Failure {message: 'target.kind: Unsupported value: "Moon": supported values: "Node", "<empty>"'}`);
  expect(await api.post(`${core}/pods/web/binding`, { metadata: { name: "other" }, target })).toMatchInlineSnapshot(
    `400 Failure {message: "name in URL does not match name in Binding object", reason: "BadRequest"}`,
  );
});

test("an eviction deletes the pod, with its grace period and the condition DisruptionTarget", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const answer = await api.post(`${core}/pods/web/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "web" } });
  const { metadata, status } = (await api.get(`${core}/pods/web`)).body;

  expect(answer).toMatchInlineSnapshot(`201 {apiVersion: "v1", code: 201, kind: "Status", metadata: {}, status: "Success"}`);
  expect(metadata.deletionGracePeriodSeconds).toBe(30);
  expect(status).toMatchInlineSnapshot(`
    {
      conditions: [
        {
          lastProbeTime: null,
          lastTransitionTime: "TIME",
          message: "Eviction API: evicting",
          reason: "EvictionByEvictionAPI",
          status: "True",
          type: "DisruptionTarget",
        },
      ],
      phase: "Pending",
      qosClass: "BestEffort",
    }
  `);
});

test("an eviction applies its deletion options", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const evict = (deleteOptions: object): Promise<{ readonly status: number }> =>
    api.post(`${core}/pods/web/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "web" }, deleteOptions });

  expect(await evict({ preconditions: { uid: "00000000-0000-4000-8000-000000000000" } })).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "Pod", name: "web"},
      message: 'Operation cannot be fulfilled on Pod "web": the UID in the precondition (UID) does not match the UID in record (UID). The object might have been deleted and then recreated',
      reason: "Conflict",
    }
  `);
  expect((await evict({ dryRun: ["All"] })).status).toBe(201);
  expect((await api.get(`${core}/pods/web`)).body.metadata.deletionTimestamp).toBeUndefined();
  expect((await evict({ gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } })).status).toBe(201);
  expect((await api.get(`${core}/pods/web`)).status).toBe(404);
});

test("an eviction of a missing pod, or with a different name, is refused", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));
  const eviction = (name: string): object => ({ apiVersion: "policy/v1", kind: "Eviction", metadata: { name } });

  expect(await api.post(`${core}/pods/none/eviction`, eviction("none"))).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "pods", name: "none"}, message: 'pods "none" not found', reason: "NotFound"}`,
  );
  expect(await api.post(`${core}/pods/web/eviction`, eviction("other"))).toMatchInlineSnapshot(
    `400 Failure {message: "name in URL does not match name in Eviction object", reason: "BadRequest"}`,
  );
  expect(await api.post(`${core}/pods/web/eviction`, { apiVersion: "v1", kind: "Pod", metadata: { name: "web" } })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Pod in version "v1" cannot be handled as a Eviction: converting (v1.Pod) to (policy.Eviction): unknown conversion',
      reason: "BadRequest",
    }
  `);
});

test("ephemeral containers can be added, but not changed or removed", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const patch = (ephemeralContainers: readonly object[]): Promise<{ readonly body: { readonly spec: unknown } }> =>
    api.patch("strategic", `${core}/pods/web/ephemeralcontainers`, { spec: { ephemeralContainers } });

  expect((await patch([{ name: "debug", image: "debug:1" }])).body.spec).toMatchInlineSnapshot(`
    {
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
      ephemeralContainers: [
        {
          image: "debug:1",
          imagePullPolicy: "IfNotPresent",
          name: "debug",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
      ],
      nodeName: "n1",
      preemptionPolicy: "PreemptLowerPriority",
      priority: 0,
      restartPolicy: "Always",
      schedulerName: "nobody",
      securityContext: {},
      serviceAccount: "default",
      serviceAccountName: "default",
      terminationGracePeriodSeconds: 30,
      tolerations: [
        {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
        {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
      ],
    }
  `);
  expect(await patch([{ name: "debug", image: "debug:2" }])).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.ephemeralContainers",
            message: "Forbidden: existing ephemeral containers \\"debug\\" may not be changed\\nDIFFERENCE",
            reason: "FieldValueForbidden",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: "Pod \\"web\\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \\"debug\\" may not be changed\\nDIFFERENCE",
      reason: "Invalid",
    }
  `);
  expect(await patch([{ name: "debug", $patch: "delete" }])).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.ephemeralContainers",
            message: "Forbidden: existing ephemeral containers \\"debug\\" may not be removed\\nDIFFERENCE",
            reason: "FieldValueForbidden",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: "Pod \\"web\\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \\"debug\\" may not be removed\\nDIFFERENCE",
      reason: "Invalid",
    }
  `);
  expect(await patch([{ name: "main", image: "main:1" }])).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.ephemeralContainers[0].name", message: 'Duplicate value: "main"', reason: "FieldValueDuplicate"}],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: spec.ephemeralContainers[0].name: Duplicate value: "main"',
      reason: "Invalid",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("other", { ephemeralContainers: [{ name: "a", image: "a" }] }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.ephemeralContainers", message: "Forbidden: cannot be set on create", reason: "FieldValueForbidden"}],
        kind: "Pod",
        name: "other",
      },
      message: 'Pod "other" is invalid: spec.ephemeralContainers: Forbidden: cannot be set on create',
      reason: "Invalid",
    }
  `);
});

test("a resize changes a container's cpu and memory, and nothing else", async ({ api, core, namespace: nodeName }) => {
  const resources = (cpu: string): object => ({ requests: { cpu, memory: "1Gi" } });
  const containers = [{ name: "main", image: "main:1", resources: resources("1") }];
  await api.create("/api/v1/nodes", { metadata: { name: nodeName }, status: { capacity: { cpu: "8", memory: "16Gi", pods: "10" } } });
  await api.create(`${core}/pods`, podNamed("web", { nodeName, containers }));
  await api.create(`${core}/pods`, podNamed("lost", { nodeName: "nowhere", containers }));
  const resize = (fields: object, pod = "web"): Promise<Answer> =>
    api.patch("strategic", `${core}/pods/${pod}/resize`, { spec: { containers: [{ name: "main", ...fields }] } });

  const resized = await eventually(async () => {
    const answer = await resize({ resources: resources("2") });
    // The real server's admission learns of the node a moment later.
    expect(answer.status).toBe(200);
    return answer;
  });
  expect(resized).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        creationTimestamp: "TIME",
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
            resources: {requests: {cpu: "2", memory: "1Gi"}},
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
          },
        ],
        dnsPolicy: "ClusterFirst",
        enableServiceLinks: true,
        nodeName: "NAMESPACE",
        preemptionPolicy: "PreemptLowerPriority",
        priority: 0,
        restartPolicy: "Always",
        schedulerName: "nobody",
        securityContext: {},
        serviceAccount: "default",
        serviceAccountName: "default",
        terminationGracePeriodSeconds: 30,
        tolerations: [
          {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
          {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
        ],
      },
      status: {phase: "Pending", qosClass: "Burstable"},
    }
  `);
  expect((await resize({ image: "other" })).body.spec.containers[0].image).toBe("main:1");
  expect(
    (await api.patch("strategic", `${core}/pods/web`, { spec: { containers: [{ name: "main", resources: resources("3") }] } })).status,
  ).toBe(422);
  expect(await resize({ resources: resources("2") }, "lost")).toMatchInlineSnapshot(
    `403 Failure {details: {kind: "pods", name: "lost"}, message: 'pods "lost" is forbidden: node "nowhere" not found', reason: "Forbidden"}`,
  );
  await api.delete(`/api/v1/nodes/${nodeName}`);
});

test("GET of ephemeralcontainers and resize returns the pod", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web"));

  expect((await api.get(`${core}/pods/web/ephemeralcontainers`)).body).toEqual(pod);
  expect((await api.get(`${core}/pods/web/resize`)).body).toEqual(pod);
});
